"""The running median."""

from __future__ import annotations

from heapq import heappush, heappushpop


class Median:
    """The median of all numbers so far; of an even count, the upper middle one."""

    def __init__(self) -> None:
        # Negated: a max-heap.
        self.lower: list[float] = []
        self.upper: list[float] = []

    def add(self, number: float) -> None:
        if len(self.upper) == len(self.lower):
            heappush(self.upper, -heappushpop(self.lower, -number))
        else:
            heappush(self.lower, -heappushpop(self.upper, number))

    @property
    def value(self) -> float:
        return self.upper[0]
