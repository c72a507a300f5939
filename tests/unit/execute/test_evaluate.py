"""A task reads its shuffles through the prefetched segments that it was launched with, and makes
pieces."""

import pickle
from pathlib import Path

from one_frame import encode_bytes

from pyrite.blocks.fetched import SelectionEntry, directory_bytes, pack_directory
from pyrite.blocks.live import LiveStore
from pyrite.blocks.parts import pack_header, select
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.space import Space
from pyrite.execute.evaluate import Evaluator
from pyrite.execute.keeper import Keeper
from pyrite.execute.limits import WorkerLimits
from pyrite.execute.meter import Moment
from pyrite.execute.operators import Operators
from pyrite.execute.requests import DriverRequests, Message
from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId, ShuffleId
from pyrite.plan.program import OperatorRun, PlanStep, ProgramLayout, ShuffleInput
from pyrite.rdd.op import Op
from pyrite.rdd.partitioner import ToOne
from pyrite.rdd.wide import Shuffled
from pyrite.shuffle.read import ShuffleRows
from pyrite.shuffle.write import write_map_output

NODE = NodeId("node-0")
LIMITS = WorkerLimits(1 << 20, 1 << 20, 1 << 20, 0, 1 << 10)


def silent(message: Message) -> None:
    raise AssertionError(message)


class NoDriver:
    """A channel on which nothing is said."""

    def send(self, message: Message) -> None:
        silent(message)

    def receive(self, interruptible: bool = False) -> Message:
        raise AssertionError("nobody answers")

    def poll(self) -> Message | None:
        return None


NO_REQUESTS = DriverRequests(NoDriver(), silent)


def operators(node: PlanStep, op: Op) -> Operators:
    """A program of one operator."""
    layout = ProgramLayout([node], [OperatorRun(0, 0, 1)])
    return Operators(layout, [pickle.dumps(((op,), None))], None, lambda: Moment(0.0, 0.0))


def test_prefetched_segments_are_read_for_their_own_shuffle_only(tmp_path: Path) -> None:
    folders = Folders(str(tmp_path), str(tmp_path), NODE)
    parts = [encode_bytes(["first"]), encode_bytes(["second"])]
    output = pack_header([len(part) for part in parts]) + b"".join(parts)
    head, [(start, size)] = select(lambda at, n: output[at : at + n], len(output), [1])
    selection = head + output[start : start + size]
    directory = pack_directory([SelectionEntry(0, directory_bytes(1), len(selection))])
    fetched = directory.ljust(directory_bytes(1), b"\0") + selection
    Path(folders.path("f0-1", "memory")).write_bytes(fetched)
    Path(folders.path("e0-1", "memory")).write_bytes(output)

    # One's output is gone, the other's is there: each has a prefetched segment, of which one is
    # gone.
    gone = BlockRef(NODE, "e9-1", 0, len(output))
    there = BlockRef(NODE, "e0-1", 0, len(output))
    shuffles = {ShuffleId(4): [gone], ShuffleId(5): [there]}
    prefetched = {ShuffleId(4): ["f0-1"], ShuffleId(5): ["f9-1"]}

    reader = SegmentReader(folders)
    writer = SegmentWriter(folders, ExecutorId(7), lambda _want: NODE)
    keeper = Keeper(LiveStore(1 << 20, 0), reader, writer, NO_REQUESTS, LIMITS)
    space = Space(1 << 40, str(tmp_path))
    for shuffle in shuffles:
        node = PlanStep(RddId(1), (ShuffleInput(shuffle),), 2)
        evaluator = Evaluator(operators(node, Shuffled(2)), {}, shuffles, keeper, space, prefetched)
        assert list(evaluator.compute(1).run()) == ["second"]
    space.close()


def test_the_frames_of_a_piece_are_small(tmp_path: Path) -> None:
    """Who merges pieces has one of each in memory."""
    folders = Folders(str(tmp_path), str(tmp_path), NODE)
    part = encode_bytes(list(range(50_000)))
    output = pack_header([len(part)]) + part
    Path(folders.path("e0-1", "memory")).write_bytes(output)
    shuffles = {ShuffleId(4): [BlockRef(NODE, "e0-1", 0, len(output))]}
    reader = SegmentReader(folders)
    writer = SegmentWriter(folders, ExecutorId(7), lambda _want: NODE)
    keeper = Keeper(LiveStore(1 << 20, 0), reader, writer, NO_REQUESTS, LIMITS)
    space = Space(1 << 40, str(tmp_path))
    node = PlanStep(RddId(1), (ShuffleInput(ShuffleId(4)),), 1)
    evaluator = Evaluator(operators(node, Shuffled(1)), {}, shuffles, keeper, space, {})
    rows = evaluator.compute_piece(0, ShuffleId(4), range(1), 0)
    piece, _ = write_map_output(rows, 0, ToOne(), 1, space, writer)
    batches = list(ShuffleRows(ShuffleId(4), [piece], 0, reader).batches())
    assert [row for batch in batches for row in batch] == list(range(50_000))
    assert max(map(len, batches)) <= space.chunk_rows
    writer.close()
    space.close()
