"""Reducers that read from several nodes: rows in the order of the maps, and losses as they are."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from one_frame import encode_bytes
from outputs import lay

from pyrite.blocks.segments import Folders
from pyrite.blocks.together import PartsTogether
from pyrite.ids import BlockRef, Medium, NodeId, ShuffleId
from pyrite.remote import ahead
from pyrite.remote.ahead import PartsAhead
from pyrite.remote.asking import ByteRange
from pyrite.remote.buffers import WarmBuffers, rounded
from pyrite.remote.errors import BlockGone
from pyrite.remote.neighbours import Neighbours
from pyrite.remote.process import LOOPBACK, ServerProcess
from pyrite.remote.reader import NodeReader
from pyrite.shuffle.read import MissingMapOutput, ShuffleRows

PARTS = 3
SHUFFLE = ShuffleId(5)


class Nodes:
    """A node that reads, and others with a block server each."""

    def __init__(self, root: Path, secret: bytes, count: int) -> None:
        self.folders: list[Folders] = []
        self.servers: list[ServerProcess] = []
        for number in range(count):
            memory, disk = root / f"m{number}", root / f"d{number}"
            memory.mkdir()
            disk.mkdir()
            self.folders.append(Folders(str(memory), str(disk), NodeId(f"node-{number}")))
        for folders in self.folders[1:]:
            self.servers.append(ServerProcess.start(folders, secret, LOOPBACK))
        self.neighbours = Neighbours()
        addresses = {
            folders.node: server.address
            for folders, server in zip(self.folders[1:], self.servers, strict=True)
        }
        self.neighbours.meet(secret, addresses)
        self.reader = NodeReader(self.folders[0], self.neighbours)
        self.made = 0

    def write(self, node: int, outputs: list[list[list[Any]]]) -> list[BlockRef]:
        """Outputs in one segment of the node: of each its parts, of each of these its batches."""
        self.made += 1
        frames = [[b"".join(map(encode_bytes, part)) for part in parts] for parts in outputs]
        medium: Medium = "disk" if self.made % 2 else "memory"
        blocks = lay(self.folders[node], f"e0-{self.made}", frames, medium)
        return [BlockRef(self.folders[node].node, *block) for block in blocks]

    def read(self, refs: list[BlockRef], part: int) -> list[Any]:
        return list(ShuffleRows(SHUFFLE, refs, part, self.reader).rows())

    def lost(self, refs: list[BlockRef], part: int = 0) -> list[int]:
        """Which outputs are said to be missing."""
        with pytest.raises(MissingMapOutput) as caught:
            self.read(refs, part)
        assert caught.value.shuffle == SHUFFLE
        assert all(refs[index] == ref for index, ref in caught.value.lost)
        return [index for index, _ in caught.value.lost]

    def close(self) -> None:
        self.reader.close()
        for server in self.servers:
            server.stop()


@pytest.fixture
def nodes(tmp_path: Path, secret: bytes) -> Iterator[Nodes]:
    made = Nodes(tmp_path, secret, 4)
    yield made
    made.close()


def outputs_of(maps: range, rows: int = 3) -> list[list[list[Any]]]:
    """Of each map, parts of two batches, some of them empty."""
    return [
        [
            [] if (map + part) % 4 == 0 else [[(map, part, 0)] * rows, [(map, part, 1)]]
            for part in range(PARTS)
        ]
        for map in maps
    ]


def rows_of(outputs: list[list[list[Any]]], part: int) -> list[Any]:
    return [row for parts in outputs for batch in parts[part] for row in batch]


def shuffled(nodes: Nodes, rows: int = 3) -> tuple[list[BlockRef], list[list[list[Any]]]]:
    """Sixty maps, whose outputs lie anywhere."""
    random, refs, outputs = Random(9), [], []
    for first in range(0, 60, 5):
        made = outputs_of(range(first, first + 5), rows)
        refs += nodes.write(random.randrange(4), made)
        outputs += made
    places = list(range(60))
    random.shuffle(places)
    return [refs[place] for place in places], [outputs[place] for place in places]


@pytest.fixture
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LEAST_STRETCH_BYTES", 50)
    monkeypatch.setattr(ahead, "MOST_STRETCH_BYTES", 200)


@pytest.mark.usefixtures("short_stretches")
@pytest.mark.parametrize("ahead_bytes", [0, 100, 1000, 1 << 20])
def test_rows_come_in_the_order_of_the_maps(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch, ahead_bytes: int
) -> None:
    nodes.neighbours.ahead_bytes = ahead_bytes
    monkeypatch.setattr(ahead, "AHEAD_BLOCKS", 7)
    refs, outputs = shuffled(nodes)
    for part in range(PARTS):
        assert nodes.read(refs, part) == rows_of(outputs, part)
        assert nodes.read(refs[:1], part) == rows_of(outputs[:1], part)
    assert nodes.read([], 0) == []


def test_no_more_is_held_than_is_allowed(nodes: Nodes) -> None:
    outputs = [[[[os.urandom(50_000)]]] for _ in range(60)]
    refs = [ref for node in (1, 2, 3) for ref in nodes.write(node, outputs[node * 20 - 20 :][:20])]
    limit = 1_000_000
    parts = PartsAhead(nodes.neighbours, refs, 0, limit)
    most = 0
    for place in range(60):
        node = refs[place % 3 * 20].node
        assert isinstance(parts.take(node), memoryview)
        most = max(most, parts.held_bytes)
    assert limit / 3 < most <= limit
    assert parts.held_bytes == 0


class Taken(WarmBuffers):
    """Buffers that remember which lengths they were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    def take(self, length: int) -> memoryview:
        self.lengths.append(length)
        return super().take(length)


def watch(nodes: Nodes) -> Taken:
    assert nodes.neighbours.client is not None
    taken = nodes.neighbours.client.buffers = Taken()
    return taken


def test_a_part_that_is_too_long_comes_in_stretches(nodes: Nodes) -> None:
    taken, nodes.neighbours.ahead_bytes = watch(nodes), 1 << 18
    batches = [[np.arange(number * 3000)] for number in range(40)]
    long, short = [batches, [["a"]]], [[["b"]], [["c"]]]
    refs = [*nodes.write(1, [short, long]), *nodes.write(2, [long, short])]
    found = nodes.read(refs, 0)
    assert found[0] == found[-1] == "b"
    for place, array in enumerate(found[1:-1]):
        assert np.array_equal(array, batches[place % 40][0])
        # Reducers add in place.
        array += 1
    # No frame comes as a whole, though many are longer.
    assert max(taken.lengths) == 1 << 18
    # One buffer is enough: what was read lies there no more.
    assert len(taken.shelves[rounded(1 << 18)]) == 1
    assert nodes.read(refs, 1) == ["c", "a", "a", "c"]


def test_a_kept_partition_that_is_too_long_comes_in_stretches(nodes: Nodes) -> None:
    taken, nodes.neighbours.ahead_bytes = watch(nodes), 1 << 18
    batches = [[os.urandom(100_000)] for _ in range(20)]
    frames = b"".join(map(encode_bytes, batches))
    Path(nodes.folders[1].path("e0-99", "memory")).write_bytes(b"before" + frames)
    ref = BlockRef(NodeId("node-1"), "e0-99", 6, len(frames))
    assert list(nodes.reader.rows(ref)) == batches
    assert max(taken.lengths) == 1 << 18
    short = ref._replace(length=len(encode_bytes(batches[0])))
    assert list(nodes.reader.rows(short)) == batches[:1]
    assert taken.lengths[-1] == short.length


def test_of_many_parts_at_once_each_comes_in_shorter_stretches(nodes: Nodes) -> None:
    """As where the pieces of a heavy reducer are merged."""
    taken, nodes.neighbours.ahead_bytes = watch(nodes), 1 << 20
    outputs = [[[[os.urandom(20_000)] for _ in range(30)]] for _ in range(10)]
    pieces = [nodes.write(number % 3 + 1, [output]) for number, output in enumerate(outputs)]
    rows = [ShuffleRows(SHUFFLE, refs, 0, nodes.reader).rows() for refs in pieces]
    assert list(zip(*rows, strict=True)) == [
        tuple(output[0][number][0] for output in outputs) for number in range(30)
    ]
    # The first has 600 KB in one piece. The others would not fit beside it.
    large = [length for length in taken.lengths if length > 1 << 19]
    assert len(large) == 1
    assert nodes.neighbours.readers == 0


@pytest.mark.usefixtures("short_stretches")
@pytest.mark.parametrize("how", ["gone", "count", "offset", "frame", "length", "cut"])
def test_a_long_part_that_is_lost_or_spoilt(nodes: Nodes, how: str) -> None:
    nodes.neighbours.ahead_bytes = 0
    refs = nodes.write(1, [[[[number] * 100] * 4] * PARTS for number in range(3)])
    rows = ShuffleRows(SHUFFLE, refs, 1, nodes.reader).rows()
    assert [next(rows) for _ in range(200)] == [0] * 200
    if how in ("gone", "cut"):
        path = nodes.folders[1].path(refs[1].segment, refs[1].medium)
        os.truncate(path, refs[1].offset + 1000 if how == "cut" else 0)
        with pytest.raises(MissingMapOutput) as caught:
            list(rows)
        assert caught.value.lost == list(enumerate(refs))
        return
    header = 8 * (PARTS + 2)
    frame = (refs[1].length - header) // PARTS + header
    spoil(nodes, refs[1], {"count": 4, "offset": 18, "frame": frame + 20, "length": frame + 8}[how])
    assert nodes.lost(refs, 1) == [1]


def test_no_more_is_offered_than_a_node_sends_soon(nodes: Nodes) -> None:
    offered: list[int] = []
    stretches: dict[ByteRange, int] = {}
    gather = nodes.neighbours.gather

    def count(node: NodeId, blocks: Sequence[ByteRange], *how: Any) -> list[memoryview | BlockGone]:
        offered.append(len(blocks))
        # Each is made once, however often it is offered.
        assert all(stretches.setdefault(each, id(each)) == id(each) for each in blocks)
        return gather(node, blocks, *how)

    nodes.neighbours.gather = count  # type: ignore[method-assign]
    nodes.neighbours.ahead_bytes = 100_000
    outputs = [[[[os.urandom(20_000)]]] for _ in range(100)]
    assert nodes.read(nodes.write(1, outputs), 0) == rows_of(outputs, 0)
    assert offered[0] == 100 and max(offered[1:]) <= 10 and sum(offered[1:]) < 250


def test_a_segment_that_is_gone_is_lost_with_all_in_it(nodes: Nodes) -> None:
    first = nodes.write(1, outputs_of(range(3)))
    second = nodes.write(1, outputs_of(range(3, 6)))
    refs = [first[0], second[0], first[1], second[1], first[2], second[2]]
    os.unlink(nodes.folders[1].path(second[0].segment, second[0].medium))
    assert nodes.lost(refs) == [1, 3, 5]


def test_rows_before_a_loss_come_all(nodes: Nodes) -> None:
    outputs = outputs_of(range(1, 4))
    refs = [*nodes.write(1, outputs), BlockRef(NodeId("node-1"), "e0-99", 0, 100)]
    rows = ShuffleRows(SHUFFLE, refs, 0, nodes.reader).rows()
    expected = rows_of(outputs, 0)
    assert [next(rows) for _ in expected] == expected
    with pytest.raises(MissingMapOutput):
        next(rows)


def test_a_node_that_does_not_answer_is_lost_with_all_on_it(nodes: Nodes) -> None:
    refs = [
        *nodes.write(1, outputs_of(range(2))),
        *nodes.write(2, outputs_of(range(2, 4))),
        *nodes.write(1, outputs_of(range(4, 6))),
        *nodes.write(2, outputs_of(range(6, 8))),
    ]
    nodes.servers[1].stop()
    assert nodes.lost(refs) == [2, 3, 6, 7]


def test_a_node_that_nobody_knows_any_more(nodes: Nodes) -> None:
    refs = nodes.write(1, outputs_of(range(2)))
    far = [ref._replace(node=NodeId("node-9")) for ref in nodes.write(2, outputs_of(range(2)))]
    assert nodes.lost([refs[0], *far, refs[1]]) == [1, 2]


def spoil(nodes: Nodes, ref: BlockRef, place: int) -> None:
    number = int(ref.node.split("-")[1])
    path = Path(nodes.folders[number].path(ref.segment, ref.medium))
    data = bytearray(path.read_bytes())
    data[ref.offset + place] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.parametrize("place", ["count", "offset", "frame"])
def test_a_spoilt_output_is_lost_alone(nodes: Nodes, node: int, place: str) -> None:
    refs = nodes.write(node, outputs_of(range(1, 4)))
    spoil(nodes, refs[1], {"count": 4, "offset": 10, "frame": 8 * (PARTS + 2) + 20}[place])
    assert nodes.lost(refs) == [1]


def test_others_are_not_troubled_by_a_reader_that_stops(nodes: Nodes) -> None:
    refs, outputs = shuffled(nodes)
    rows = ShuffleRows(SHUFFLE, refs, 1, nodes.reader).rows()
    assert next(rows) == rows_of(outputs, 1)[0]
    del rows
    assert nodes.read(refs, 2) == rows_of(outputs, 2)


def test_two_shuffles_are_read_at_once(nodes: Nodes) -> None:
    refs, outputs = shuffled(nodes)
    readers = [ShuffleRows(SHUFFLE, refs, 1, nodes.reader).rows() for _ in range(2)]
    both = list(zip(*readers, strict=True))
    assert both == [(row, row) for row in rows_of(outputs, 1)]


class Requests:
    """Counts the parts that are requested of other nodes, by the number requested at once."""

    def __init__(self, nodes: Nodes) -> None:
        self.asked: list[tuple[int, ...]] = []
        self.gather = nodes.neighbours.gather
        nodes.neighbours.gather = self.count  # type: ignore[method-assign]

    def count(self, node: NodeId, blocks: Any, parts: Any, *how: Any) -> Any:
        found = self.gather(node, blocks, parts, *how)
        self.asked += [tuple(parts)] * len(found)
        return found


def read_together(
    nodes: Nodes, refs: list[BlockRef], parts: Sequence[int], together: PartsTogether
) -> list[list[Any]]:
    return [
        list(ShuffleRows(SHUFFLE, refs, part, nodes.reader, together=together).rows())
        for part in parts
    ]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [0, 2], [1, 1, 2]])
def test_reducers_of_one_task_request_their_parts_together(nodes: Nodes, order: list[int]) -> None:
    refs, outputs = shuffled(nodes)
    far = sum(ref.node != nodes.folders[0].node for ref in refs)
    requests, together = Requests(nodes), PartsTogether(order)
    assert read_together(nodes, refs, order, together) == [rows_of(outputs, p) for p in order]
    # One request for each output, in whatever order the reducers come.
    assert len(requests.asked) == far
    assert requests.asked[-1] == tuple(sorted({*order}))


def test_of_parts_together_no_more_is_held_than_half(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "LEAST_STRETCH_BYTES", 1000)
    outputs = [[[[os.urandom(500)]] for _ in range(10)] for _ in range(60)]
    refs = [ref for node in (1, 2, 3) for ref in nodes.write(node, outputs[node * 20 - 20 :][:20])]
    nodes.neighbours.ahead_bytes = limit = 100_000
    requests, together = Requests(nodes), PartsTogether(range(10))
    assert read_together(nodes, refs, range(10), together) == [
        rows_of(outputs, part) for part in range(10)
    ]
    assert limit / 4 < together.held_bytes <= limit / 2
    # What found no room came alone.
    assert {1, 10} <= {len(parts) for parts in requests.asked}


def test_parts_together_that_are_too_long_come_alone(nodes: Nodes) -> None:
    nodes.neighbours.ahead_bytes = 1 << 18
    outputs = [[[[os.urandom(50_000)]] for _ in range(4)] for _ in range(5)]
    refs = nodes.write(1, outputs)
    together = PartsTogether(range(4))
    assert read_together(nodes, refs, [0], together) == [rows_of(outputs, 0)]
    assert not together.held
    assert read_together(nodes, refs, range(1, 4), together) == [
        rows_of(outputs, part) for part in range(1, 4)
    ]
    assert together.held_bytes <= 1 << 17


def test_a_loss_is_noticed_by_the_reducer_that_brings_parts_together(nodes: Nodes) -> None:
    first, second = nodes.write(1, outputs_of(range(3))), nodes.write(1, outputs_of(range(3, 6)))
    os.unlink(nodes.folders[1].path(second[0].segment, second[0].medium))
    together = PartsTogether([0, 1])
    with pytest.raises(MissingMapOutput) as caught:
        read_together(nodes, [*first, *second], [0], together)
    assert [index for index, _ in caught.value.lost] == [3, 4, 5]
    # Of what came before it, the next reducer needs no more requests.
    requests = Requests(nodes)
    assert read_together(nodes, first, [1], together) == [rows_of(outputs_of(range(3)), 1)]
    assert requests.asked == []


def test_parts_that_are_read_in_any_order_come_along() -> None:
    together = PartsTogether([7, 9, 3, 9])
    assert together.wanted_with(7) == (3, 7, 9)
    assert together.wanted_with(9) == (3, 9)
    assert together.wanted_with(5) == (5,)
