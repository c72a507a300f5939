"""Flushing: map outputs leave memory for disk once their parts have arrived (SCache, 4.1).

They are not deleted: a reducer that runs elsewhere than planned, or whose node is lost, reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyrite.blocks.ledger import Move
from pyrite.blocks.pool import Segment
from pyrite.blocks.writer import ALIGNMENT
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.probe import probe
from pyrite.schedule.commands import MoveSegment
from pyrite.schedule.outputs import OutputPlace, Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.diskpace import DiskPace
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.prefetch.prefetchroom import PrefetchRoom
from pyrite.schedule.prefetch.segments import PrefetchedSegments
from pyrite.schedule.prefetch.unit import Route
from pyrite.schedule.rules import Rules
from pyrite.schedule.storage import Storage
from pyrite.schedule.turn import Turn

# While each of a node's outputs travels to all nodes, the node is checked about so often.
CHECKS = 8

# A map output: its shuffle and its map.
Output = tuple[ShuffleId, int]


class OutputFlush:
    """Moves segments of map outputs to disk, as far as prefetched input needs their room.

    While a segment moves no fetch of it is ordered, and none begins to move while one is under way.
    Once a task may read the outputs they stay where they are.
    """

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        storage: Storage,
        outputs: Outputs,
        plans: Plans,
        segments: PrefetchedSegments,
        room: PrefetchRoom,
        disks: DiskPace,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.storage = storage
        self.ledger = storage.ledger
        self.outputs = outputs
        self.plans = plans
        self.segments = segments
        self.room = room
        self.disks = disks
        # The outputs in segments that are moving to disk, by move.
        self._moves: dict[int, list[Output]] = {}
        # Nodes to check, with the room that a fetch waits for.
        self._nodes: dict[NodeId, int] = {}
        # How many fetches from a node have ended since it was last checked.
        self._landed: dict[NodeId, int] = {}

    def landed(self, source: NodeId) -> None:
        """Counts a fetch that has ended.

        An output leaves only after every node has fetched its part: to check less often saves time.
        """
        count = self._landed.get(source, 0) + 1
        if count < len(self.ledger.pools) // CHECKS:
            self._landed[source] = count
        else:
            self.look_at(source)

    def look_at(self, node: NodeId, wanted: int = 0) -> None:
        """Requests a check whether outputs should leave the node's memory; a fetch waits for so
        much room."""
        self._nodes[node] = max(wanted, self._nodes.get(node, 0))
        self._landed.pop(node, None)

    def is_leaving(self, ref: BlockRef) -> bool:
        segment = self.ledger.segments.get(ref.segment)
        return segment is not None and segment.moving

    def flush(self) -> None:
        """Begins to move outputs where room is short."""
        if not self._nodes:
            return
        nodes, self._nodes = self._nodes, {}
        plans = [plan for _, plan in self.plans.by_priority() if plan.flushes]
        for node, wanted in nodes.items() if plans else ():
            shortage = self.room.shortage(node)
            if shortage > 0:
                self._flush_node(plans, node, shortage, wanted)

    def try_disks(self, plan: ReducePlan) -> None:
        """Moves one segment on each node whose disk was not measured yet."""
        for node in self.ledger.pools:
            if not self.disks.is_known(node):
                newest = reversed(self._in_memory([plan], node))
                for segment, outputs in self._movable(node, newest):
                    self._move(segment, outputs)
                    break

    def _flush_node(
        self, plans: list[ReducePlan], node: NodeId, shortage: int, wanted: int
    ) -> None:
        arrived = self._arrived(plans, node)
        for segment, outputs in self._movable(node, arrived):
            if shortage <= 0 or not self.room.may_write(node, segment.bytes):
                return
            self._move(segment, outputs)
            shortage -= segment.bytes
        pool = self.ledger.pools[node]
        if pool.unused_bytes + pool.outgoing_bytes < max(wanted, self.room.reserved(node)):
            # Maps write faster than the network carries: the newest outputs travel last.
            newest = self._in_memory(plans, node)
            for segment, outputs in self._movable(node, reversed(newest)):
                if not self.room.may_write(node, segment.bytes):
                    return
                probe("outputs leave memory before their parts have arrived")
                self._move(segment, outputs)
                return

    # Candidates

    def _shuffles(self, plans: list[ReducePlan]) -> dict[ShuffleId, ShuffleOutputs]:
        found = {shuffle: self.outputs.get(shuffle) for plan in plans for shuffle in plan.forecasts}
        return {shuffle: each for shuffle, each in found.items() if each and not each.was_read}

    def _in_memory(self, plans: list[ReducePlan], node: NodeId) -> list[Output]:
        """Returns the outputs in the node's memory, the oldest first."""
        place = OutputPlace(node, "memory")
        return [
            (shuffle, index)
            for shuffle, each in self._shuffles(plans).items()
            for index in each.came.get(place, ())
        ]

    def _arrived(self, plans: list[ReducePlan], node: NodeId) -> list[Output]:
        """Returns the outputs in the node's memory of which all admitted units have their parts."""
        place = OutputPlace(node, "memory")
        found: list[Output] = []
        for shuffle, each in self._shuffles(plans).items():
            came = each.came.get(place, ())
            readers = [plan for plan in plans if shuffle in plan.forecasts]
            count = min(arrived(plan, shuffle, node) for plan in readers)
            found += [(shuffle, index) for index in came[:count]]
        return found

    def _movable(
        self, node: NodeId, wanted: Iterable[Output]
    ) -> Iterator[tuple[Segment, list[Output]]]:
        """Returns the segments that hold only these outputs, and that nobody reads or copies."""
        in_segment: dict[str, dict[Output, None]] = {}
        full: dict[str, None] = {}
        travelling: set[Output] | None = None
        for output in wanted:
            ref = self._ref(output)
            if ref is None or ref.medium != "memory" or ref.node != node:
                continue
            if travelling is None:
                in_flight = self.segments.in_flight_from(node)
                travelling = {(each.shuffle, index) for each in in_flight for index in each.maps}
            if output in travelling:
                continue
            outputs = in_segment.setdefault(ref.segment, {})
            outputs[output] = None
            segment = self.ledger.segments[ref.segment]
            if segment.sealed or is_last(ref, segment):
                full[ref.segment] = None
            if (
                len(outputs) == segment.live
                and ref.segment in full
                and not (segment.moving or segment.readers or segment.kept)
                and self._may_move(outputs)
            ):
                yield segment, list(outputs)

    def _ref(self, output: Output) -> BlockRef | None:
        outputs = self.outputs.get(output[0])
        return None if outputs is None else outputs.refs[output[1]]

    def _may_move(self, moved: Iterable[Output]) -> bool:
        """Whether no task may read the outputs, and no copy of them is still to be made."""
        for shuffle, index in moved:
            outputs = self.outputs.get(shuffle)
            if outputs is not None and (
                outputs.was_read or (self.rules.output_copies > 1 and index not in outputs.replicas)
            ):
                return False
        return True

    # Moves

    def _move(self, segment: Segment, outputs: list[Output]) -> None:
        probe("map outputs leave memory")
        self.ledger.close(segment)
        move = self.ledger.move(segment, segment.place, "disk")
        self._moves[move.id] = outputs
        self.disks.begin(segment.place, self.turn.now_s)
        self.turn.add(
            MoveSegment(
                move.id,
                segment.place,
                segment.name,
                segment.place,
                move.target.name,
                segment.bytes,
                "disk",
            )
        )

    def has_begun(self, move: int) -> bool:
        """Whether the move takes map outputs to disk."""
        return move in self._moves

    def on_moved(self, move: Move) -> None:
        """Points the outputs to their copies on disk, if no task was told of the old ones."""
        moved = self._still_in(move)
        if not self._may_move(moved):
            probe("map outputs are read before they have left memory")
            self.stop(move)
            return
        del self._moves[move.id]
        self.disks.end(move.source.place, move.source.bytes, self.turn.now_s)
        for shuffle, index in moved:
            outputs = self.outputs.get(shuffle)
            assert outputs is not None
            outputs.relocate(index, move.target)
        self.storage.drop(self.ledger.arrive(move))
        # Units that have not fetched them do so from the disk.
        self.plans.want(move.target.place, None)
        self.look_at(move.target.place)

    def stop(self, move: Move) -> None:
        """Ends a move that failed, or came too late: the outputs stay in memory."""
        for shuffle, index in self._still_in(move):
            outputs = self.outputs.get(shuffle)
            assert outputs is not None
            outputs.list_again(index)
        del self._moves[move.id]
        self.disks.end(move.source.place, 0, self.turn.now_s)
        self.storage.drop(self.ledger.fail(move))
        self.plans.want(move.source.place, None)

    def _still_in(self, move: Move) -> list[Output]:
        """Returns the outputs of a move that were not lost or forgotten meanwhile."""
        return [
            each
            for each in self._moves[move.id]
            if (ref := self._ref(each)) is not None and ref.segment == move.source.name
        ]

    def lose_node(self, node: NodeId) -> None:
        """Forgets the moves on a lost node, before the ledger does."""
        for id in [id for id in self._moves if self.ledger.moves[id].source.place == node]:
            del self._moves[id]
        self.disks.forget(node)
        self._nodes.pop(node, None)
        self._landed.pop(node, None)


def is_last(ref: BlockRef, segment: Segment) -> bool:
    """Whether the block ends with its segment, so that its writer has nothing more to add."""
    end = ref.offset + ref.length
    return end <= segment.bytes <= -(-end // ALIGNMENT) * ALIGNMENT


def arrived(plan: ReducePlan, shuffle: ShuffleId, source: NodeId) -> int:
    """Returns how many of a node's outputs in memory, in their order, have arrived at all nodes
    that admitted units have reducers on."""
    counts = [
        unit.landed.get(Route(shuffle, source, "memory", target), 0)
        for unit in plan.units
        if unit.admitted
        for target in unit.reducers
        if unit.expected_bytes.get((shuffle, target)) and (source, target) not in plan.refused
    ]
    return min(counts, default=0)
