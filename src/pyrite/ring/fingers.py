"""The routing table of a member: whom to ask for a key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from pyrite.ring.keys import BITS, SPACE, distance


class Fingers:
    """The positions that a member at `own` knows: all of them, or `size` by Chord's rule.

    With all of them a request takes one hop (EclipseMR, II-A). With m fingers, the i-th is the
    first member at least a 2^i-th of the circle away, and a request takes O(log n) hops.
    """

    def __init__(self, own: int, members: Sequence[int], size: int | None = None) -> None:
        self.own = own
        self.members = sorted(members)
        if own not in self.members:
            raise ValueError(f"position {own} is not among the members")
        if size is not None and (1 << size) - 1 <= len(self.members):
            raise ValueError(
                f"{size} fingers are too few for {len(self.members)} members: "
                f"2^size - 1 must exceed their number, or leave size out"
            )
        self.is_one_hop = size is None or size >= len(self.members)
        self.known = self.members if self.is_one_hop else self._chord(size or 0)

    def next(self, key: int) -> int:
        """The position of the member to ask: the owner of the key, or one that is nearer to it."""
        if self.is_one_hop:
            return _first(self.members, key)
        successor = _first(self.members, (self.own + 1) % SPACE)
        if 0 < distance(self.own, key) <= distance(self.own, successor):
            return successor
        if key == self.own or self._owns(key):
            return self.own
        # The farthest finger that does not pass the key.
        span = distance(self.own, key)
        nearer = [each for each in self.known if 0 < distance(self.own, each) < span]
        return max(nearer, key=lambda each: distance(self.own, each), default=successor)

    def _owns(self, key: int) -> bool:
        before = self.members[self.members.index(self.own) - 1]
        return distance(before, key) <= distance(before, self.own) and key != before

    def _chord(self, size: int) -> list[int]:
        successor = _first(self.members, (self.own + 1) % SPACE)
        targets = ((self.own + (SPACE >> power)) % SPACE for power in range(1, min(size, BITS) + 1))
        return sorted({successor, *(_first(self.members, target) for target in targets)})


def _first(positions: Sequence[int], key: int) -> int:
    """The first position at or after a key."""
    index = bisect_left(positions, key)
    return positions[index % len(positions)]
