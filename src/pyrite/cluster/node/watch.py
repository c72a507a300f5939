"""Watches for processes that are stopped or do not answer, warns of them, gives them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, inf
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")

# The longest interval of pings.
PING_S = 5.0
# The least number of pings that a process may leave unanswered.
PINGS = 4
# A process that starts on a busy machine may owe one answer: the second missing one is warned of.
WARNED_PINGS = 2


class Probed(NamedTuple):
    """A process that is pinged: its description with its pid, and how to ping it."""

    what: str
    ping: Callable[[], None]


class Watch(Generic[K]):
    """Decides from the time, the stops and the answers which processes are given up.

    Silence is counted in pings, not seconds: while the driver itself is stopped, it blames nobody.
    """

    def __init__(
        self,
        timeout_s: float,
        warn: Callable[[str], None],
        ping_s: float = PING_S,
        setting: str = "spark.network.timeout",
    ) -> None:
        self.setting = setting
        self.timeout_s = timeout_s
        self.warn = warn
        self.ping_s = min(ping_s, timeout_s / PINGS)
        self.most_pings = ceil(timeout_s / self.ping_s)
        self.next_ping_s = -inf
        # By process: the number of unanswered pings; when a stopped process is given up.
        self.unanswered: dict[K, int] = {}
        self.stopped: dict[K, float] = {}
        self.given_up: set[K] = set()

    def stops(self, key: K, what: str, now_s: float) -> None:
        """A process was stopped, as by SIGSTOP."""
        self.stopped[key] = now_s + self.timeout_s
        self.warn(f"{what} is stopped; {self._patience()} unless it continues")

    def continues(self, key: K) -> None:
        """It runs again."""
        self.stopped.pop(key, None)

    def mark_alive(self, key: K) -> None:
        """A process has answered."""
        self.unanswered.pop(key, None)

    def forget(self, key: K | None) -> None:
        """It has ended."""
        if key is not None:
            self.stopped.pop(key, None)
            self.unanswered.pop(key, None)
            self.given_up.discard(key)

    def tend(self, asked: Callable[[], Mapping[K, Probed]], now_s: float) -> list[K]:
        """Pings all processes when it is time to; returns those that are given up."""
        due = [key for key, at_s in self.stopped.items() if at_s <= now_s]
        if now_s >= self.next_ping_s:
            self.next_ping_s = now_s + self.ping_s
            due += [key for key, each in asked().items() if not self._ask(key, each)]
        for key in due:
            self.stopped.pop(key, None)
            self.given_up.add(key)
        return due

    def _ask(self, key: K, asked: Probed) -> bool:
        """Pings a process; False if too many pings are unanswered."""
        count = self.unanswered.get(key, 0)
        if count == WARNED_PINGS:
            self.warn(f"{asked.what} does not answer; {self._patience()}")
        if count >= self.most_pings:
            return False
        self.unanswered[key] = count + 1
        asked.ping()
        return True

    def next_s(self) -> float:
        """When `tend` is due."""
        return min([self.next_ping_s, *self.stopped.values()])

    def end_of(self, key: K, end: str) -> str:
        """Describes the end of a process; adds the reason if it was given up."""
        if key not in self.given_up:
            return end
        return f"{end}, since it was stopped or silent for {self.timeout_s:g} s"

    def _patience(self) -> str:
        return f"it is given up after {self.timeout_s:g} s ({self.setting})"
