"""Kept partitions are written where the scheduler says, small ones together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.writer import ALIGNMENT, PACKS, SMALL, OpenSegment, SegmentWriter, Want
from pyrite.errors import ClusterError
from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId

HERE, THERE = NodeId("node-0"), NodeId("node-1")
RDD = RddId(3)
SEGMENT_BYTES = 1 << 16
PACK_BYTES = SEGMENT_BYTES // PACKS
SMALL_BYTES = PACK_BYTES // SMALL


class Recorder(SegmentWriter):
    """Remembers what it asked for and what it sent to other nodes."""

    def __init__(self, folders: Folders, places: list[NodeId | None] | None = None) -> None:
        super().__init__(folders, ExecutorId(0), self._place, SEGMENT_BYTES)
        self.places = places
        self.wants: list[Want] = []
        self.sent: list[tuple[NodeId, str, int, bytes]] = []
        self.problem: Exception | None = None

    def _place(self, want: Want) -> NodeId | None:
        self.wants.append(want)
        return HERE if self.places is None else self.places.pop(0)

    def _send(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        if self.problem is not None:
            raise self.problem
        self.sent.append((segment.place, segment.name, segment.offset, b"".join(buffers)))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "memory").mkdir()
    (tmp_path / "disk").mkdir()
    return Folders(str(tmp_path / "memory"), str(tmp_path / "disk"), HERE)


def keep(writer: SegmentWriter, data: bytes, to_disk: bool = True, rdd: RddId = RDD) -> Any:
    return writer.write_kept(rdd, [data], len(data), to_disk)


def test_small_partitions_are_packed(folders: Folders) -> None:
    writer, reader = Recorder(folders), SegmentReader(folders)
    first, second = keep(writer, b"one"), keep(writer, b"two", rdd=RddId(4))
    assert (first.segment, second.segment, second.offset) == ("e0-1", "e0-1", ALIGNMENT)
    assert [bytes(reader.view(ref)) for ref in (first, second)] == [b"one", b"two"]
    assert writer.wants == [Want("e0-1", PACK_BYTES, packs=True, rdd=RDD, to_disk=True)]


def test_a_full_pack_is_followed_by_another(folders: Folders) -> None:
    writer = Recorder(folders)
    refs = [keep(writer, bytes(SMALL_BYTES)) for _ in range(SMALL + 1)]
    assert [ref.segment for ref in refs] == ["e0-1"] * SMALL + ["e0-2"]
    assert refs[-2].offset + refs[-2].length == PACK_BYTES
    assert sorted(os.listdir(folders.memory)) == ["e0-1", "e0-2"]


def test_a_large_partition_has_a_segment_of_its_size_to_itself(folders: Folders) -> None:
    writer, reader = Recorder(folders), SegmentReader(folders)
    keep(writer, b"small")
    data = os.urandom(SMALL_BYTES + 1)
    ref = keep(writer, data)
    assert bytes(reader.view(ref)) == data
    assert writer.wants[1] == Want("e0-2", len(data), packs=False, rdd=RDD, to_disk=True)
    assert keep(writer, b"small").segment == "e0-1", "the pack is still open"
    assert writer.open_names() == ["e0-1"]


def test_kept_partitions_and_map_outputs_lie_apart(folders: Folders) -> None:
    writer = Recorder(folders)
    output = writer.write([b"output"], 6)
    assert keep(writer, b"kept").segment != output.segment
    assert writer.wants[0] == Want("e0-1", SEGMENT_BYTES)
    assert writer.open_names() == ["e0-1", "e0-2"]
    writer.close()
    assert writer.open_names() == []


def test_what_may_not_go_to_disk_is_packed_apart(folders: Folders) -> None:
    writer = Recorder(folders)
    first, second = keep(writer, b"one"), keep(writer, b"two", to_disk=False)
    assert first.segment != second.segment
    assert [want.to_disk for want in writer.wants] == [True, False]


def test_without_room_for_a_pack_a_small_partition_asks_for_itself(folders: Folders) -> None:
    writer = Recorder(folders, [None, HERE])
    ref = keep(writer, b"one")
    assert (ref.node, ref.segment, ref.offset) == (HERE, "e0-2", 0)
    assert [(want.bytes, want.packs) for want in writer.wants] == [(PACK_BYTES, True), (3, False)]


def test_a_partition_is_sent_where_there_is_room(folders: Folders) -> None:
    writer = Recorder(folders, [THERE, THERE])
    data = bytes(SMALL_BYTES + 1)
    assert keep(writer, data) == BlockRef(THERE, "e0-1", 0, len(data), "memory")
    small = [keep(writer, b"one"), keep(writer, b"two")]
    assert small == [BlockRef(THERE, "e0-2", offset, 3, "memory") for offset in (0, ALIGNMENT)]
    assert writer.sent == [
        (THERE, "e0-1", 0, data),
        (THERE, "e0-2", 0, b"one"),
        (THERE, "e0-2", ALIGNMENT, b"two"),
    ]
    assert os.listdir(folders.memory) == []


def test_an_empty_partition_takes_the_first_place_of_a_pack(folders: Folders) -> None:
    writer = Recorder(folders, [THERE])
    assert [keep(writer, data).offset for data in (b"", b"one")] == [0, ALIGNMENT]
    assert [offset for _, _, offset, _ in writer.sent] == [0, ALIGNMENT]


@pytest.mark.parametrize("problem", [FileNotFoundError("gone"), ClusterError("refused")])
@pytest.mark.parametrize("size", [3, SMALL_BYTES + 1])
def test_what_cannot_be_sent_is_not_kept(folders: Folders, problem: Exception, size: int) -> None:
    writer = Recorder(folders, [THERE, HERE])
    writer.problem = problem
    assert keep(writer, bytes(size)) is None
    writer.problem = None
    assert keep(writer, bytes(size)).medium == "memory", "the next one asks again"


def test_without_room_it_is_not_kept(folders: Folders) -> None:
    writer = Recorder(folders, [None] * 2)
    assert keep(writer, b"one") is None
    assert os.listdir(folders.memory) == os.listdir(folders.disk) == []


def test_shared_memory_that_is_smaller_than_the_pool_is_no_error(folders: Folders) -> None:
    writer = Recorder(folders)
    keep(writer, b"one")
    assert writer.pack is not None
    os.close(writer.pack.fd)
    writer.pack.fd = os.open("/dev/full", os.O_WRONLY)
    assert keep(writer, b"two") is None
    assert keep(writer, b"three").medium == "memory", "in a pack of its own"


def test_a_segment_of_its_own_is_closed_once_it_is_written(folders: Folders) -> None:
    writer = Recorder(folders)
    before = set(os.listdir("/proc/self/fd"))
    keep(writer, bytes(SMALL_BYTES + 1))
    assert set(os.listdir("/proc/self/fd")) == before


def test_input_is_written_on_the_node_of_its_key_if_there_is_room(folders: Folders) -> None:
    writer = Recorder(folders, places=[HERE, THERE, None])
    here = writer.write_input(7, memoryview(b"one"))
    assert here is not None and bytes(SegmentReader(folders).view(here)) == b"one"
    there = writer.write_input(8, memoryview(b"two"))
    assert there is not None and there.node == THERE
    assert [data for *_, data in writer.sent] == [b"two"]
    assert writer.write_input(9, memoryview(b"three")) is None
    assert [want.key for want in writer.wants] == [7, 8, 9]


def test_input_that_its_node_can_not_take_is_left(folders: Folders) -> None:
    writer = Recorder(folders, places=[THERE])
    writer.problem = ClusterError("the node is lost")
    assert writer.write_input(7, memoryview(b"one")) is None
