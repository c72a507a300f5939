"""Fetching ahead: what reducers will read travels to their nodes while maps still run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyrite.blocks.parcel import fetched_name, parcel_bytes
from pyrite.blocks.pool import MEMORY_PREFIX, Segment
from pyrite.ids import BlockRef, NodeId
from pyrite.place.sizes import most
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule.admitting import Admitting
from pyrite.schedule.ahead import Ahead
from pyrite.schedule.commands import FetchParts
from pyrite.schedule.commands import Parcels as ParcelsToRead
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.parcels import Parcel, Unit, Way
from pyrite.schedule.runs import StageRun

# Of what may be on its way to a node, an order has so much at most; while maps run it waits until
# it is worth so much at least.
MOST_SHARE = 4
LEAST_SHARE = 128


class Prefetching(Admitting):
    """Orders parcels for stages whose reducers have places, within the room that there is."""

    # What is to be fetched

    def _fetch_ahead(self) -> None:
        """Gives the orders that have become possible."""
        if self.parcels.has_more_room:
            self._admit_units()
        wishes, self.parcels.to_fetch = self.parcels.to_fetch, {}
        if not wishes:
            return
        aheads = self._by_priority()
        nodes, busy = list(self.ledger.pools), self.parcels.busy
        for source, target in wishes:
            for to in nodes if target is None else [target]:
                # Each begins with another one, so that all links are used from the start.
                for by in rotated(nodes, to) if source is None else [source]:
                    if (by, to) not in busy:
                        self._fetch_between(aheads, by, to)

    def _fetch_between(
        self, aheads: list[tuple[StageRun, Ahead]], source: NodeId, target: NodeId
    ) -> None:
        """One order from one node to another, the most urgent."""
        if self._in_flight_left(source, target) <= 0:
            return
        for run, ahead in aheads:
            if (source, target) in ahead.refused:
                continue
            for unit in ahead.units:
                for way in ways(ahead, source, target):
                    # An order for which there is no room gives the unit up.
                    if unit.admitted and self._order(run, ahead, unit, way):
                        return

    def _order(self, run: StageRun, ahead: Ahead, unit: Unit, way: Way) -> bool:
        """Sends for what has come on this way and the unit has not seen, if that is worth it."""
        outputs = self.outputs.shuffles.get(way.shuffle)
        if outputs is None or not self._is_worth(unit, outputs, way):
            return False
        parts = ahead.parts_of(self._awaited(run, unit, way.target)).get(way.shuffle)
        if not parts:
            return False
        blocks, size = self._collect(unit, outputs, way, parts)
        if not blocks:
            return False
        needed = parcel_bytes(len(blocks), len(parts), size)
        if not self._has_room(way.target, needed):
            rare("a unit of reducers has no room for all of its input")
            self._give_up_unit(unit)
            return False
        fetch, segment = self._send_for(
            way.source, way.target, MEMORY_PREFIX, needed, parts, blocks
        )
        maps = tuple(blocks)
        self.parcels.begin(
            Parcel(
                fetch, segment, way.source, way.shuffle, frozenset(parts), maps, unit, self.now_s
            )
        )
        return True

    def _awaited(self, run: StageRun, unit: Unit, node: NodeId) -> list[int]:
        """The unit's reducers on a node that have not been launched: those that were fetch for
        themselves."""
        reducers = unit.reducers.get(node, {})
        if run.tasks is None:
            return list(reducers)
        return [index for index in reducers if index in run.tasks.pending]

    def _is_worth(self, unit: Unit, outputs: ShuffleOutputs, way: Way) -> bool:
        """Whether enough blocks have come for an order; all that is left always is enough."""
        fresh = len(outputs.came.get(way.place, ())) - unit.seen.get(way, 0)
        if fresh <= 0 or outputs.complete:
            return fresh > 0
        expected = unit.expected_bytes.get((way.shuffle, way.target), 0)
        return expected * fresh / len(outputs.refs) >= self._least_order()

    def _least_order(self) -> float:
        return self.rules.fetch_bytes / LEAST_SHARE

    def _collect(
        self, unit: Unit, outputs: ShuffleOutputs, way: Way, parts: tuple[int, ...]
    ) -> tuple[dict[int, BlockRef], int]:
        """Which blocks an order takes, by number, and how large their parts are at most.

        One that was made again after its parts had been fetched need not be fetched again.
        """
        came = outputs.came[way.place]
        had = unit.maps_of(way.shuffle, way.target, parts) if outputs.epoch else {}
        limit = self._in_flight_left(way.source, way.target)
        # Small parts are mostly headers.
        header = parcel_bytes(1, len(parts), 0)
        blocks: dict[int, BlockRef] = {}
        total = 0
        last = unit.seen.get(way, 0)
        while last < len(came):
            block = outputs.block(came[last])
            # It may have been lost since, and made again elsewhere.
            if block is not None and block[0].node == way.source and came[last] not in had:
                size = most(block[1], parts)
                room = limit - header * (len(blocks) + 1)
                if total + size > room and (blocks or self.parcels.to_node.get(way.target)):
                    break
                blocks[came[last]] = block[0]
                total += size
                if outputs.epoch:
                    # It has appeared here twice, if it was made again here.
                    had[came[last]] = None
            last += 1
        unit.seen[way] = last
        return blocks, total

    def _is_full(self, source: NodeId, target: NodeId) -> tuple[bool, bool]:
        """Whether orders from the one and to the other are held back by what is under way."""
        most_bytes = self.rules.fetch_bytes - self.rules.fetch_bytes // MOST_SHARE
        on_way = self.parcels.from_node.get(source, 0), self.parcels.to_node.get(target, 0)
        return on_way[0] > most_bytes, on_way[1] > most_bytes

    def _in_flight_left(self, source: NodeId, target: NodeId) -> int:
        most_bytes = self.rules.fetch_bytes
        on_way = self.parcels.to_node.get(target, 0), self.parcels.from_node.get(source, 0)
        return min(most_bytes // MOST_SHARE, most_bytes - max(on_way))

    def _has_room(self, node: NodeId, size: int) -> bool:
        pool = self.ledger.pools.get(node)
        return pool is not None and pool.unused_bytes >= size

    def _send_for(
        self,
        source: NodeId,
        target: NodeId,
        prefix: str,
        size: int,
        parts: tuple[int, ...],
        blocks: Mapping[int, BlockRef],
    ) -> tuple[int, Segment]:
        """Has parts of a node's blocks fetched by another; gives the order's number, and the
        segment in which they will lie."""
        self.parcels.last += 1
        fetch = self.parcels.last
        segment = self.ledger.begin_parcel(target, prefix + fetched_name(fetch), size)
        maps, refs = tuple(blocks), tuple(blocks.values())
        self.commands.append(
            FetchParts(fetch, target, segment.name, size, source, parts, maps, refs)
        )
        return fetch, segment

    # What became of it

    def _on_fetched(self, event: ev.PartsFetched) -> None:
        parcel = self.parcels.by_fetch.get(event.fetch)
        if parcel is None or parcel.is_here:
            # Late words, or words that come twice.
            rare("a parcel arrives that nobody waits for")
            return
        source_was_full, node_was_full = self._is_full(parcel.source, parcel.node)
        self.parcels.arrive(parcel)
        self.parcels.learn_pace(parcel, self.now_s)
        parcel.is_here = True
        parcel.segment.sealed = True
        self.book.fetched_bytes += parcel.segment.bytes
        self._want_fetches(parcel.source, parcel.node)
        # Others wait only where too much was on its way, or anything, if they are large.
        if source_was_full:
            self._want_fetches(parcel.source, None)
        if node_was_full or not self.parcels.to_node[parcel.node]:
            self._want_fetches(None, parcel.node)
        if parcel.unwanted:
            rare("a parcel arrives that nobody wants any more")
            self._drop_parcel(parcel)

    def _on_not_fetched(self, event: ev.PartsNotFetched) -> None:
        parcel = self.parcels.by_fetch.get(event.fetch)
        if parcel is None:
            return
        rare("a parcel can't be fetched")
        was_wanted = not parcel.unwanted and not self._is_shed(parcel)
        for run in self.parcels.planned.values():
            if run.ahead is not None and parcel.unit in run.ahead.units and was_wanted:
                # The reducers fetch what they miss, and tell what is lost.
                run.ahead.refused[parcel.source, parcel.node] = None
        self._want_fetches(parcel.source, None)
        self._want_fetches(None, parcel.node)
        self.parcels.forget(parcel)
        self._drop(self.ledger.end_parcel(parcel.segment))

    def _is_shed(self, parcel: Parcel) -> bool:
        """Whether a part of it has gone with the attempt that wrote it, while it was fetched."""
        outputs = self.outputs.shuffles.get(parcel.shuffle)
        return outputs is not None and any(
            number >= len(outputs.refs) and outputs.block(number) is None for number in parcel.maps
        )

    def _parcels_for(self, run: StageRun, index: int, node: NodeId) -> tuple[ParcelsToRead, ...]:
        """What has been fetched for a reducer that is launched on the node."""
        if run.ahead is None or index not in run.ahead.unit_of:
            return ()
        if run.ahead.places[index] != node:
            return ()
        unit = run.ahead.unit_of[index]
        found = (
            ParcelsToRead(
                shuffle, tuple(each.segment.name for each in unit.at(node, shuffle, parts))
            )
            for shuffle, parts in run.ahead.parts_of([index]).items()
        )
        return tuple(each for each in found if each.segments)

    def _reducer_launched(self, run: StageRun, index: int) -> None:
        """With the last of a node's reducers in a unit, what is on its way to them comes too late:
        they fetch it for themselves, and it would come twice."""
        if run.ahead is None or index not in run.ahead.unit_of:
            return
        unit, node = run.ahead.unit_of[index], run.ahead.places[index]
        unit.launched.setdefault(node, {})[index] = None
        if self.parcels.to_node.get(node) and not self._awaited(run, unit, node):
            for parcel in list(unit.on_node.get(node, {}).values()):
                if not parcel.is_here:
                    rare("a parcel would come too late")
                    self._drop_parcel(parcel)

    # What is over

    def _forget_ahead(self, run: StageRun) -> None:
        """The stage has ended, or nobody waits for it."""
        if run.ahead is not None:
            for unit in run.ahead.units:
                self._drop_unit(unit)
            run.ahead = None
            self.parcels.planned.pop(run.spec.id, None)

    def _reducer_done(self, run: StageRun, index: int) -> None:
        unit = None if run.ahead is None else run.ahead.finish(index)
        if unit is not None:
            self._drop_unit(unit)
            self._admit_units()

    def _spoil_parcels(self, outputs: ShuffleOutputs, lost: list[int]) -> None:
        """Outputs were lost that may be dealt out differently when they are made again."""
        if outputs.made_alike:
            return
        gone = dict.fromkeys(lost)
        for parcel in list(self.parcels.by_fetch.values()):
            if parcel.shuffle == outputs.shuffle and any(each in gone for each in parcel.maps):
                rare("a parcel holds what will be dealt out anew")
                self._drop_unit(parcel.unit)

    def _lose_parcels(self, node: NodeId) -> None:
        """A node has gone, with the parcels that it has and those on their way to it."""
        for parcel in [each for each in self.parcels.by_fetch.values() if each.node == node]:
            self.parcels.forget(parcel)
            if not parcel.is_here:
                # The order may have reached the node after it had started anew.
                self._drop([(node, parcel.segment.name)])
        for run in self.runs.values():
            if run.ahead is not None:
                run.ahead.lose_node(node)
                self._drop_idle(run.ahead)


def ways(ahead: Ahead, source: NodeId, target: NodeId) -> Iterator[Way]:
    """On which the outputs of a stage's shuffles come from one node to another."""
    for shuffle in ahead.forecasts:
        # What lies in the own node's memory is where it should be.
        if source != target:
            yield Way(shuffle, source, False, target)
        yield Way(shuffle, source, True, target)


def rotated(nodes: list[NodeId], after: NodeId) -> list[NodeId]:
    """The nodes, beginning behind this one."""
    place = nodes.index(after) + 1 if after in nodes else 0
    return nodes[place:] + nodes[:place]
