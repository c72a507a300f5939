"""The prefetcher: fetches reducers' input to their nodes while maps still run."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyrite.blocks.fetched import fetched_bytes
from pyrite.ids import BlockRef, NodeId
from pyrite.place.sizes import most
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.commands import FetchingStopped
from pyrite.schedule.fetches import Fetches
from pyrite.schedule.outputs import OutputPlace, Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.admission import Admission
from pyrite.schedule.prefetch.eviction import PrefetchEviction
from pyrite.schedule.prefetch.flush import OutputFlush
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.plans import Plans, Wish
from pyrite.schedule.prefetch.prefetchroom import PrefetchRoom
from pyrite.schedule.prefetch.segments import PrefetchedSegments
from pyrite.schedule.prefetch.unit import PrefetchedSegment, Route, Unit
from pyrite.schedule.prefetch.worth import FetchWorth
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskinputs import Prefetched
from pyrite.schedule.turn import Turn

# An order is at most 1/MOST_SHARE of what may be in flight to a node; while maps run, it waits
# until it is worth at least 1/LEAST_SHARE.
MOST_SHARE = 4
LEAST_SHARE = 128


class Prefetcher:
    """Orders parts of map outputs for admitted units, within the limit of bytes in flight."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        stages: Stages,
        outputs: Outputs,
        storage: Storage,
        fetches: Fetches,
        plans: Plans,
        segments: PrefetchedSegments,
        eviction: PrefetchEviction,
        admission: Admission,
        room: PrefetchRoom,
        flush: OutputFlush,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.stages = stages
        self.outputs = outputs
        self.storage = storage
        self.ledger = storage.ledger
        self.fetches = fetches
        self.plans = plans
        self.segments = segments
        self.eviction = eviction
        self.admission = admission
        self.room = room
        self.flush = flush
        self.worth = FetchWorth()
        # Nodes that orders wait for, until they have so much room.
        self._full: dict[NodeId, int] = {}

    # Orders

    def order(self) -> None:
        """Issues the fetch orders that have become possible."""
        if not self.plans:
            return
        if self.storage.has_freed_room:
            self.admission.admit()
        if self._full:
            self._try_full_nodes()
        wishes = self.plans.take_wishes()
        if wishes:
            self._order_wishes(wishes)
        self.flush.flush()

    def _try_full_nodes(self) -> None:
        for node, wanted in list(self._full.items()):
            pool = self.ledger.pools.get(node)
            if pool is None or pool.unused_bytes >= wanted:
                del self._full[node]
                self.plans.want(None, node)

    def _order_wishes(self, wishes: Collection[Wish]) -> None:
        planned = self.plans.by_priority()
        nodes = list(self.ledger.pools)
        if (None, None) in wishes:
            # Less may be reserved for maps now.
            self._full.clear()
        for source, target in wishes:
            if source is not None and source in self._full:
                # It has a new output, which may have to make room.
                self.flush.look_at(source, self._full[source])
            for to in nodes if target is None else [target]:
                # Each target begins with another source, so that all links are used from the start.
                for by in rotated(nodes, to) if source is None else [source]:
                    if not self.segments.is_busy(by, to):
                        self._order_between(planned, by, to)

    def _order_between(
        self, planned: list[tuple[StageRun, ReducePlan]], source: NodeId, target: NodeId
    ) -> None:
        """Issues the most urgent order from one node to another, if any."""
        if target in self._full or self.in_flight_left(source, target) <= 0:
            return
        for run, plan in planned:
            if (source, target) in plan.refused or not self._is_allowed(run, plan, target):
                continue
            listed = self._listed(plan, source, target)
            for unit in plan.units if listed else ():
                for route, count in listed.items():
                    # _order evicts the unit where there is no room for the order.
                    if (
                        unit.admitted
                        and unit.seen.get(route, 0) < count
                        and self._order(run, plan, unit, route)
                    ):
                        return

    def _is_allowed(self, run: StageRun, plan: ReducePlan, target: NodeId) -> bool:
        """Whether fetching ahead saves time; a node's first order of each plan finds out anew."""
        if target not in plan.ordered or self.worth.is_worth:
            return True
        if not plan.is_stopped:
            probe("fetching ahead takes more processor time than it saves")
            plan.is_stopped = True
            worth = self.worth
            self.turn.add(
                FetchingStopped(run.spec.id, worth.link_bytes_per_s, worth.taken_s_per_byte)
            )
        return False

    def _listed(self, plan: ReducePlan, source: NodeId, target: NodeId) -> dict[Route, int]:
        """Returns how many outputs have appeared where routes from one node to another begin."""
        found: dict[Route, int] = {}
        for route in routes(plan, source, target):
            outputs = self.outputs.get(route.shuffle)
            if outputs is not None and (came := outputs.came.get(route.place)):
                found[route] = len(came)
        return found

    def _order(self, run: StageRun, plan: ReducePlan, unit: Unit, route: Route) -> bool:
        """Orders the outputs on this route that the unit has not fetched, if they are worth an
        order; returns whether no other is to be tried now."""
        outputs = self.outputs.get(route.shuffle)
        if outputs is None or not self._is_worth(unit, outputs, route):
            return False
        parts = plan.parts_of(self._awaited(run, unit, route.target)).get(route.shuffle)
        if not parts:
            return False
        seen = unit.seen.get(route, 0)
        reserved = self.room.reserved(route.target) if plan.flushes else 0
        most_bytes = self.in_flight_left(route.source, route.target)
        if plan.flushes:
            most_bytes = min(most_bytes, self._room(route.target) - reserved)
        blocks, size = self._collect(unit, outputs, route, parts, most_bytes)
        if not blocks:
            # Nothing is in flight between the two nodes: what was considered has come, or is
            # fetched from elsewhere.
            unit.landed[route] = unit.seen[route]
            return unit.seen[route] < len(outputs.came[route.place])
        needed = fetched_bytes(len(blocks), len(parts), size)
        if self._room(route.target) < needed + reserved:
            if plan.flushes:
                probe("a fetch waits until map outputs have left memory")
                unit.seen[route] = seen
                self._full[route.target] = needed + reserved
                self.flush.look_at(route.target, needed + reserved)
                return True
            probe("a unit of reducers has no room for all of its input")
            self.eviction.give_up_unit(unit)
            return False
        stretch = self.fetches.stretch_behind(unit.last_stretch.get(route.target), needed)
        fetch, segment = self.fetches.order(
            route.source, route.target, "memory", needed, parts, blocks, stretch
        )
        plan.ordered[route.target] = None
        self.segments.begin(
            PrefetchedSegment(
                fetch,
                segment,
                route.source,
                route.shuffle,
                frozenset(parts),
                tuple(blocks),
                unit,
                route,
                unit.seen[route],
                self.turn.now_s,
                stretch,
            )
        )
        return True

    def _awaited(self, run: StageRun, unit: Unit, node: NodeId) -> list[int]:
        """Returns the unit's reducers on a node that are not launched; launched ones fetch for
        themselves."""
        reducers = unit.reducers.get(node, {})
        tasks = run.tasks
        return [index for index in reducers if tasks is None or tasks.is_pending(index)]

    def _is_worth(self, unit: Unit, outputs: ShuffleOutputs, route: Route) -> bool:
        """Whether enough outputs have appeared for an order; after the last one, any rest is
        enough."""
        fresh = len(outputs.came.get(route.place, ())) - unit.seen.get(route, 0)
        if fresh <= 0 or outputs.complete:
            return fresh > 0
        expected = unit.expected_bytes.get((route.shuffle, route.target), 0)
        return expected * fresh / len(outputs.refs) >= least_order(self.rules)

    def _collect(
        self,
        unit: Unit,
        outputs: ShuffleOutputs,
        route: Route,
        parts: tuple[int, ...],
        most_bytes: int,
    ) -> tuple[dict[int, BlockRef], int]:
        """Chooses the outputs of an order; returns them by map, and an upper bound of their parts'
        size.

        An output that was recomputed after its parts were fetched is not fetched again.
        """
        appeared = outputs.came[route.place]
        # Small parts are mostly headers.
        header = fetched_bytes(1, len(parts), 0)
        blocks: dict[int, BlockRef] = {}
        total = 0
        last = unit.seen.get(route, 0)
        while last < len(appeared):
            number = appeared[last]
            block = outputs.sized(number)
            if block is not None and self._is_wanted(unit, outputs, route, number, parts):
                size = most(block[1], parts)
                room = most_bytes - header * (len(blocks) + 1)
                if total + size > room and (blocks or self.segments.bytes_to(route.target)):
                    break
                # An output that was recomputed here is listed twice.
                total += 0 if number in blocks else size
                blocks[number] = block[0]
            last += 1
        unit.seen[route] = last
        return blocks, total

    def _is_wanted(
        self,
        unit: Unit,
        outputs: ShuffleOutputs,
        route: Route,
        number: int,
        parts: tuple[int, ...],
    ) -> bool:
        """Whether an output is where the route begins, stays there, and is not fetched."""
        ref = outputs.refs[number]
        # It may have been lost since, and recomputed elsewhere, or may leave memory.
        if ref is None or OutputPlace(ref.node, ref.medium) != route.place:
            return False
        if self.flush.is_leaving(ref):
            return False
        if not outputs.listed_again:
            return True
        return not unit.has_fetched(route.target, route.shuffle, number, parts)

    def _is_full(self, source: NodeId, target: NodeId) -> tuple[bool, bool]:
        """Whether bytes in flight hold back orders from the source, and to the target."""
        most_bytes = self.rules.fetch_bytes - self.rules.fetch_bytes // MOST_SHARE
        in_flight = self.segments.bytes_from(source), self.segments.bytes_to(target)
        return in_flight[0] > most_bytes, in_flight[1] > most_bytes

    def in_flight_left(self, source: NodeId, target: NodeId) -> int:
        """Returns how many bytes an order between two nodes may have now."""
        most_bytes = self.rules.fetch_bytes
        in_flight = self.segments.bytes_to(target), self.segments.bytes_from(source)
        return min(most_bytes // MOST_SHARE, most_bytes - max(in_flight))

    def _room(self, node: NodeId) -> int:
        pool = self.ledger.pools.get(node)
        return 0 if pool is None else pool.unused_bytes

    # Ended fetches

    def on_fetched(self, event: ev.PartsFetched) -> None:
        segment = self.segments.get(event.fetch)
        if segment is None or segment.is_here:
            # A late or duplicate report.
            probe("a prefetched segment arrives that nobody waits for")
            return
        source_was_full, node_was_full = self._is_full(segment.source, segment.node)
        self.segments.land(segment)
        self.segments.learn_pace(segment, self.turn.now_s)
        self.worth.learn(segment.segment.bytes, event.link_s, event.taken_s)
        segment.is_here = True
        segment.segment.sealed = True
        if not segment.unwanted:
            segment.unit.landed[segment.route] = segment.last
            self.flush.landed(segment.source)
        self.storage.book.fetched_bytes += segment.segment.bytes
        self.plans.want(segment.source, segment.node)
        # Other orders wait only where the limit was reached; large ones wait until nothing is in
        # flight.
        if source_was_full:
            self.plans.want(segment.source, None)
        if node_was_full or not self.segments.bytes_to(segment.node):
            self.plans.want(None, segment.node)
        if segment.unwanted:
            probe("a prefetched segment arrives that nobody wants any more")
            self.eviction.drop(segment)

    def on_not_fetched(self, event: ev.PartsNotFetched) -> None:
        segment = self.segments.get(event.fetch)
        if segment is None:
            return
        probe("a prefetched segment can't be fetched")
        for run in self.plans:
            if run.plan is not None and segment.unit in run.plan.units and not segment.unwanted:
                # The reducers fetch the rest themselves, and report what is lost.
                run.plan.refused[segment.source, segment.node] = None
        self.plans.want(segment.source, None)
        self.plans.want(None, segment.node)
        self.segments.forget(segment)
        self.storage.drop(self.ledger.end_fetched(segment.segment))

    # Reducers

    def prefetched_for(self, run: StageRun, index: int, node: NodeId) -> tuple[Prefetched, ...]:
        """Returns what was prefetched for a reducer that is launched on the node."""
        plan = run.plan
        if plan is None or index not in plan.unit_of or plan.places[index] != node:
            return ()
        unit = plan.unit_of[index]
        found = []
        for shuffle, parts in plan.parts_of([index]).items():
            if here := list(unit.at(node, shuffle, parts)):
                names = tuple(each.segment.name for each in here)
                found.append(Prefetched(shuffle, names, tuple(each.stretch for each in here)))
        return tuple(found)

    def reducer_launched(self, run: StageRun, index: int) -> None:
        """Records a launch.

        Once all of a node's reducers in a unit are launched, segments in flight to them come too
        late: the reducers fetch the same parts themselves.
        """
        plan = run.plan
        if plan is None or index not in plan.unit_of:
            return
        unit, node = plan.unit_of[index], plan.places[index]
        unit.launched.setdefault(node, {})[index] = None
        if self.segments.bytes_to(node) and not self._awaited(run, unit, node):
            for segment in list(unit.on_node.get(node, {}).values()):
                if not segment.is_here:
                    probe("a prefetched segment would come too late")
                    self.eviction.drop(segment)

    def reducer_done(self, run: StageRun, index: int) -> None:
        unit = None if run.plan is None else run.plan.finish(index)
        if unit is not None:
            self.eviction.drop_unit(unit)
            self.admission.admit()

    # Lost and ended

    def forget(self, run: StageRun) -> None:
        """Drops the plan and the segments of a stage that has ended."""
        if run.plan is not None:
            for unit in run.plan.units:
                self.eviction.drop_unit(unit)
            run.plan = None
            self.plans.remove(run)

    def spoil(self, outputs: ShuffleOutputs, lost: list[int]) -> None:
        """Drops units that hold parts of lost outputs whose recomputation may distribute rows
        differently."""
        if outputs.made_alike:
            return
        lost_maps = dict.fromkeys(lost)
        for segment in self.segments:
            if segment.shuffle == outputs.shuffle and any(
                each in lost_maps for each in segment.maps
            ):
                probe("a prefetched segment holds what will be dealt out anew")
                self.eviction.drop_unit(segment.unit)

    def lose_node(self, node: NodeId) -> None:
        """Forgets segments on a lost node or in flight to it, and removes it from all plans."""
        for segment in self.segments:
            if segment.node == node:
                self.segments.forget(segment)
                if not segment.is_here:
                    # The order may have reached the node after a restart.
                    self.storage.drop([(node, segment.segment.name)])
        for run in self.stages:
            if run.plan is not None:
                run.plan.lose_node(node)
                self.eviction.drop_idle(run.plan)


def least_order(rules: Rules) -> float:
    """Returns the least size of an order while maps still run."""
    return rules.fetch_bytes / LEAST_SHARE


def routes(plan: ReducePlan, source: NodeId, target: NodeId) -> Iterator[Route]:
    """Returns the routes of a stage's shuffles from one node to another."""
    for shuffle in plan.forecasts:
        # Outputs in the target's own memory need no fetch, unless they are to leave it.
        if source != target or plan.flushes:
            yield Route(shuffle, source, "memory", target)
        yield Route(shuffle, source, "disk", target)


def rotated(nodes: list[NodeId], after: NodeId) -> list[NodeId]:
    """Returns the nodes in a rotated order that begins after this one."""
    place = nodes.index(after) + 1 if after in nodes else 0
    return nodes[place:] + nodes[:place]
