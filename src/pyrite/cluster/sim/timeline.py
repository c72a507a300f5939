"""Virtual time: planned calls in order, without a clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

Call = Callable[..., None]


class Timeline:
    """Makes planned calls in the order of their times, then of their planning."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._plans: list[tuple[float, int, Call, tuple[Any, ...]]] = []
        self._count = 0

    def at(self, at_s: float, call: Call, *args: Any) -> None:
        """Plans a call; one for the past is made now."""
        self._count += 1
        heapq.heappush(self._plans, (max(at_s, self.now_s), self._count, call, args))

    def after(self, delay_s: float, call: Call, *args: Any) -> None:
        self.at(self.now_s + delay_s, call, *args)

    def next_s(self) -> float | None:
        """When the next call is due; None if nothing is planned."""
        return self._plans[0][0] if self._plans else None

    def step(self) -> None:
        """Advances to the next call and makes it."""
        self.now_s, _, call, args = heapq.heappop(self._plans)
        call(*args)
