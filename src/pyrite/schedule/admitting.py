"""Which rounds of reducers are fetched for: those that there is room for, all or none of each."""

from __future__ import annotations

from pyrite.ids import NodeId
from pyrite.rare import rare
from pyrite.schedule.ahead import Ahead
from pyrite.schedule.blockbook import BlockBook
from pyrite.schedule.parcels import Unit
from pyrite.schedule.runs import StageRun

# Who had to give way comes back when there is room to spare: twice as much for each time, up to
# this.
MOST_SPARE = 8


class Admitting(BlockBook):
    """Lets units be fetched by priority, as far as the pools have room for them."""

    def _admit_units(self) -> None:
        """Admits all units for which there is room on all of their nodes."""
        self.parcels.has_more_room = False
        aheads = self._by_priority()
        room = self._room_ahead(aheads)
        for _, ahead in aheads:
            for unit in ahead.units:
                if unit.admitted or not unit.unfinished:
                    continue
                wanted = self._wanted_room(unit)
                if all(size <= room.get(node, 0) for node, size in wanted.items()):
                    unit.admitted = True
                    self._take_room(room, unit.missing_bytes())
                    self._want_fetches(None, None)
                elif all(size <= self._capacity(node) for node, size in wanted.items()):
                    rare("a unit of reducers is not fetched for want of room")
                    # Those of later stages get what is left when it has its room.
                    self._take_room(room, wanted)
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

    def _take_room(self, room: dict[NodeId, int], wanted: dict[NodeId, int]) -> None:
        for node, size in wanted.items():
            room[node] = room.get(node, 0) - size

    def _room_ahead(self, aheads: list[tuple[StageRun, Ahead]]) -> dict[NodeId, int]:
        """The room in the pools without what is meant for admitted units, and for the outputs of
        maps that still run."""
        room = {node: pool.unused_bytes for node, pool in self.ledger.pools.items()}
        to_come = 0
        for _, ahead in aheads:
            for unit in ahead.units:
                if unit.admitted:
                    self._take_room(room, unit.missing_bytes())
            for shuffle, forecast in ahead.forecasts.items():
                outputs = self.outputs.shuffles.get(shuffle)
                if outputs is not None:
                    to_come += round(forecast.total_bytes * outputs.to_come_share())
        for node in self.executors_on:
            room[node] = room.get(node, 0) - to_come // len(self.executors_on)
        return room
