"""The median of numbers that keep coming."""

from __future__ import annotations

from heapq import heappush, heappushpop


class Median:
    """The middle one of all numbers so far, or the upper one of two."""

    def __init__(self) -> None:
        # Negated, so that the heap gives its largest.
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
