"""What was fetched ahead is read in place of the outputs, and never in the way of the task."""

import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from one_frame import encode_bytes

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.fetched import (
    STRETCH_ALIGNMENT,
    FetchedPlace,
    SelectionEntry,
    Stretch,
    aligned,
    directory_bytes,
    pack_directory,
    unpack_directory,
)
from pyrite.blocks.parts import pack_header, select
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.shuffle.read import MissingMapOutput, ShuffleRows

NODE = NodeId("node-0")
PARTS = 4
MAPS = 5
BATCHES = 3


def batch_of(map: int, part: int, number: int) -> list[Any]:
    return [(map, part, number, row) for row in range(2)]


def rows_of(map: int, part: int) -> list[Any]:
    if (map + part) % 5 == 0:
        return []
    return [row for number in range(BATCHES) for row in batch_of(map, part, number)]


def output_of(map: int) -> bytes:
    parts = [
        b"".join(encode_bytes(batch_of(map, part, number)) for number in range(BATCHES))
        if rows_of(map, part)
        else b""
        for part in range(PARTS)
    ]
    return pack_header([len(part) for part in parts]) + b"".join(parts)


class Bench:
    """Map outputs of which all may be gone, and prefetched segments made from them."""

    def __init__(self, folder: Path) -> None:
        self.folders = Folders(str(folder), str(folder), NODE)
        self.outputs = [output_of(map) for map in range(MAPS)]
        self.refs = tuple(
            BlockRef(NODE, f"e{map}-1", 0, len(output)) for map, output in enumerate(self.outputs)
        )
        for ref, output in zip(self.refs, self.outputs, strict=True):
            Path(self.folders.path(ref.segment, ref.medium)).write_bytes(output)

    def lose(self, *maps: int) -> None:
        for map in maps:
            self.lose_segments(self.refs[map].segment)

    def lose_segments(self, *segments: str) -> None:
        for segment in segments:
            os.unlink(self.folders.path(segment, "memory"))

    def pack(self, segment: str, maps: list[int], parts: list[int]) -> dict[int, SelectionEntry]:
        """Makes a prefetched segment; where in it the selections lie."""
        entries, body, start = [], b"", directory_bytes(len(maps))
        for map in maps:
            output = self.outputs[map]
            head, stretches = select(lambda at, n, o=output: o[at : at + n], len(output), parts)  # type: ignore[misc]
            selection = head + b"".join(output[at : at + n] for at, n in stretches)
            body += bytes(aligned(start + len(body)) - start - len(body))
            entries.append(SelectionEntry(map, start + len(body), len(selection)))
            body += selection
        data = pack_directory(entries).ljust(start, b"\0") + body
        Path(self.folders.path(segment, "memory")).write_bytes(data)
        return {entry.map: entry for entry in entries}

    def spoil(self, segment: str, place: int, bits: int = 1) -> None:
        path = Path(self.folders.path(segment, "memory"))
        data = bytearray(path.read_bytes())
        data[place] ^= bits
        path.write_bytes(data)

    def join(self, file: str, *segments: str) -> list[FetchedPlace]:
        """Moves prefetched segments into one file; where they lie there."""
        found: list[FetchedPlace] = []
        offset = 0
        with open(self.folders.path(file, "memory"), "wb") as joined:
            for segment in segments:
                data = Path(self.folders.path(segment, "memory")).read_bytes()
                os.pwrite(joined.fileno(), data, offset)
                found.append(stretch := Stretch(file, offset, len(data)))
                offset = stretch.behind()
        self.lose_segments(*segments)
        return [tuple(each) for each in found]

    def shuffle(self, part: int, *prefetched: FetchedPlace) -> ShuffleRows:
        return ShuffleRows(ShuffleId(1), self.refs, part, SegmentReader(self.folders), prefetched)

    def check(self, *prefetched: FetchedPlace, parts: tuple[int, ...] = (1, 3)) -> None:
        for part in parts:
            expected = [row for map in range(MAPS) for row in rows_of(map, part)]
            assert list(self.shuffle(part, *prefetched).rows()) == expected


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_parts_are_read_from_prefetched_segments_and_the_rest_from_the_outputs(
    bench: Bench,
) -> None:
    bench.pack("f0-1", [3, 0], [1, 3])
    bench.pack("f0-2", [1], [0, 1, 2, 3])
    bench.lose(0, 1, 3)
    bench.check("f0-1", "f0-2")
    with pytest.raises(MissingMapOutput):
        list(bench.shuffle(1, "f0-1").rows())


def test_prefetched_segments_that_share_a_file(bench: Bench) -> None:
    bench.pack("f0-1", [3, 0], [1, 3])
    bench.pack("f0-2", [1], [0, 1, 2, 3])
    one, two = bench.join("ahead-1", "f0-1", "f0-2")
    bench.lose(0, 1, 3)
    bench.check(two, one)
    with pytest.raises(MissingMapOutput):
        list(bench.shuffle(1, one).rows())


def test_a_stretch_that_was_freed_reads_as_zeros_and_is_done_without(bench: Bench) -> None:
    bench.pack("f0-1", [3, 0], [1, 3])
    bench.pack("f0-2", [1], [1, 3])
    freed, other = bench.join("ahead-1", "f0-1", "f0-2")
    bench.lose(1)
    path = Path(bench.folders.path("ahead-1", "memory"))
    intact, size = path.read_bytes(), Stretch(*freed).size_bytes
    with pytest.raises(CorruptBlock):
        unpack_directory(memoryview(bytes(size)))
    # Its pages go one after another: the reader may come upon any of them first.
    for place in range(0, size, 8):
        for data in (bytes(place) + intact[place:], intact[:place] + bytes(size - place)):
            path.write_bytes(data[:size] + intact[size:])
            bench.check(freed, other)


@pytest.mark.parametrize("end", [0, 1, STRETCH_ALIGNMENT, STRETCH_ALIGNMENT + 10])
def test_a_shared_file_that_was_cut(bench: Bench, end: int) -> None:
    bench.pack("f0-1", [3, 0], [1, 3])
    bench.pack("f0-2", [1], [1, 3])
    places = bench.join("ahead-1", "f0-1", "f0-2")
    os.truncate(bench.folders.path("ahead-1", "memory"), end)
    bench.check(*places)
    bench.lose_segments("ahead-1")
    bench.check(*places)


def test_all_are_read_from_prefetched_segments(bench: Bench) -> None:
    bench.pack("f0-1", [4, 3, 2, 1, 0], [1, 3])
    bench.lose(*range(MAPS))
    bench.check("f0-1")


def test_a_prefetched_segment_that_is_gone_is_done_without(bench: Bench) -> None:
    bench.pack("f0-2", [1], [1, 3])
    bench.lose(1)
    bench.check("f0-1", "f0-2")


def test_an_empty_prefetched_segment_is_done_without(bench: Bench) -> None:
    Path(bench.folders.path("f0-1", "memory")).touch()
    bench.check("f0-1")


def test_a_prefetched_segment_without_the_part_is_done_without(bench: Bench) -> None:
    bench.pack("f0-1", [0, 1, 2], [0, 2])
    bench.check("f0-1")


def test_a_spoilt_directory_is_done_without(bench: Bench) -> None:
    bench.pack("f0-1", [0, 1, 2], [1, 3])
    bench.spoil("f0-1", 20)
    bench.check("f0-1")


def test_a_prefetched_segment_that_was_cut(bench: Bench) -> None:
    entries = bench.pack("f0-1", [0, 1, 2], [1, 3])
    bench.lose(0)
    # The last part of the last map is gone whole: what is left looks like an end.
    for end in entries[2].offset + entries[2].length - 1, entries[2].offset, entries[1].offset:
        os.truncate(bench.folders.path("f0-1", "memory"), end)
        bench.check("f0-1")


def test_rows_come_once_whatever_is_spoilt_in_a_prefetched_segment(bench: Bench) -> None:
    entries = bench.pack("f0-1", [1, 2], [1, 3])
    intact = Path(bench.folders.path("f0-1", "memory")).read_bytes()
    for entry in entries.values():
        for place in range(entry.offset, entry.offset + entry.length):
            # Bits that make another part's number of one, among others.
            bench.spoil("f0-1", place, bits=2)
            bench.check("f0-1")
            Path(bench.folders.path("f0-1", "memory")).write_bytes(intact)


def test_a_part_that_ends_in_the_middle_goes_on_in_the_output(bench: Bench) -> None:
    entry = bench.pack("f0-1", [1], [1])[1]
    bench.spoil("f0-1", entry.offset + entry.length - 20)
    batches = bench.shuffle(1, "f0-1").batches()
    before = [*rows_of(0, 1), *(row for number in (0, 1) for row in batch_of(1, 1, number))]
    assert [row for batch in islice(batches, BATCHES + 2) for row in batch] == before
    assert next(batches) == batch_of(1, 1, 2)


def test_an_output_that_is_gone_with_its_prefetched_segment_is_missing(bench: Bench) -> None:
    entry = bench.pack("f0-1", [1, 2], [1])[1]
    bench.spoil("f0-1", entry.offset + entry.length - 20)
    bench.lose(1)
    with pytest.raises(MissingMapOutput) as caught:
        list(bench.shuffle(1, "f0-1").rows())
    assert caught.value.lost == [(1, bench.refs[1])]
