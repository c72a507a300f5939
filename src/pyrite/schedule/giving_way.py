"""What was fetched ahead gives way to everything else: it can be fetched again."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.ids import NodeId
from pyrite.rare import rare
from pyrite.schedule.ahead import Ahead
from pyrite.schedule.parcels import Parcel, Unit
from pyrite.schedule.runs import StageRun
from pyrite.schedule.state import State


class GivingWay(State):
    """Drops parcels, a whole unit of reducers at a time, the least urgent first."""

    def _by_priority(self) -> list[tuple[StageRun, Ahead]]:
        """First whose shuffle is the first to be read: by submission; where jobs share fairly, by
        what is left to do, as those with more get more."""
        found = [(run, run.ahead) for run in self.parcels.planned.values() if run.ahead is not None]
        if self.rules.fair:
            found.sort(key=lambda each: (-each[1].remaining_units, each[0].job, each[0].spec.id))
        else:
            found.sort(key=lambda each: (each[0].job, each[0].spec.id))
        return found

    def _drop_unit(self, unit: Unit) -> None:
        """Drops what was fetched of a unit: a part of it would hasten nobody."""
        unit.admitted = False
        unit.seen.clear()
        for parcel in unit.parcels:
            self._drop_parcel(parcel)

    def _give_up_unit(self, unit: Unit) -> None:
        """Drops a unit for want of room."""
        unit.given_up += 1
        self._drop_unit(unit)

    def _drop_idle(self, ahead: Ahead) -> None:
        """Drops what was fetched for reducers that run elsewhere now."""
        for unit in ahead.units:
            if unit.on_node and not unit.unfinished:
                self._drop_unit(unit)

    def _drop_parcel(self, parcel: Parcel) -> None:
        """The parcel goes now, or when those who read it have ended; one on its way need not be
        brought to its end."""
        if parcel.is_here:
            self.parcels.forget(parcel)
            self._drop(self.ledger.end_parcel(parcel.segment))
        elif not parcel.unwanted:
            # Its room is free when its node says what became of it.
            parcel.unwanted = True
            self._drop([(parcel.node, parcel.segment.name)])

    def _yield_room(self, node: NodeId, wanted_bytes: int) -> None:
        """Drops parcels until a writer on the node gets its room, or none is left there."""
        pool = self.ledger.pools.get(node)
        if pool is None or pool.unused_bytes >= wanted_bytes or not self.parcels.by_fetch:
            return
        for unit in self._least_urgent():
            if pool.unused_bytes >= wanted_bytes:
                return
            if unit.frees(node):
                rare("what was fetched ahead makes room")
                self._give_up_unit(unit)

    def _least_urgent(self) -> Iterator[Unit]:
        """Units in the order in which they give way: incomplete ones, then later reducers."""
        units = [unit for _, ahead in self._by_priority() for unit in ahead.units]
        units.reverse()
        yield from (unit for unit in units if unit.missing_bytes())
        yield from (unit for unit in units if not unit.missing_bytes())

    def _want_fetches(self, source: NodeId | None, target: NodeId | None) -> None:
        """Has orders looked for from a node, to a node, or between all."""
        if self.parcels.planned:
            self.parcels.to_fetch[source, target] = None
