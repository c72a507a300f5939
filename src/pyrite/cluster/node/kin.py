"""Finds the processes that tasks started, in /proc, and ends them."""

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
    """The children of this single-threaded process, including adopted ones."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return set(map(int, file.read().split()))
    except FileNotFoundError:
        # Some kernels do not have this file.
        return {each.pid for each in running() if each.parent == pid}


def running() -> list[RunningProcess]:
    """All processes except zombies."""
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
    """The descendants of a process whose parents are still alive."""
    children: dict[int, list[int]] = {}
    for each in running():
        children.setdefault(each.parent, []).append(each.pid)
    found = list(children.get(pid, ()))
    for child in found:
        found += children.get(child, ())
    return found


def in_sessions(leaders: set[int]) -> list[int]:
    """The processes in the leaders' sessions; the leaders may have ended."""
    return [each.pid for each in running() if each.session in leaders]


def kill_all(find: Callable[[], Iterable[int]]) -> None:
    """Kills what `find` returns until it finds nothing new: one may start another meanwhile."""
    killed: set[int] = set()
    while new := set(find()) - killed:
        for pid in new:
            send_signal(pid, signal.SIGKILL)
        killed |= new


def kill_tree(pid: int) -> None:
    """Kills a process with all its descendants, whatever their sessions."""
    for each in (pid, *descendants(pid)):
        send_signal(each, signal.SIGKILL)


def send_signal(pid: int, number: signal.Signals) -> None:
    """Sends a signal, if the process exists."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
