"""The scheduler's timers."""

from __future__ import annotations

import heapq
from math import inf

from pyrite.schedule.commands import SetTimer
from pyrite.schedule.events import TimerFired


class Timers:
    """Named moments, the next one first.

    Of several times asked for under one name the first counts: when it fires, the scheduler looks
    again at everything.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[float, str]] = []
        self.at_s: dict[str, float] = {}

    def set(self, command: SetTimer) -> None:
        if command.at_s < self.at_s.get(command.name, inf):
            self.at_s[command.name] = command.at_s
            heapq.heappush(self.heap, (command.at_s, command.name))

    def next_s(self) -> float | None:
        """When the next one is due."""
        return self.heap[0][0] if self.heap else None

    def take_due(self, now_s: float) -> list[TimerFired]:
        """Those that fire now."""
        due = []
        while self.heap and self.heap[0][0] <= now_s:
            at_s, name = heapq.heappop(self.heap)
            if self.at_s.get(name) == at_s:
                del self.at_s[name]
                due.append(TimerFired(name))
        return due
