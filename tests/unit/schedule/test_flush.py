"""Map outputs leave memory for disk once their parts have arrived, where room is short."""

from __future__ import annotations

from conversation import map_stage, of_type, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.ids import BlockRef, ExecutorId
from pyrite.place.sizes import encode
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.prefetch.diskpace import DiskPace

PART = 2 * MIB
MAPS, REDUCERS = 12, 12
OUTPUT = REDUCERS * PART
# Each node writes 96 MiB and reads as much: a pool has room for not much more than one of both.
SHORT, AMPLE = 120 * MIB, 300 * MIB
MOVE_S = 0.01


class Crowd(Nodes):
    """Three nodes whose maps write into their pools; moves to disk take little time."""

    def __init__(self, pool_bytes: int = SHORT, **rules: object) -> None:
        super().__init__(pool_bytes, **rules)
        self.arrived = self.moved = 0
        self.submit(result_stage(1, REDUCERS, map_stage(0, MAPS)))

    @property
    def outputs(self) -> ShuffleOutputs:
        found = self.scheduler.outputs.of(map_stage(0, MAPS))
        assert found is not None
        return found

    def write(self) -> None:
        """Lets the task that was launched first write its output where there is room."""
        attempt, launch = next(iter(self.running.items()))
        del self.running[attempt]
        node, name = NODES[launch.executor], f"e{launch.executor}-{attempt}"
        wanted = ev.SpaceWanted(node, ExecutorId(launch.executor), name, OUTPUT)
        [granted] = of_type(self.tell(wanted), do.GrantSpace)
        medium = "disk" if granted.place is None else "memory"
        output = BlockRef(node, name, 0, OUTPUT, medium)
        made = ev.TaskOutput(output=output, sizes=encode([PART] * REDUCERS))
        self.tell(ev.TaskSucceeded(attempt, (made,)))

    def moves(self) -> list[do.MoveSegment]:
        return of_type(self.log, do.MoveSegment)

    def settle(self, *, moves: bool = True) -> None:
        """Lets all that is ordered arrive, and all that leaves memory reach the disk."""
        while self.arrived < len(self.orders()) or (moves and self.moved < len(self.moves())):
            if self.arrived < len(self.orders()):
                self.tell(ev.PartsFetched(self.orders()[self.arrived].fetch))
                self.arrived += 1
            else:
                move = self.moves()[self.moved]
                self.tell(ev.SegmentMoved(move.move), at_s=self.now_s + MOVE_S)
                self.moved += 1

    def run_maps(self, left: int = 0) -> None:
        while self.outputs.absent > left:
            self.write()
            self.settle()

    def on_disk(self) -> list[int]:
        refs = enumerate(self.outputs.refs)
        return [index for index, ref in refs if ref is not None and ref.medium == "disk"]


def test_nothing_leaves_memory_where_there_is_room_for_all() -> None:
    talk = Crowd(AMPLE)
    talk.run_maps()
    assert talk.orders() and not talk.moves() and not talk.on_disk()


def test_outputs_leave_memory_where_room_is_short_and_their_input_is_fetched() -> None:
    talk = Crowd()
    talk.run_maps()
    assert talk.moves()
    for move in talk.moves():
        assert move.medium == "disk" and move.node == move.target
    # Hardly a map had to write to the disk itself, and most input is where it will be read.
    assert len(talk.on_disk()) <= len({move.segment for move in talk.moves()}) + 1
    run = talk.scheduler.stages._runs[1]
    assert run.plan is not None and run.plan.flushes
    fetched = sum(size for unit in run.plan.units for size in unit.fetched_bytes.values())
    assert fetched > 0.75 * MAPS * OUTPUT
    # The parts of a node's own outputs too, since these may leave.
    assert any(order.source == order.node for order in talk.orders())


def test_reducers_are_told_where_outputs_are_now() -> None:
    talk = Crowd()
    talk.run_maps()
    gone = {move.segment for move in talk.moves()}
    for launch in talk.running.values():
        [snapshot] = launch.inputs
        assert not gone & {ref.segment for ref in snapshot.refs}
        assert {ref.segment for ref in snapshot.refs} >= {move.new_segment for move in talk.moves()}


def test_an_output_that_a_task_may_read_stays() -> None:
    talk = Crowd()
    talk.run_maps(left=1)
    talk.write()
    talk.settle(moves=False)
    late = talk.moves()[talk.moved :]
    # The reducers have been launched, with places in memory.
    assert talk.scheduler.stages._runs[1].tasks is not None
    for move in late:
        answer = talk.tell(ev.SegmentMoved(move.move))
        [dropped] = of_type(answer, do.DropSegments)
        assert dropped.segments == (move.new_segment,)
        assert move.segment in talk.scheduler.storage.ledger.segments


def test_an_output_that_leaves_is_fetched_from_disk_by_others() -> None:
    talk = Crowd()
    while not talk.moves():
        talk.write()
        talk.settle(moves=False)
    [first, *_] = talk.moves()
    begun = len(talk.orders())
    # While it moves nobody fetches from it.
    talk.settle(moves=False)
    assert not any(ref.segment == first.segment for o in talk.orders()[begun:] for ref in o.refs)
    talk.run_maps()
    taken = [ref.segment for order in talk.orders() for ref in order.refs]
    assert len({*taken}) >= MAPS


def test_a_move_that_fails_leaves_the_output_where_it_was() -> None:
    talk = Crowd()
    while not talk.moves():
        talk.write()
        talk.settle(moves=False)
    [first, *_] = talk.moves()
    talk.tell(ev.SegmentNotMoved(first.move, "the disk is full"))
    talk.moved = 1
    assert first.segment in {ref.segment for ref in talk.outputs.blocks()}
    talk.run_maps()
    fetched = [number for order in talk.orders() for number in order.maps]
    assert {*fetched} == {*range(MAPS)}


def test_a_lost_node_loses_outputs_that_were_leaving() -> None:
    talk = Crowd()
    while not talk.moves():
        talk.write()
        talk.settle(moves=False)
    [first, *_] = talk.moves()
    talk.tell(ev.NodeLost(first.node, "it went down"))
    assert not any(ref.node == first.node for ref in talk.outputs.blocks())
    talk.tell(ev.SegmentMoved(first.move))
    assert first.new_segment not in talk.scheduler.storage.ledger.segments


def test_a_shuffle_that_is_forgotten_while_it_leaves_leaves_nothing() -> None:
    talk = Crowd()
    while not talk.moves():
        talk.write()
        talk.settle(moves=False)
    talk.tell(ev.CancelRequested("enough"))
    talk.tell(ev.ShuffleForgotten(talk.outputs.shuffle))
    while talk.moved < len(talk.moves()):
        talk.tell(ev.SegmentMoved(talk.moves()[talk.moved].move))
        talk.moved += 1
    names = {move.new_segment for move in talk.moves()} | {move.segment for move in talk.moves()}
    assert not names & talk.scheduler.storage.ledger.segments.keys()


def test_outputs_without_their_copy_stay() -> None:
    talk = Crowd(output_copies=2)
    for _ in range(6):
        talk.write()
    # No copy has arrived.
    for order in talk.orders():
        if order.medium == "memory":
            talk.tell(ev.PartsFetched(order.fetch))
    assert not talk.moves()


def test_a_disk_is_measured_by_the_outputs_that_found_no_room() -> None:
    talk = Crowd(OUTPUT)
    disks = talk.scheduler.room.disks
    while not talk.on_disk():
        talk.write()
    [ref] = [talk.outputs.refs[index] for index in talk.on_disk()]
    assert ref is not None and disks.is_known(ref.node)
    assert not disks._writers and disks.bytes_in(ref.node, 1.0) > 0


def test_the_pace_of_a_disk_counts_all_that_is_written_at_a_time() -> None:
    disks = DiskPace()
    node = NODES[0]
    for writer in (0, 1, 1):
        disks.begin_output(ExecutorId(writer), node, now_s=1.0)
    disks.end_output(ExecutorId(0), 100, now_s=2.0)
    disks.end_output(ExecutorId(1), 100, now_s=3.0)
    disks.end_output(ExecutorId(2), 100, now_s=9.0)
    assert disks.bytes_in(node, 1.0) == 100
    # One that failed has written nothing.
    disks.begin_output(ExecutorId(0), node, now_s=5.0)
    disks.end_output(ExecutorId(0), 0, now_s=7.0)
    assert disks.bytes_in(node, 1.0) == 50
    disks.begin_output(ExecutorId(0), node, now_s=8.0)
    disks.forget(node)
    disks.end_output(ExecutorId(0), 100, now_s=9.0)
    assert not disks.is_known(node)
