"""Frames are written as blocks while more of them are made."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.stream import Granted, KeptStream, ResultStream
from pyrite.blocks.writer import OpenSegment, SegmentWriter, Want
from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId
from pyrite.storagelevel import StorageLevel

HERE, THERE = NodeId("node-0"), NodeId("node-1")
PIECE_BYTES = 1000
FRAME_BYTES = 400
MEMORY_ONLY = StorageLevel.MEMORY_ONLY


class Driver:
    """Answers requests for room when the test says so."""

    def __init__(self, places: Sequence[NodeId | None] = ()) -> None:
        self.places: Iterator[NodeId | None] = iter(places)
        self.wants: list[Want] = []
        self.waited: list[str] = []
        self.is_slow = False

    def ask(self, want: Want) -> None:
        self.wants.append(want)

    def answer(self, want: Want, wait: bool) -> Granted | None:
        if self.is_slow and not wait:
            return None
        if wait:
            self.waited.append(want.segment)
        return Granted(next(self.places, HERE))

    def lease(self, want: Want) -> NodeId | None:
        self.wants.append(want)
        return next(self.places, HERE)


class Sender(SegmentWriter):
    """Remembers what it sent to another node."""

    def __init__(self, folders: Folders, driver: Driver) -> None:
        super().__init__(folders, ExecutorId(0), driver.lease, 1 << 16)
        self.sent: dict[str, bytes] = {}
        self.problem: Exception | None = None

    def _send(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        if self.problem is not None:
            raise self.problem
        self.sent[segment.name] = b"".join(buffers)


class Kept:
    """A stream of a kept partition, and what it was given."""

    def __init__(
        self,
        folders: Folders,
        driver: Driver,
        level: StorageLevel = StorageLevel.OFF_HEAP,
    ) -> None:
        self.folders = folders
        self.writer = Sender(folders, driver)
        self.stream = KeptStream(self.writer, driver, RddId(3), level, False, PIECE_BYTES)
        self.given = b""

    def fill(self, frames: int) -> None:
        for _ in range(frames):
            frame = os.urandom(FRAME_BYTES)
            self.given += frame
            self.stream.append([frame])

    def read(self, refs: Sequence[BlockRef]) -> bytes:
        reader = SegmentReader(self.folders)
        return b"".join(
            self.writer.sent[ref.segment] if ref.node == THERE else bytes(reader.view(ref))
            for ref in refs
        )


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "memory").mkdir()
    (tmp_path / "disk").mkdir()
    return Folders(str(tmp_path / "memory"), str(tmp_path / "disk"), HERE)


def test_a_large_partition_is_written_in_pieces_of_their_own_size(folders: Folders) -> None:
    driver = Driver()
    kept = Kept(folders, driver)
    kept.fill(8)
    refs = kept.stream.finish()
    assert [ref.length for ref in refs] == [1200, 1200, 800]
    assert [(want.bytes, want.packs) for want in driver.wants] == [
        (1200, False),
        (1200, False),
        (800, False),
    ]
    assert kept.read(refs) == kept.given


def test_a_partition_no_larger_than_a_piece_is_written_whole(folders: Folders) -> None:
    kept = Kept(folders, Driver())
    kept.fill(2)
    [ref] = kept.stream.finish()
    assert kept.read([ref]) == kept.given
    assert kept.writer.open_names() == [ref.segment], "packed with others"


def test_an_empty_partition_has_a_block(folders: Folders) -> None:
    [ref] = Kept(folders, Driver()).stream.finish()
    assert ref.length == 0


def test_pieces_go_to_any_node_that_has_room(folders: Folders) -> None:
    kept = Kept(folders, Driver([HERE, THERE, HERE]))
    kept.fill(8)
    refs = kept.stream.finish()
    assert [ref.node for ref in refs] == [HERE, THERE, HERE]
    assert kept.read(refs) == kept.given


def test_a_piece_waits_for_room_while_the_next_one_is_filled(folders: Folders) -> None:
    driver = Driver()
    driver.is_slow = True
    kept = Kept(folders, driver)
    kept.fill(5)
    assert (len(driver.wants), driver.waited) == (1, []), "the second piece is not full"
    kept.fill(1)
    assert driver.waited == [driver.wants[0].segment], "no third piece before the first is written"
    assert kept.read(kept.stream.finish()) == kept.given


@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("is_slow", [False, True])
def test_from_where_there_is_no_room_the_rest_goes_to_disk(
    folders: Folders, granted: int, is_slow: bool
) -> None:
    driver = Driver([HERE] * granted + [None] * 9)
    driver.is_slow = is_slow
    kept = Kept(folders, driver)
    kept.fill(20)
    refs = kept.stream.finish()
    assert [ref.medium for ref in refs] == ["memory"] * granted + ["disk"]
    assert kept.read(refs) == kept.given
    assert kept.stream.spilled_bytes == refs[-1].length
    assert len(driver.wants) == granted + 1, "nobody asks again"
    assert kept.writer.take_disk_written() == [refs[-1].segment]


def test_a_small_partition_without_room_goes_to_disk(folders: Folders) -> None:
    kept = Kept(folders, Driver([None, None]))
    kept.fill(1)
    [ref] = kept.stream.finish()
    assert (ref.medium, kept.read([ref])) == ("disk", kept.given)


@pytest.mark.parametrize("frames", [1, 4, 20])
def test_what_may_not_go_to_disk_is_given_up(folders: Folders, frames: int) -> None:
    kept = Kept(folders, Driver([None] * 9), MEMORY_ONLY)
    kept.fill(frames)
    assert kept.stream.finish() == ()
    assert kept.stream.given_up
    assert os.listdir(folders.disk) == []


def test_a_piece_that_cannot_be_sent_goes_to_disk_with_the_rest(folders: Folders) -> None:
    kept = Kept(folders, Driver([HERE, THERE, HERE]))
    kept.writer.problem = FileNotFoundError("gone")
    kept.fill(12)
    refs = kept.stream.finish()
    assert [(ref.node, ref.medium) for ref in refs] == [(HERE, "memory"), (HERE, "disk")]
    assert kept.read(refs) == kept.given


def test_a_level_without_memory_asks_for_no_room(folders: Folders) -> None:
    driver = Driver()
    kept = Kept(folders, driver, StorageLevel.DISK_ONLY)
    kept.fill(20)
    [ref] = kept.stream.finish()
    assert (ref.medium, driver.wants, kept.stream.spilled_bytes) == ("disk", [], 0)
    assert kept.read([ref]) == kept.given


def test_the_file_of_a_partition_that_is_not_finished_is_removed(folders: Folders) -> None:
    kept = Kept(folders, Driver(), StorageLevel.DISK_ONLY)
    kept.fill(3)
    kept.stream.close()
    assert os.listdir(folders.disk) == []


def test_frames_that_wait_do_not_change_with_their_rows(folders: Folders) -> None:
    array = bytearray(FRAME_BYTES)
    kept = Kept(folders, Driver())
    for number in range(5):
        array[:] = bytes([number]) * FRAME_BYTES
        kept.stream.append([memoryview(array)])
    found = kept.read(kept.stream.finish())
    assert found == b"".join(bytes([number]) * FRAME_BYTES for number in range(5))


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_a_small_result_travels_inline(folders: Folders, frames: int) -> None:
    driver = Driver()
    stream = ResultStream(SegmentWriter(folders, ExecutorId(0), driver.lease), 800, PIECE_BYTES)
    for _ in range(frames):
        stream.append([b"x" * FRAME_BYTES])
    assert stream.finish() == b"x" * FRAME_BYTES * frames
    assert driver.wants == []


def test_a_large_result_lies_in_blocks(folders: Folders) -> None:
    writer = SegmentWriter(folders, ExecutorId(0), Driver().lease)
    stream = ResultStream(writer, 800, PIECE_BYTES)
    for number in range(8):
        stream.append([bytes([number]) * FRAME_BYTES])
    refs = stream.finish()
    assert isinstance(refs, tuple)
    assert [ref.length for ref in refs] == [1200, 1200, 800]
    reader = SegmentReader(folders)
    assert b"".join(bytes(reader.view(ref)) for ref in refs) == b"".join(
        bytes([number]) * FRAME_BYTES for number in range(8)
    )
