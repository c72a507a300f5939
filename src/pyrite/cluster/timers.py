"""The scheduler's timers."""

from __future__ import annotations

import heapq
from itertools import count
from math import inf

from pyrite.schedule.commands import SetTimer
from pyrite.schedule.events import TimerFired
from pyrite.schedule.timer import Timer


class Timers:
    """A heap of timers, ordered by time, then by the order in which they were set.

    If a timer is set several times, the earliest counts: when it fires, the scheduler checks
    everything again.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timer]] = []
        self.at_s: dict[Timer, float] = {}
        self.order = count()

    def set(self, command: SetTimer) -> None:
        if command.at_s < self.at_s.get(command.timer, inf):
            self.at_s[command.timer] = command.at_s
            heapq.heappush(self.heap, (command.at_s, next(self.order), command.timer))

    def next_s(self) -> float | None:
        """When the next timer is due."""
        return self.heap[0][0] if self.heap else None

    def take_due(self, now_s: float) -> list[TimerFired]:
        """Removes and returns the timers that are due."""
        due = []
        while self.heap and self.heap[0][0] <= now_s:
            at_s, _, timer = heapq.heappop(self.heap)
            if self.at_s.get(timer) == at_s:
                del self.at_s[timer]
                due.append(TimerFired(timer))
        return due
