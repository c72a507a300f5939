"""Admission: decides which units of reducers are prefetched for."""

from __future__ import annotations

from collections.abc import Mapping

from pyrite.ids import NodeId
from pyrite.probe import probe
from pyrite.schedule.prefetch.flush import OutputFlush
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.prefetch.prefetchroom import PrefetchRoom
from pyrite.schedule.prefetch.unit import Unit
from pyrite.schedule.storage import Storage

# An evicted unit is admitted again only if there is room to spare: twice as much for each eviction,
# up to this factor.
MOST_SPARE = 8

Room = dict[NodeId, int]


class Admission:
    """Admits units by priority, as far as the pools have room."""

    def __init__(
        self, storage: Storage, plans: Plans, room: PrefetchRoom, flush: OutputFlush
    ) -> None:
        self.storage = storage
        self.plans = plans
        self.room = room
        self.flush = flush

    def admit(self) -> None:
        """Admits each unit whose input fits on all of its nodes."""
        self.storage.forget_freed_room()
        room = self.room.ahead()
        for _, plan in self.plans.by_priority():
            self._admit_of(plan, room)

    def _admit_of(self, plan: ReducePlan, room: Room) -> None:
        gained: Room | None = None
        for unit in plan.units:
            if unit.admitted or not unit.unfinished:
                continue
            wanted = self._wanted_room(unit)
            if fits(wanted, room):
                self._take(unit, room)
                continue
            if gained is None:
                gained = self.room.by_flushing(plan)
            if self._admit_by_flushing(plan, unit, room, gained):
                continue
            if self._could_fit(plan, unit):
                self.flush.try_disks(plan)
            if all(size <= self.room.capacity(node) for node, size in wanted.items()):
                probe("a unit of reducers is not fetched for want of room")
                # Reserve its room, so that later stages' units only get what remains.
                take_room(room, wanted)
                return

    def _admit_by_flushing(
        self, plan: ReducePlan, unit: Unit, room: Room, gained: Mapping[NodeId, int]
    ) -> bool:
        """Admits a unit, or as many of its reducers as fit, in the room that the plan's outputs
        leave."""
        if not plan.flushes and not any(gained.values()):
            return False
        total = {node: size + gained.get(node, 0) for node, size in room.items()}
        if not fits(self._wanted_room(unit), total) and not self._split(plan, unit, total):
            return False
        if any(gained.values()):
            probe("map outputs make room for what is fetched of them")
            plan.flush()
        self._take(unit, room)
        return True

    def _split(self, plan: ReducePlan, unit: Unit, room: Room) -> bool:
        """Splits a unit so that what is left of it fits, if one reducer per node does."""
        if unit.on_node or unit.launched or unit.given_up:
            return False
        most: dict[NodeId, int] = {}
        for node, size in unit.missing_bytes().items():
            reducers = len(unit.reducers[node])
            most[node] = min(reducers, reducers * max(0, room.get(node, 0)) // size)
        if not most or not all(most.values()):
            return False
        if all(most[node] == len(unit.reducers[node]) for node in most):
            return False
        probe("a unit of reducers is split for want of room")
        plan.split(unit, most)
        # Reducers are not equally large.
        return fits(unit.missing_bytes(), room)

    def _could_fit(self, plan: ReducePlan, unit: Unit) -> bool:
        """Whether a pool without outputs has room for one of the unit's reducers on each node."""
        return all(
            size // len(unit.reducers[node]) <= self.room.without_outputs(plan, node)
            for node, size in unit.missing_bytes().items()
        )

    def _take(self, unit: Unit, room: Room) -> None:
        unit.admitted = True
        take_room(room, unit.missing_bytes())
        self.plans.want(None, None)

    def _wanted_room(self, unit: Unit) -> Room:
        factor = min(MOST_SPARE, 2**unit.given_up)
        return {
            node: max(size, min(size * factor, self.room.capacity(node)))
            for node, size in unit.missing_bytes().items()
        }


def fits(wanted: Mapping[NodeId, int], room: Mapping[NodeId, int]) -> bool:
    return all(size <= room.get(node, 0) for node, size in wanted.items())


def take_room(room: Room, wanted: Mapping[NodeId, int]) -> None:
    for node, size in wanted.items():
        room[node] = room.get(node, 0) - size
