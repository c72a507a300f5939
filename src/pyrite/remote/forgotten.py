"""Names of dropped segments, which must not be created again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class Forgotten:
    """The most recently dropped names; names are never reused."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.names: set[str] = set()
        self.order: deque[str] = deque()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def add(self, names: Iterable[str]) -> None:
        """Adds names, and removes the oldest of too many."""
        for name in names:
            if name not in self.names:
                self.names.add(name)
                self.order.append(name)
        while len(self.order) > self.most:
            self.names.discard(self.order.popleft())
