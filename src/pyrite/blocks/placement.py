"""Chooses the node of a segment, and what is evicted for it (R3S, 3.2). Pure.

A node's own data goes into its own pool, if necessary in place of other nodes' data; else into the
pool with the most room (equation 5); and when all are full, in place of what the node with the
largest footprint (equation 6) has in other nodes' pools.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyrite.blocks.ledger import Ledger
from pyrite.blocks.pool import Pool, Segment
from pyrite.ids import NodeId, RddId

# At least so many of an owner's least recently used segments are compared as candidates.
COMPARED = 64


class RoomRequest(NamedTuple):
    """A writer's request for room on a node; `rdd` is set for kept partitions."""

    node: NodeId
    bytes: int
    rdd: RddId | None
    is_copy: bool = False


class Eviction(NamedTuple):
    """A segment to evict: into another pool, or, without a target, out of memory."""

    segment: Segment
    target: NodeId | None


class Place(NamedTuple):
    """The chosen node, valid once the evictions are done; None where no pool has room."""

    node: NodeId | None
    evictions: tuple[Eviction, ...] = ()


class Knowledge(NamedTuple):
    """The scheduler's forecasts of the active jobs."""

    # When a segment will be read next: smaller is sooner; None where no active job reads it.
    next_use: Callable[[Segment], tuple[int, int] | None] = lambda segment: None
    # Bytes that running stages are expected to store on a node.
    reserved_bytes: Callable[[NodeId], int] = lambda node: 0


class Placement:
    """The decision on one request."""

    def __init__(self, ledger: Ledger, request: RoomRequest, knowledge: Knowledge) -> None:
        self.pools = ledger.pools
        self.request = request
        self.knowledge = knowledge
        self.home = ledger.pools[request.node]
        # Room in other pools that this decision has assigned to evicted segments.
        self.given: dict[NodeId, int] = {}

    def decide(self) -> Place:
        if self.request.is_copy and (elsewhere := self._with_most_room()) is not None:
            return elsewhere
        if self.home.unused_bytes >= self.request.bytes:
            return Place(self.home.node)
        return (
            self._in_place_of_lent()
            or self._with_most_room()
            or self._in_place_of_largest()
            or self._in_place_of_own()
            or Place(None)
        )

    def _in_place_of_lent(self) -> Place | None:
        """In the own pool, in place of other nodes' data."""
        if self.home.own_bytes + self.request.bytes > self.home.capacity_bytes:
            return None
        owners = [owner for owner in self.home.kept if owner != self.home.node]
        owners.sort(key=self._footprint, reverse=True)
        lent = [each for owner in owners for each in self._movable(self.home, owner)]
        return self._make_room(self.home, lent, self.away)

    def _with_most_room(self) -> Place | None:
        if self.request.rdd is None:
            return None
        roomiest = self._roomiest(self.request.bytes, besides=self.home.node)
        return None if roomiest is None else Place(roomiest)

    def _in_place_of_largest(self) -> Place | None:
        """In place of what the largest node has borrowed, if its footprint exceeds this node's
        after the request."""
        if self.request.rdd is None:
            return None
        mine = self.home.footprint_bytes + self.request.bytes
        others = [pool for pool in self.pools.values() if pool.borrowed_bytes]
        largest = max(others, key=lambda pool: pool.footprint_bytes, default=None)
        if largest is None or largest is self.home or largest.footprint_bytes <= mine:
            return None
        for pool in self.pools.values():
            if pool is not largest and pool.lends:
                borrowed = self._movable(pool, largest.node)
                place = self._make_room(pool, borrowed, self._to_disk)
                if place is not None:
                    return place
        return None

    def _in_place_of_own(self) -> Place | None:
        """In place of the same node's older partitions.

        Not of the same RDD: most reads are scans, and a scan would evict just what it needs next.
        For map outputs, which are read once, kept partitions move to another pool but stay in
        memory, since they are read repeatedly.
        """
        if self.request.rdd is None:
            own = self._movable(self.home, self.home.node)
            return self._make_room(self.home, own, self._to_other_pool)
        others = [pool for pool in self.pools.values() if pool is not self.home and pool.lends]
        for pool in (self.home, *others):
            older = [
                each
                for each in self._movable(pool, self.home.node)
                if self.request.rdd not in each.rdds and self.knowledge.next_use(each) is None
            ]
            place = self._make_room(pool, older, self._to_disk)
            if place is not None:
                return place
        return None

    def _make_room(
        self, pool: Pool, candidates: list[Segment], evict: Callable[[Segment], Eviction | None]
    ) -> Place | None:
        """Evicts candidates until the request fits, first those that no active job reads."""
        if self.request.bytes > pool.capacity_bytes or not candidates:
            return None
        self.given = {}
        room = pool.unused_bytes if pool is self.home else self._room(pool)
        missing = self.request.bytes - room
        evictions = []
        for segment in sorted(candidates, key=self._worth):
            if missing <= 0:
                break
            eviction = evict(segment)
            if eviction is not None:
                evictions.append(eviction)
                missing -= segment.bytes
        return None if missing > 0 else Place(pool.node, tuple(evictions))

    def away(self, segment: Segment) -> Eviction:
        """Evicts a segment into another pool if one has room, else out of memory."""
        return self._to_other_pool(segment) or Eviction(segment, None)

    def _to_other_pool(self, segment: Segment) -> Eviction | None:
        """Evicts a segment into its owner's pool, else into the one with the most room."""
        target = self._roomiest(segment.bytes, besides=segment.place)
        owner = self.pools.get(segment.owner)
        if owner is not None and owner.node != segment.place and self._room(owner) >= segment.bytes:
            target = segment.owner
        if target is None:
            return None
        self.given[target] = self.given.get(target, 0) + segment.bytes
        return Eviction(segment, target)

    def _to_disk(self, segment: Segment) -> Eviction:
        return Eviction(segment, None)

    def _roomiest(self, size: int, besides: NodeId) -> NodeId | None:
        others = [pool for node, pool in self.pools.items() if node != besides and pool.lends]
        best = max(others, key=self._room, default=None)
        return None if best is None or self._room(best) < size else best.node

    def _room(self, pool: Pool) -> int:
        reserved = self.knowledge.reserved_bytes(pool.node)
        return pool.unused_bytes - reserved - self.given.get(pool.node, 0)

    def _movable(self, pool: Pool, owner: NodeId) -> list[Segment]:
        """Returns the least recently used movable segments: COMPARED of them, and enough for the
        request."""
        found: list[Segment] = []
        total = 0
        for segment in pool.kept.get(owner, {}).values():
            if len(found) >= COMPARED and total >= self.request.bytes:
                break
            if segment.movable:
                found.append(segment)
                total += segment.bytes
        return found

    def _footprint(self, node: NodeId) -> int:
        pool = self.pools.get(node)
        return 0 if pool is None else pool.footprint_bytes

    def _worth(self, segment: Segment) -> tuple[bool, tuple[int, int]]:
        """Returns the sort key of eviction: unread segments first, then the latest use; ties keep
        their order."""
        use = self.knowledge.next_use(segment)
        return (False, (0, 0)) if use is None else (True, (-use[0], -use[1]))
