"""Admission: decides which units of reducers are prefetched for."""

from __future__ import annotations

from pyrite.ids import NodeId
from pyrite.probe import probe
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.prefetch.unit import Unit
from pyrite.schedule.stages import StageRun
from pyrite.schedule.storage import Storage

# An evicted unit is admitted again only if there is room to spare: twice as much for each eviction,
# up to this factor.
MOST_SPARE = 8


class Admission:
    """Admits units by priority, as far as the pools have room."""

    def __init__(self, fleet: Fleet, storage: Storage, outputs: Outputs, plans: Plans) -> None:
        self.fleet = fleet
        self.storage = storage
        self.ledger = storage.ledger
        self.outputs = outputs
        self.plans = plans

    def admit(self) -> None:
        """Admits each unit whose input fits on all of its nodes."""
        self.storage.forget_freed_room()
        planned = self.plans.by_priority()
        room = self._room_ahead(planned)
        for _, plan in planned:
            for unit in plan.units:
                if unit.admitted or not unit.unfinished:
                    continue
                wanted = self._wanted_room(unit)
                if all(size <= room.get(node, 0) for node, size in wanted.items()):
                    unit.admitted = True
                    take_room(room, unit.missing_bytes())
                    self.plans.want(None, None)
                elif all(size <= self._capacity(node) for node, size in wanted.items()):
                    probe("a unit of reducers is not fetched for want of room")
                    # Reserve its room, so that later stages' units only get what remains.
                    take_room(room, wanted)
                    break

    def _wanted_room(self, unit: Unit) -> dict[NodeId, int]:
        factor = min(MOST_SPARE, 2**unit.given_up)
        return {
            node: max(size, min(size * factor, self._capacity(node)))
            for node, size in unit.missing_bytes().items()
        }

    def _capacity(self, node: NodeId) -> int:
        pool = self.ledger.pools.get(node)
        return 0 if pool is None else pool.capacity_bytes

    def _room_ahead(self, planned: list[tuple[StageRun, ReducePlan]]) -> dict[NodeId, int]:
        """Returns the pools' unused room, minus what admitted units and the outputs of running maps
        will take."""
        room = {node: pool.unused_bytes for node, pool in self.ledger.pools.items()}
        to_come = 0
        for _, plan in planned:
            for unit in plan.units:
                if unit.admitted:
                    take_room(room, unit.missing_bytes())
            for shuffle, forecast in plan.forecasts.items():
                outputs = self.outputs.get(shuffle)
                if outputs is not None:
                    to_come += round(forecast.total_bytes * outputs.to_come_share())
        for node in self.fleet.counts:
            room[node] = room.get(node, 0) - to_come // len(self.fleet.counts)
        return room


def take_room(room: dict[NodeId, int], wanted: dict[NodeId, int]) -> None:
    for node, size in wanted.items():
        room[node] = room.get(node, 0) - size
