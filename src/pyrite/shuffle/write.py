"""The map side of a shuffle: rows dealt into buckets and packed into blocks."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyrite.blocks.codec import Encoder, changeable_bytes, detached, frame_size
from pyrite.blocks.parts import pack_header
from pyrite.blocks.segments import write_all
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.chunks import Chunks
from pyrite.bounded.large import encode_rows
from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillFailed, SpillFile
from pyrite.ids import BlockRef
from pyrite.rare import rare
from pyrite.rdd.partitioner import Router


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


class Buffer(NamedTuple):
    """How much a map task holds back while reducers' nodes wait for it, and whom it tells of what
    it has written meanwhile: the block, and how large its parts are."""

    bytes: int
    tell: Callable[[BlockRef, list[int]], None]


class MapOutput:
    """The buckets of one map task, encoded in memory or on disk until their block is written.

    With a buffer it is written in installments: a block whenever the buffer is full.
    """

    def __init__(
        self, parts: int, space: Space, writer: SegmentWriter, buffer: Buffer | None = None
    ) -> None:
        self.parts = parts
        self.space = space
        self.writer = writer
        self.buffer = buffer
        self.buckets: list[list[Any]] = [[] for _ in range(parts)]
        self.frames: list[list[Any]] = [[] for _ in range(parts)]
        self.encoder = Encoder()
        self.spill: FrameSpill | None = None
        self.waiting = 0
        # What the frames look into and others may change.
        self.changeable_bytes = 0
        # With a buffer: what was written in blocks, and encoded since, and how many rows that were.
        self.written_bytes = 0
        self.encoded_bytes = 0
        self.encoded_rows = 0

    def add(self, rows: Iterator[Any], router: Router) -> None:
        buckets = self.buckets
        chunks = Chunks(rows, self.space)
        for chunk in chunks:
            router.deal(chunk, buckets)
            self.waiting += len(chunk)
            if self.space.over():
                self.encode()
                self.relieve()
            elif self._is_much_waiting(chunks.fitting_rows) or self._may_fill_buffer():
                self.encode()
                if self.buffer is not None and self.encoded_bytes >= self.buffer.bytes:
                    self.pay(self.buffer)
                else:
                    self.hold()

    def _is_much_waiting(self, fitting_rows: int) -> bool:
        """Large frames are encoded faster, but a reducer decodes a whole one at a time."""
        return self.waiting >= min(self.space.waiting_rows, fitting_rows)

    def _may_fill_buffer(self) -> bool:
        """Whether the waiting rows fill the buffer, if they are like those before; the first are
        encoded to know how large they are."""
        if self.buffer is None:
            return False
        if not self.encoded_rows:
            return True
        row_bytes = (self.written_bytes + self.encoded_bytes) / self.encoded_rows
        expected_bytes = self.waiting * row_bytes
        return self.encoded_bytes + expected_bytes >= self.buffer.bytes

    def encode(self) -> None:
        """Turns the waiting rows into frames, which may look into these rows."""
        for bucket, frames in zip(self.buckets, self.frames, strict=True):
            if bucket:
                encoded = encode_rows(self.encoder.encode_many, bucket, self.space)
                frames.extend(encoded)
                self.changeable_bytes += changeable_bytes(encoded)
                bucket.clear()
                if self.buffer is not None:
                    self.encoded_bytes += frame_size(encoded)
        self.encoded_rows += self.waiting
        self.waiting = 0

    def hold(self) -> None:
        """Holds the frames while more rows are computed, whatever becomes of the rows in them."""
        if not self.changeable_bytes:
            return
        if not self.space.has_room(self.changeable_bytes):
            self.relieve()
            return
        for frames in self.frames:
            frames[:] = detached(frames)
        self.changeable_bytes = 0

    def relieve(self) -> None:
        """Holds no frames any more: somebody waits for them, or else they go to disk."""
        self.changeable_bytes = 0
        if self.buffer is None:
            self.spill_frames()
        elif self.encoded_bytes:
            self.pay(self.buffer)
        self.space.relieved()

    def pay(self, buffer: Buffer) -> None:
        """Writes an installment: a block like the last one, of what there is so far."""
        rare("a map output is written in installments")
        self.written_bytes += self.encoded_bytes
        self.encoded_bytes = self.changeable_bytes = 0
        written = self._write_block()
        for frames in self.frames:
            frames.clear()
        buffer.tell(*written)

    def spill_frames(self) -> None:
        """Moves the frames to disk."""
        if self.spill is None:
            rare("a map output spills")
            self.spill = FrameSpill(self.space)
        for part, frames in enumerate(self.frames):
            if frames:
                self.spill.append(part, frames)
                frames.clear()

    def write(self) -> tuple[BlockRef, list[int]]:
        """Writes everything that is left as one block; gives also how large its parts are."""
        self.encode()
        if self.spill is not None:
            for part, views in self.spill.finish().items():
                self.frames[part][:0] = views
        return self._write_block()

    def _write_block(self) -> tuple[BlockRef, list[int]]:
        sizes = list(map(frame_size, self.frames))
        header = pack_header(sizes)
        buffers = [header]
        for frames in self.frames:
            buffers.extend(frames)
        return self.writer.write(buffers, len(header) + sum(sizes)), sizes


def write_map_output(
    rows: Iterator[Any],
    index: int,
    router: Router,
    parts: int,
    space: Space,
    writer: SegmentWriter,
    buffer: Buffer | None = None,
) -> tuple[BlockRef, list[int]]:
    """Runs the map side for one partition; gives its last block and the sizes of the parts in it,
    after the buffer's owner was told of those before."""
    router.start(index)
    output = MapOutput(parts, space, writer, buffer)
    output.add(rows, router)
    return output.write()
