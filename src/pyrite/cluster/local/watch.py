"""Watches for processes that are stopped or do not answer, warns of them, gives them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, inf
from typing import NamedTuple

# The interval of pings.
PING_S = 5.0
# A process that starts on a busy machine may owe one answer: the second missing one is warned of.
WARNED_PINGS = 2


class Probed(NamedTuple):
    """A process that is pinged: its description, and how to ping it."""

    what: str
    ping: Callable[[], None]


class Watch:
    """Decides from the time, the stops and the answers which processes are to be killed.

    Silence is counted in pings, not seconds: while the driver itself is stopped, it blames nobody.
    """

    def __init__(self, timeout_s: float, warn: Callable[[str], None]) -> None:
        self.timeout_s = timeout_s
        self.warn = warn
        self.ping_s = min(PING_S, timeout_s / 4)
        self.most_pings = ceil(timeout_s / self.ping_s)
        self.next_ping_s = -inf
        # By pid: the number of unanswered pings; when a stopped process is given up.
        self.unanswered: dict[int, int] = {}
        self.stopped: dict[int, float] = {}
        self.given_up: set[int] = set()

    def stops(self, pid: int, what: str, now_s: float) -> None:
        """A process was stopped, as by SIGSTOP."""
        self.stopped[pid] = now_s + self.timeout_s
        self.warn(f"{what} (pid {pid}) is stopped; {self._patience()} unless it continues")

    def continues(self, pid: int) -> None:
        """It runs again."""
        self.stopped.pop(pid, None)

    def mark_alive(self, pid: int) -> None:
        """A process has answered."""
        self.unanswered.pop(pid, None)

    def forget(self, pid: int | None) -> None:
        """It has ended."""
        if pid is not None:
            self.stopped.pop(pid, None)
            self.unanswered.pop(pid, None)
            self.given_up.discard(pid)

    def tend(self, asked: Callable[[], Mapping[int, Probed]], now_s: float) -> list[int]:
        """Pings all processes when it is time to; returns the pids to kill."""
        due = [pid for pid, at_s in self.stopped.items() if at_s <= now_s]
        if now_s >= self.next_ping_s:
            self.next_ping_s = now_s + self.ping_s
            due += [pid for pid, each in asked().items() if not self._ask(pid, each)]
        for pid in due:
            self.stopped.pop(pid, None)
            self.given_up.add(pid)
        return due

    def _ask(self, pid: int, asked: Probed) -> bool:
        """Pings a process; False if too many pings are unanswered."""
        count = self.unanswered.get(pid, 0)
        if count == WARNED_PINGS:
            self.warn(f"{asked.what} (pid {pid}) does not answer; {self._patience()}")
        if count >= self.most_pings:
            return False
        self.unanswered[pid] = count + 1
        asked.ping()
        return True

    def next_s(self) -> float:
        """When `tend` is due."""
        return min([self.next_ping_s, *self.stopped.values()])

    def end_of(self, pid: int, end: str) -> str:
        """Describes the end of a process; adds the reason if it was given up."""
        if pid not in self.given_up:
            return end
        return f"{end}, since it was stopped or silent for {self.timeout_s:g} s"

    def _patience(self) -> str:
        return f"it is given up after {self.timeout_s:g} s (spark.network.timeout)"
