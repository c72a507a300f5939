"""The map side of a shuffle: rows dealt into buckets and packed into one block.

A map output begins with the offsets of its parts, so that a reducer finds its own:
the number of parts, then one more offset than parts, then the parts' frames.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any
from zlib import crc32

from pyrite.blocks.codec import CorruptBlock, Encoder, frame_size
from pyrite.blocks.segments import write_all
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillFailed, SpillFile
from pyrite.ids import BlockRef
from pyrite.rare import rare
from pyrite.rdd.partitioner import Router

# The rows of a frame are small beside what a task may hold.
FRAMES_PER_LIMIT = 8
# A map output may have a tebibyte.
OFFSET_BITS = 40


class FrameSpill:
    """Frames moved to disk while a map task runs, found again by part."""

    def __init__(self, space: Space) -> None:
        self.space = space
        try:
            self.file = SpillFile(space.spill_path())
        except OSError as error:
            raise SpillFailed(space.folder, error.strerror or str(error)) from error
        self.offset = 0
        self.stretches: dict[int, list[tuple[int, int]]] = {}

    def append(self, part: int, frames: list[Any]) -> None:
        size = frame_size(frames)
        try:
            write_all(self.file.fd, frames, self.offset)
        except OSError as error:
            raise SpillFailed(self.space.folder, error.strerror or str(error)) from error
        self.stretches.setdefault(part, []).append((self.offset, size))
        self.offset += size
        self.space.spilled_bytes += size

    def finish(self) -> dict[int, list[memoryview]]:
        """All stretches by part, as views of the file."""
        whole = memoryview(mmap.mmap(self.file.fd, self.offset, prot=mmap.PROT_READ))
        return {
            part: [whole[start : start + size] for start, size in stretches]
            for part, stretches in self.stretches.items()
        }


class MapOutput:
    """The buckets of one map task, encoded in memory or on disk until the block is written."""

    def __init__(self, parts: int, space: Space) -> None:
        self.parts = parts
        self.space = space
        self.buckets: list[list[Any]] = [[] for _ in range(parts)]
        self.frames: list[list[Any]] = [[] for _ in range(parts)]
        self.encoder = Encoder()
        self.spill: FrameSpill | None = None
        self.waiting = 0
        self.level_bytes = space.level_bytes

    def add(self, rows: Iterator[Any], router: Router) -> None:
        buckets = self.buckets
        while chunk := list(islice(rows, self.space.chunk_rows)):
            router.deal(chunk, buckets)
            self.waiting += len(chunk)
            if self.space.over():
                self.encode()
                self.spill_frames()
            elif self._is_much_waiting():
                self.encode()

    def _is_much_waiting(self) -> bool:
        """Large frames are encoded faster, but a reducer decodes a whole one at a time."""
        grown_bytes = self.space.level_bytes - self.level_bytes
        most_bytes = self.space.limit_bytes // FRAMES_PER_LIMIT
        return self.waiting >= self.space.waiting_rows or grown_bytes > most_bytes

    def encode(self) -> None:
        """Turns the waiting rows into frames."""
        for bucket, frames in zip(self.buckets, self.frames, strict=True):
            if bucket:
                frames.extend(self.encoder.encode(bucket))
                bucket.clear()
        self.waiting = 0
        self.level_bytes = self.space.level_bytes

    def spill_frames(self) -> None:
        """Moves the frames to disk."""
        if self.spill is None:
            rare("a map output spills")
            self.spill = FrameSpill(self.space)
        for part, frames in enumerate(self.frames):
            if frames:
                self.spill.append(part, frames)
                frames.clear()
        self.space.relieved()

    def write(self, writer: SegmentWriter) -> tuple[BlockRef, list[int]]:
        """Writes everything as one block; gives also how large its parts are."""
        self.encode()
        if self.spill is not None:
            for part, views in self.spill.finish().items():
                self.frames[part][:0] = views
        offsets = array("Q", [sealed(0, 0)])
        total = 0
        sizes = list(map(frame_size, self.frames))
        for part, size in enumerate(sizes):
            total += size
            offsets.append(sealed(part + 1, total))
        buffers = [struct.pack("<Q", self.parts), offsets.tobytes()]
        for frames in self.frames:
            buffers.extend(frames)
        return writer.write(buffers, 8 + 8 * len(offsets) + total), sizes


def sealed(place: int, offset: int) -> int:
    """An offset with a check in its upper bits: frames have a checksum each, an end has none."""
    return offset | (crc32(b"%d %d" % (place, offset)) >> 8) << OFFSET_BITS


def unsealed(place: int, entry: int) -> int:
    """The offset again; raises CorruptBlock where the entry is not what was written."""
    offset = entry & ((1 << OFFSET_BITS) - 1)
    if sealed(place, offset) != entry:
        raise CorruptBlock(f"the offset of part {place} in a map output has changed")
    return offset


def write_map_output(
    rows: Iterator[Any], index: int, router: Router, parts: int, space: Space, writer: SegmentWriter
) -> tuple[BlockRef, list[int]]:
    """Runs the map side for one partition; gives its block and the sizes of the parts in it."""
    router.start(index)
    output = MapOutput(parts, space)
    output.add(rows, router)
    return output.write(writer)
