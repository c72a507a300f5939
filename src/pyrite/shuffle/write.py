"""The map side of a shuffle: rows are routed to buckets and packed into a block."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from pyrite.blocks.codec import (
    Buffer,
    Encoder,
    changeable_bytes,
    detached,
    encode_packed,
    encode_records,
    frame_size,
)
from pyrite.blocks.parts import pack_header
from pyrite.blocks.segments import write_all
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.large import encode_rows
from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillFailed, SpillFile
from pyrite.ids import BlockRef
from pyrite.machine.packed import PackedRows, Undealt
from pyrite.machine.records import PackedRecords
from pyrite.metrics import COUNTS
from pyrite.probe import probe
from pyrite.rdd.partitioner import Router, Routing

# A reducer decodes the packed rows of one deal and one map at a time.
_DEALT_ROWS = 65_536


@runtime_checkable
class Dealable(Protocol):
    """Rows that can be packed by their part, as routers of one kind deal them; what can't be is
    routed between them, row by row."""

    dealt_by: Routing

    def deal(
        self, parts: int, most_rows: int
    ) -> Iterator[Sequence[PackedRows | PackedRecords] | Undealt]: ...


class FrameSpill:
    """Frames moved to disk while a map task runs, located by part."""

    def __init__(self, space: Space) -> None:
        self.space = space
        try:
            self.file = SpillFile(space.spill_path())
        except OSError as error:
            raise SpillFailed(space.folder, error.strerror or str(error)) from error
        self.offset = 0
        self.runs: dict[int, list[tuple[int, int]]] = {}

    def append(self, part: int, frames: list[Any]) -> None:
        size = frame_size(frames)
        try:
            write_all(self.file.fd, frames, self.offset)
        except OSError as error:
            raise SpillFailed(self.space.folder, error.strerror or str(error)) from error
        self.runs.setdefault(part, []).append((self.offset, size))
        self.offset += size
        self.space.spilled_bytes += size

    def finish(self) -> dict[int, list[memoryview]]:
        """Returns all runs of frames by part, as views of the file."""
        whole = memoryview(mmap.mmap(self.file.fd, self.offset, prot=mmap.PROT_READ))
        return {
            part: [whole[start : start + size] for start, size in runs]
            for part, runs in self.runs.items()
        }


class MapOutput:
    """The buckets of one map task, encoded in memory or on disk until their block is written."""

    def __init__(self, parts: int, space: Space, writer: SegmentWriter) -> None:
        self.parts = parts
        self.space = space
        self.writer = writer
        self.buckets: list[list[Any]] = [[] for _ in range(parts)]
        self.frames: list[list[Any]] = [[] for _ in range(parts)]
        self.encoder = Encoder()
        self.spill: FrameSpill | None = None
        self.waiting = 0
        # Bytes of mutable buffers that the frames refer to.
        self.changeable_bytes = 0
        space.relieve_by(self.relieve)

    def add(self, rows: Iterator[Any], router: Router) -> None:
        if isinstance(rows, Dealable) and router.kind == rows.dealt_by:
            self.add_dealt(rows, router)
            return
        self._add_rows(rows, router)

    def _add_rows(self, rows: Iterator[Any], router: Router) -> None:
        buckets = self.buckets
        weighed = self.space.weighed(rows)
        while chunk := weighed.take(self.space.chunk_rows):
            COUNTS.rows_written += len(chunk)
            router.deal(chunk, buckets)
            self.waiting += len(chunk)
            # This may call `relieve`; what is left then is not held here.
            if self.space.over():
                self.space.relieved()
            if self._should_encode(weighed.fitting_rows):
                self.encode()
                self.hold()

    def add_dealt(self, rows: Dealable, router: Router) -> None:
        """Adds rows that deal themselves out, packed."""
        for dealt in rows.deal(self.parts, _DEALT_ROWS):
            if isinstance(dealt, Undealt):
                self._add_rows(dealt.rows, router)
                # Packed rows that follow must not overtake them.
                self.encode()
                self.hold()
                continue
            for frames, packed in zip(self.frames, dealt, strict=True):
                if len(packed):
                    COUNTS.rows_written += len(packed)
                    frames.extend(_encoded(packed))
            if self.space.over():
                self.space.relieved()

    def _should_encode(self, fitting_rows: int) -> bool:
        """Whether enough rows wait to be encoded: large frames are encoded faster, but a reducer
        decodes a whole one at a time."""
        return self.waiting >= min(self.space.waiting_rows, fitting_rows)

    def encode(self) -> None:
        """Encodes the waiting rows as frames, which may refer to these rows' buffers."""
        for bucket, frames in zip(self.buckets, self.frames, strict=True):
            if bucket:
                encoded = encode_rows(self.encoder.encode_many, bucket, self.space)
                frames.extend(encoded)
                self.changeable_bytes += changeable_bytes(encoded)
                bucket.clear()
        self.waiting = 0

    def hold(self) -> None:
        """Makes the frames independent of the rows' buffers, or spills them, before more rows are
        computed."""
        if not self.changeable_bytes:
            return
        if not self.space.has_room(self.changeable_bytes):
            self.relieve()
            self.space.relieved()
            return
        for frames in self.frames:
            frames[:] = detached(frames)
        self.changeable_bytes = 0

    def relieve(self) -> bool:
        """Frees memory by moving everything to disk; False if nothing is held."""
        self.encode()
        self.changeable_bytes = 0
        return self.spill_frames()

    def spill_frames(self) -> bool:
        """Moves the frames to disk; False if there are none."""
        if not any(self.frames):
            return False
        if self.spill is None:
            probe("a map output spills")
            self.spill = FrameSpill(self.space)
        for part, frames in enumerate(self.frames):
            if frames:
                self.spill.append(part, frames)
                frames.clear()
        return True

    def write(self) -> tuple[BlockRef, list[int]]:
        """Writes everything as one block; returns it and the sizes of its parts."""
        self.encode()
        if self.spill is not None:
            for part, views in self.spill.finish().items():
                self.frames[part][:0] = views
        sizes = list(map(frame_size, self.frames))
        header = pack_header(sizes)
        buffers = [header]
        for frames in self.frames:
            buffers.extend(frames)
        return self.writer.write(buffers, len(header) + sum(sizes)), sizes


def _encoded(packed: PackedRows | PackedRecords) -> list[Buffer]:
    return encode_packed(packed) if isinstance(packed, PackedRows) else encode_records(packed)


def write_map_output(
    rows: Iterator[Any],
    index: int,
    router: Router,
    parts: int,
    space: Space,
    writer: SegmentWriter,
) -> tuple[BlockRef, list[int]]:
    """Runs the map side for one partition; returns its block and the sizes of its parts."""
    router.start(index)
    output = MapOutput(parts, space, writer)
    output.add(rows, router)
    return output.write()
