"""The processes that tasks started, found in /proc and ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36


class RunningProcess(NamedTuple):
    """A running process, its parent and its session."""

    pid: int
    parent: int
    session: int


def adopt_orphans() -> None:
    """Makes this process the parent of descendants whose own parents have ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def children() -> set[int]:
    """The children of this process, which has one thread, adopted ones among them."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return set(map(int, file.read().split()))
    except FileNotFoundError:
        # A kernel without this file.
        return {each.pid for each in running() if each.parent == pid}


def running() -> list[RunningProcess]:
    """All processes, apart from those that have ended and were not waited for."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The command, in parentheses, may hold anything.
                state, parent, _, session = file.read().rpartition(b")")[2].split()[:4]
                if state not in b"ZX":
                    found.append(RunningProcess(int(name), int(parent), int(session)))
    return found


def descendants(pid: int) -> list[int]:
    """Those that the process started, directly or not, and that still have their parents."""
    children: dict[int, list[int]] = {}
    for each in running():
        children.setdefault(each.parent, []).append(each.pid)
    found = list(children.get(pid, ()))
    for child in found:
        found += children.get(child, ())
    return found


def in_sessions(leaders: set[int]) -> list[int]:
    """Those in the sessions of the leaders, which may have ended."""
    return [each.pid for each in running() if each.session in leaders]


def kill_all(find: Callable[[], Iterable[int]]) -> None:
    """Kills what is found until nothing new is: one may have started another meanwhile."""
    killed: set[int] = set()
    while new := set(find()) - killed:
        for pid in new:
            send_signal(pid, signal.SIGKILL)
        killed |= new


def kill_tree(pid: int) -> None:
    """Kills a process with all that it started, in whatever sessions they are."""
    for each in (pid, *descendants(pid)):
        send_signal(each, signal.SIGKILL)


def send_signal(pid: int, number: signal.Signals) -> None:
    """Sends a signal, if the process is there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
