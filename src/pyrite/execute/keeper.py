"""Keeps partitions of persisted RDDs, at the user's storage level."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from pyrite.blocks.codec import CorruptBlock, Encoder
from pyrite.blocks.consumed import ConsumedValues
from pyrite.blocks.live import LiveStore
from pyrite.blocks.segments import SegmentReader
from pyrite.blocks.stream import KeptStream, RoomRequests
from pyrite.blocks.weight import WeighedRows, estimate_bytes
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.large import RowTooLarge
from pyrite.bounded.space import Space
from pyrite.execute.delays import Delays
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import BlockRef, Partition, RddId
from pyrite.metrics import COUNTS
from pyrite.probe import probe
from pyrite.storagelevel import StorageLevel

Blocks = tuple[BlockRef, ...]

ANY_PRIORITY = sys.maxsize
# Where kept partitions are found, in the order in which they are counted.
LIVE, POOL, REMOTE, DISK = range(4)


class KeptBlockLost(BaseException):
    """A kept partition turned out to be corrupt while its rows were read.

    Not an Exception, so that a user's `except` does not take it for the end of the rows.
    """


class KeepPlan(NamedTuple):
    """How an RDD is kept."""

    level: StorageLevel
    priority: int
    live: bool


class Keeper:
    """Finds and stores kept partitions for the tasks of one executor."""

    def __init__(
        self,
        live: LiveStore,
        reader: SegmentReader,
        writer: SegmentWriter,
        requests: RoomRequests,
        limits: WorkerLimits,
    ) -> None:
        self.live = live
        self.reader = reader
        self.writer = writer
        self.requests = requests
        self.limits = limits
        self.blocks: dict[Partition, Blocks] = {}
        self.stored: list[tuple[Partition, Blocks, int]] = []
        self.delays = Delays()
        self.dropped: list[Partition] = []
        self.lost: list[tuple[Partition, BlockRef]] = []
        self.found = [0, 0, 0, 0]
        self.computed: list[Partition] = []
        self.spilled_bytes = 0
        self.filling: list[tuple[RddId, Iterator[list[Any]]]] = []
        self.storing: RddId | None = None

    def start_task(self, blocks: dict[Partition, Blocks]) -> None:
        self.blocks = blocks
        self.filling.clear()
        self.delays.start_partition()

    def take_report(self) -> tuple[Any, ...]:
        """Returns what was stored, dropped, found lost, read, computed and spilled since the last
        report.

        As plain tuples, for the message to the driver.
        """
        report = (
            [
                (tuple(where), list(map(tuple, refs)), size, self.delays.take(where))
                for where, refs, size in self.stored
            ],
            [tuple(where) for where in self.dropped],
            [(tuple(where), tuple(ref)) for where, ref in self.lost],
            self.found,
            [tuple(where) for where in self.computed],
            self.spilled_bytes,
        )
        self.stored, self.dropped, self.lost = [], [], []
        self.delays.end_task()
        self.found, self.computed, self.spilled_bytes = [0, 0, 0, 0], [], 0
        return report

    def find(self, partition: Partition) -> Iterator[Any] | None:
        """Returns the partition's rows if this executor can read them; else None."""
        rows = self.live.get(partition)
        if rows is not None:
            self.found[LIVE] += 1
            COUNTS.rows_read += len(rows)
            return iter(rows)
        refs = self.blocks.get(partition)
        if refs is None:
            return None
        batches = self._read(partition, refs)
        try:
            first = next(batches, [])
        except KeptBlockLost:
            probe("a kept block can't be read")
            return None
        self.found[max(map(self._where, refs))] += 1
        return chain(first, chain.from_iterable(batches))

    def _where(self, ref: BlockRef) -> int:
        if ref.medium == "disk":
            return DISK
        return POOL if ref.node == self.reader.folders.node else REMOTE

    def _read(self, partition: Partition, refs: Blocks) -> Iterator[list[Any]]:
        """The rows of a partition's blocks; where some were returned already, a loss restarts the
        task."""
        for ref in refs:
            try:
                for batch in self.reader.rows(ref):
                    COUNTS.rows_read += len(batch)
                    yield batch
            except (OSError, CorruptBlock):
                probe("a kept block ends in the middle")
                self.lost.append((partition, ref))
                raise KeptBlockLost from None

    def keep(
        self, partition: Partition, rows: Iterator[Any], plan: KeepPlan, space: Space
    ) -> Iterator[Any]:
        """Stores the rows as planned, as far as there is room; returns them."""
        level = plan.level
        self.computed.append(partition)
        if not level.useMemory:
            return self._keep_encoded(partition, rows, StorageLevel.DISK_ONLY)
        if level.useOffHeap or not plan.live:
            return self._keep_encoded(partition, rows, level)
        with self.delays.of(partition):
            return self._keep_live(partition, rows, plan, space)

    def _keep_live(
        self, partition: Partition, rows: Iterator[Any], plan: KeepPlan, space: Space
    ) -> Iterator[Any]:
        level = plan.level
        held: list[Any] = []
        consumed = ConsumedValues()
        size = 0
        before, self.storing = self.storing, partition.rdd
        try:
            for chunk in space.weighed(rows).chunks(space.chunk_rows):
                held += chunk
                if consumed.find(chunk):
                    return self._keep_encoded(partition, chain(held, rows), level)
                size += estimate_bytes(chunk)
                if not self._make_room(partition, size, plan, space):
                    probe("live rows find no room")
                    rest = chain(held, rows)
                    if not level.useDisk:
                        return rest
                    return self._keep_encoded(partition, rest, StorageLevel.DISK_ONLY, tries=True)
        finally:
            self.storing = before
        self.live.put(partition, held, size, level, plan.priority)
        self.stored.append((partition, (), size))
        if level.replication > 1:
            self._encode_all(partition, held, level, is_copy=True)
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
        probe("live rows are evicted")
        entry = self.live.remove(partition)
        self.dropped.append(partition)
        if entry.level.useDisk and partition not in self.blocks:
            probe("evicted rows go to disk")
            # A group larger than memory can't be encoded: it is recomputed when needed.
            with contextlib.suppress(RowTooLarge):
                self._encode_all(partition, entry.rows, StorageLevel.DISK_ONLY)

    def make_room(self) -> bool:
        """Evicts a partition for a task that needs memory; False if none may be evicted."""
        if self.live.used_bytes <= self.live.protected_bytes:
            return False
        victim = self.live.victim(self.storing, ANY_PRIORITY)
        if victim is None:
            return False
        self._evict(victim)
        return True

    def finish_task(self) -> None:
        """Stores the rest of partitions that the task read only in part.

        Children come first; their ids are larger. They read their parents, which must not be
        exhausted before.
        """
        while self.filling:
            last = max(self.filling, key=lambda each: each[0])
            self.filling.remove(last)
            for _ in last[1]:
                pass

    def _keep_encoded(
        self, partition: Partition, rows: Iterator[Any], level: StorageLevel, tries: bool = False
    ) -> Iterator[Any]:
        """Encodes the rows while they are read; with `tries`, a failure is no error."""
        chunks = self._encode(partition, rows, level, tries=tries)
        chunks = self.delays.while_read(partition, chunks)
        self.filling.append((partition.rdd, chunks))
        return chain.from_iterable(chunks)

    def _encode_all(
        self, partition: Partition, rows: list[Any], level: StorageLevel, is_copy: bool = False
    ) -> None:
        for _ in self._encode(partition, iter(rows), level, is_copy):
            pass

    def _encode(
        self,
        partition: Partition,
        rows: Iterator[Any],
        level: StorageLevel,
        is_copy: bool = False,
        tries: bool = False,
    ) -> Iterator[list[Any]]:
        """Encodes into the pools if the level has memory and there is room; else to disk."""
        limits = self.limits
        stream = KeptStream(
            self.writer, self.requests, partition.rdd, level, is_copy, limits.piece_bytes
        )
        encoder = Encoder()
        refs: Blocks = ()
        try:
            for batch, frame in encoder.batches(
                rows, most_rows=limits.batch_rows, most_bytes=limits.chunk_bytes
            ):
                stream.append(frame)
                yield batch
                if stream.given_up:
                    break
            refs = stream.finish()
        except RowTooLarge:
            if not tries:
                raise
            # A group larger than memory is recomputed when needed.
            yield encoder.batch
        finally:
            stream.close()
        if refs:
            self.spilled_bytes += stream.spilled_bytes
            self.stored.append((partition, refs, sum(ref.length for ref in refs)))
            # The same task may read it again, as cartesian does.
            self.blocks[partition] = refs
        else:
            yield from WeighedRows(rows, limits.chunk_bytes).chunks(limits.batch_rows)
