"""Eviction of prefetched input: it is evicted before all else, since it can be fetched again."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.ids import NodeId
from pyrite.probe import probe
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.prefetch.segments import PrefetchedSegments
from pyrite.schedule.prefetch.unit import PrefetchedSegment, Unit
from pyrite.schedule.storage import Storage


class PrefetchEviction:
    """Drops prefetched segments, one whole unit at a time, the least urgent first."""

    def __init__(self, storage: Storage, plans: Plans, segments: PrefetchedSegments) -> None:
        self.storage = storage
        self.ledger = storage.ledger
        self.plans = plans
        self.segments = segments

    def drop_unit(self, unit: Unit) -> None:
        """Drops a unit's segments: a part of them would speed up no reducer."""
        unit.admitted = False
        unit.seen.clear()
        unit.landed.clear()
        for segment in unit.segments:
            self.drop(segment)

    def give_up_unit(self, unit: Unit) -> None:
        """Evicts a unit to free its room."""
        unit.given_up += 1
        self.drop_unit(unit)

    def drop_idle(self, plan: ReducePlan) -> None:
        """Drops the segments of units whose reducers all run elsewhere now."""
        for unit in plan.units:
            if unit.on_node and not unit.unfinished:
                self.drop_unit(unit)

    def drop(self, segment: PrefetchedSegment) -> None:
        """Drops a segment: an arrived one now or when its readers have ended, one in flight by
        cancelling the fetch."""
        if segment.is_here:
            self.segments.forget(segment)
            self.storage.drop(self.ledger.end_fetched(segment.segment))
        elif not segment.unwanted:
            # Its room is not free until its node reports the end of the fetch.
            segment.unwanted = True
            self.storage.drop([(segment.node, segment.segment.name)])

    def make_room(self, node: NodeId, wanted_bytes: int, for_output: bool) -> None:
        """Evicts units until the node has the wanted room, or no units with segments there are
        left.

        Where outputs are flushed, a further one does not evict what was fetched of the others: it
        goes to disk itself.
        """
        pool = self.ledger.pools.get(node)
        if pool is None or pool.unused_bytes >= wanted_bytes or not self.segments:
            return
        for unit in self._least_urgent(for_output):
            if pool.unused_bytes >= wanted_bytes:
                return
            if unit.frees(node):
                probe("what was fetched ahead makes room")
                self.give_up_unit(unit)

    def _least_urgent(self, for_output: bool) -> Iterator[Unit]:
        """Returns units in the order of their eviction: incomplete ones first, then later reducers
        first."""
        plans = [plan for _, plan in self.plans.by_priority()]
        units = [unit for plan in plans if not (plan.flushes and for_output) for unit in plan.units]
        units.reverse()
        yield from (unit for unit in units if unit.missing_bytes())
        yield from (unit for unit in units if not unit.missing_bytes())
