"""Segments hold blocks as they were written, in memory while leased, on disk otherwise."""

import os
from pathlib import Path
from typing import get_args

import pytest

from pyrite.blocks.codec import encode
from pyrite.blocks.segments import (
    Folders,
    SegmentReader,
    clear_segments,
    remove_folders,
    remove_segments,
)
from pyrite.blocks.writer import ALIGNMENT, SEGMENT_BYTES, BlockNotWritten, SegmentWriter
from pyrite.ids import BlockRef, ExecutorId, Medium, NodeId

NODE = NodeId("node-0")


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "memory").mkdir()
    (tmp_path / "disk").mkdir()
    return Folders(str(tmp_path / "memory"), str(tmp_path / "disk"), NODE)


def writer_of(folders: Folders, granted: bool = True) -> SegmentWriter:
    return SegmentWriter(folders, ExecutorId(0), lambda _want: NODE if granted else None)


def test_small_blocks_share_a_segment_and_lie_aligned(folders: Folders) -> None:
    writer, reader = writer_of(folders), SegmentReader(folders)
    first = writer.write([b"hello", b" world"], 11)
    second = writer.write([b"again"], 5)
    assert first.segment == second.segment == "e0-1"
    assert second.offset == ALIGNMENT
    assert bytes(reader.view(first)) == b"hello world"
    assert bytes(reader.view(second)) == b"again"


def test_a_block_larger_than_a_segment_gets_one_of_its_own_size(folders: Folders) -> None:
    writer, reader = writer_of(folders), SegmentReader(folders)
    large = bytes(SEGMENT_BYTES + 1)
    assert reader.view(writer.write([large], len(large))).nbytes == len(large)


def test_without_room_blocks_go_to_disk(folders: Folders) -> None:
    writer, reader = writer_of(folders, granted=False), SegmentReader(folders)
    ref = writer.write([b"hello"], 5)
    assert ref.medium == "disk"
    assert bytes(reader.view(ref)) == b"hello"
    assert os.listdir(folders.memory) == []
    assert writer.take_disk_written() == [ref.segment]
    assert writer.take_disk_written() == []


def test_more_buffers_than_the_kernel_takes_at_once(folders: Folders) -> None:
    writer, reader = writer_of(folders), SegmentReader(folders)
    pieces = [bytes([number % 256]) for number in range(3000)]
    assert bytes(reader.view(writer.write(pieces, 3000))) == b"".join(pieces)


@pytest.mark.parametrize("granted", [True, False])
def test_rows_come_back_batch_by_batch(folders: Folders, granted: bool) -> None:
    writer, reader = writer_of(folders, granted), SegmentReader(folders)
    buffers = [*encode([1, 2]), *encode(["three"])]
    ref = writer.write(buffers, sum(map(len, buffers)))
    assert list(reader.rows(ref)) == [[1, 2], ["three"]]


def test_an_empty_block_is_empty(folders: Folders) -> None:
    writer, reader = writer_of(folders), SegmentReader(folders)
    assert list(reader.rows(writer.write([], 0))) == []


def test_a_segment_that_is_gone_or_cut_is_an_error(folders: Folders) -> None:
    reader = SegmentReader(folders)
    with pytest.raises(FileNotFoundError):
        reader.view(BlockRef(NODE, "e0-1", 0, 5))
    Path(folders.memory, "e0-2").write_bytes(b"abc")
    with pytest.raises(FileNotFoundError, match="shorter"):
        reader.view(BlockRef(NODE, "e0-2", 0, 5))
    Path(folders.memory, "e0-3").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match="empty"):
        reader.view(BlockRef(NODE, "e0-3", 0, 5))


def test_forgotten_segments_are_mapped_anew(folders: Folders) -> None:
    writer, reader = writer_of(folders), SegmentReader(folders)
    ref = writer.write([b"hello"], 5)
    view = reader.view(ref)
    remove_segments(folders, [ref.segment, ref.segment])
    reader.forget([ref.segment])
    assert bytes(view) == b"hello", "who still looks into it keeps it"
    with pytest.raises(FileNotFoundError):
        reader.view(ref)


def test_a_disk_that_takes_no_more_is_named(folders: Folders) -> None:
    block = writer_of(folders).open_on_disk()
    block.file.close()
    block.file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    with pytest.raises(BlockNotWritten, match=r"spark\.local\.dir"):
        block.append([b"x"])
    assert os.listdir(folders.disk) == []


def test_folders_are_removed_with_all_that_is_in_them(tmp_path: Path) -> None:
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    (gone / "inner" / "empty").mkdir(parents=True)
    (gone / "inner" / "file").touch()
    kept.mkdir()
    (kept / "file").touch()
    (gone / "link").symlink_to(kept)
    (gone / "dangling").symlink_to(tmp_path / "absent")
    remove_folders([str(gone), str(tmp_path / "absent")])
    assert not gone.exists() and (kept / "file").exists()


def test_a_writers_names_differ_over_both_media_and_go_from_both(folders: Folders) -> None:
    writer = writer_of(folders)
    refs = [writer.write([b"one"], 3), writer.write_to_disk([b"two"])]
    refs += [writer.write([bytes(20 << 20)], 20 << 20), writer.write_to_disk([b"four"])]
    assert [ref.medium for ref in refs] == ["memory", "disk", "memory", "disk"]
    assert len({ref.segment for ref in refs}) == 4
    remove_segments(folders, [ref.segment for ref in refs])
    assert os.listdir(folders.memory) == os.listdir(folders.disk) == []


def test_what_a_dead_writer_left_goes_and_nothing_else(folders: Folders) -> None:
    known = ["e1-1", "e1-2", "e11-1", "e0-1", "driver-1", "fetched-1", "moved-1"]
    for medium in get_args(Medium):
        for name in [*known, f"e1-{7 if medium == 'memory' else 8}"]:
            Path(folders.path(name, medium)).touch()
    clear_segments(folders, ExecutorId(1), ["e1-1", "e1-2"])
    assert sorted(os.listdir(folders.memory)) == sorted(os.listdir(folders.disk)) == sorted(known)
