"""Keeping partitions of persisted RDDs, at the level the user chose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from pyrite.blocks.codec import CorruptBlock, Encoder, decode_frames, frame_size
from pyrite.blocks.live import LiveStore, estimate_bytes
from pyrite.blocks.segments import SegmentReader, SegmentWriter
from pyrite.bounded.space import Space
from pyrite.ids import BlockRef, Partition
from pyrite.storagelevel import StorageLevel

CHUNK_ROWS = 4096


class KeptBlockLost(BaseException):
    """A kept partition turned out to be corrupt while its rows were read.

    No Exception, so that a user's `except` does not take it for an end of the rows.
    """


class KeepPlan(NamedTuple):
    """How an RDD is kept."""

    level: StorageLevel
    priority: int
    live: bool


class Keeper:
    """Finds and stores kept partitions for the tasks of one executor."""

    def __init__(self, live: LiveStore, reader: SegmentReader, writer: SegmentWriter) -> None:
        self.live = live
        self.reader = reader
        self.writer = writer
        self.blocks: dict[Partition, BlockRef] = {}
        self.stored: list[tuple[Partition, BlockRef | None]] = []
        self.dropped: list[Partition] = []
        self.lost: list[tuple[Partition, BlockRef]] = []

    def start_task(self, blocks: dict[Partition, BlockRef]) -> None:
        self.blocks = blocks

    def take_report(self) -> tuple[list[Any], list[Any], list[Any]]:
        """What was stored, dropped and found lost since the last report."""
        report = self.stored, self.dropped, self.lost
        self.stored, self.dropped, self.lost = [], [], []
        return report

    def find(self, partition: Partition) -> Iterator[Any] | None:
        """The partition's rows, if they are kept where this executor can read them."""
        rows = self.live.get(partition)
        if rows is not None:
            return iter(rows)
        ref = self.blocks.get(partition)
        if ref is None:
            return None
        try:
            frames = decode_frames(self.reader.view(ref))
            first = next(frames, [])
        except (OSError, CorruptBlock):
            self.lost.append((partition, ref))
            return None
        return chain(first, chain.from_iterable(self._rest(partition, ref, frames)))

    def _rest(
        self, partition: Partition, ref: BlockRef, frames: Iterator[list[Any]]
    ) -> Iterator[list[Any]]:
        """The other frames; rows have gone out already, so a loss starts the task again."""
        try:
            yield from frames
        except CorruptBlock:
            self.lost.append((partition, ref))
            raise KeptBlockLost from None

    def keep(
        self, partition: Partition, rows: Iterator[Any], plan: KeepPlan, space: Space
    ) -> Iterator[Any]:
        """Stores the rows as planned, as far as there is room; gives them back."""
        level = plan.level
        if not level.useMemory:
            return self._keep_block(partition, rows, to_disk=True)
        if level.useOffHeap or not plan.live:
            return self._keep_block(partition, rows, to_disk=False)
        held: list[Any] = []
        size = 0
        while chunk := list(islice(rows, CHUNK_ROWS)):
            held += chunk
            size += estimate_bytes(chunk)
            if not self._make_room(partition, size, plan, space):
                rest = chain(held, rows)
                return self._keep_block(partition, rest, to_disk=True) if level.useDisk else rest
        self.live.put(partition, held, size, level, plan.priority)
        self.stored.append((partition, None))
        if level.replication > 1:
            self._keep_block(partition, iter(held), to_disk=False)
        return iter(held)

    def _make_room(self, partition: Partition, size: int, plan: KeepPlan, space: Space) -> bool:
        while not self.live.has_room(size) or space.over():
            victim = self.live.victim(partition.rdd, plan.priority)
            if victim is None:
                return False
            self._evict(victim)
            space.relieved()
        return True

    def _evict(self, partition: Partition) -> None:
        entry = self.live.remove(partition)
        self.dropped.append(partition)
        if entry.level.useDisk and partition not in self.blocks:
            self._keep_block(partition, iter(entry.rows), to_disk=True)

    def _keep_block(
        self, partition: Partition, rows: Iterator[Any], to_disk: bool
    ) -> Iterator[Any]:
        encoder = Encoder()
        buffers: list[Any] = []
        while chunk := list(islice(rows, CHUNK_ROWS)):
            buffers += encoder.encode(chunk)
        write = self.writer.write_to_disk if to_disk else self.writer.write
        ref = write(buffers, frame_size(buffers))
        self.stored.append((partition, ref))
        return chain.from_iterable(decode_frames(self.reader.view(ref)))
