"""Claims: for which keys a member has every record, as of which view."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from pyrite.ring.keys import SPACE

NO_CLAIM = 0


class Claims:
    """A number of a view for each key; 0 where nothing is claimed."""

    def __init__(self, pieces: Iterable[tuple[int, int, int]] = ()) -> None:
        self._starts = [0]
        self._views = [NO_CLAIM]
        for low, high, view in pieces:
            self.set(low, high, view)

    def at(self, key: int) -> int:
        """The claim for one key."""
        return self._views[bisect_right(self._starts, key) - 1]

    def set(self, low: int, high: int, view: int) -> None:
        """Claims the keys from `low` up to `high`."""
        first, last = self._cut(low), self._cut(high)
        self._starts[first:last] = [low]
        self._views[first:last] = [view]
        self._join()

    def within(self, low: int, high: int) -> list[tuple[int, int, int]]:
        """The claims of a stretch, which they cover; neighbours differ."""
        pieces = []
        for start, end, view in self._all():
            if start < high and low < end:
                pieces.append((max(start, low), min(end, high), view))
        return pieces

    def pieces(self) -> list[tuple[int, int, int]]:
        """All that is claimed, as data."""
        return [piece for piece in self._all() if piece[2] != NO_CLAIM]

    def _all(self) -> Iterator[tuple[int, int, int]]:
        ends = [*self._starts[1:], SPACE]
        return zip(self._starts, ends, self._views, strict=True)

    def _cut(self, key: int) -> int:
        """The index of the piece that starts at a key, which is made if need be."""
        if key >= SPACE:
            return len(self._starts)
        index = bisect_right(self._starts, key)
        if self._starts[index - 1] == key:
            return index - 1
        self._starts.insert(index, key)
        self._views.insert(index, self._views[index - 1])
        return index

    def _join(self) -> None:
        kept = [
            index
            for index in range(len(self._starts))
            if index == 0 or self._views[index] != self._views[index - 1]
        ]
        self._starts = [self._starts[index] for index in kept]
        self._views = [self._views[index] for index in kept]


def highest(all_claims: Iterable[Iterable[tuple[int, int, int]]]) -> Claims:
    """The highest claim that anybody has, for each key."""
    top = Claims()
    for pieces in all_claims:
        for low, high, view in pieces:
            for start, end, known in top.within(low, high):
                if view > known:
                    top.set(start, end, view)
    return top
