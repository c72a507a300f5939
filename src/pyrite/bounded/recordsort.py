"""Sorts records by a piece of them, by the row machine: packed in memory, in spill files, and while
runs are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain as chained
from typing import Any

from pyrite.blocks.codec import encode_records
from pyrite.bounded.sort import RUNS_PER_MERGE, sort_rows
from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillReader, SpillWriter
from pyrite.machine._rows import RecordLog
from pyrite.machine.chain import OFF
from pyrite.machine.framerows import AnyFrame, rows_of
from pyrite.machine.recordkeys import KeySpan
from pyrite.machine.records import PackedRecords, packed_records

_ROWS_PER_BATCH = 1024
# What ordering a record takes beside it.
_PLACE_BYTES = 32
# What a record takes as an object, beside its bytes.
_OBJECT_BYTES = 64


def sort_records(
    frames: Iterator[AnyFrame],
    key: Callable[[Any], Any] | None,
    span: KeySpan,
    reverse: bool,
    space: Space,
) -> Iterator[Any]:
    """Returns the rows of frames in order; equal ones keep theirs. `span` is what the key is of a
    record."""
    sort = RecordSort(span, reverse, space)
    for frame in filter(len, frames):
        # A few records are pickled as rows of any kind are.
        records = packed_records(frame) if isinstance(frame, list) else frame
        if not isinstance(records, PackedRecords) or not sort.add(records):
            # All as objects: those in runs come first, and equal rows are in their order there.
            rows = chained(
                sort.given_up(), rows_of(frame), chained.from_iterable(map(rows_of, frames))
            )
            return sort_rows(rows, key, reverse, space, OFF)
    results = sort.results()
    return sort_rows(sort.given_up(), key, reverse, space, OFF) if results is None else results


class RecordSort:
    """Records in memory, and sorted runs of those before them in a spill file."""

    def __init__(self, span: KeySpan, reverse: bool, space: Space) -> None:
        self._by = (*span, reverse)
        self._space = space
        self._held = RecordLog()
        self._held_bytes = self._taken_rows = self._taken_bytes = 0
        self._writer = SpillWriter(space)
        self._runs = self._batch_rows = 0

    def add(self, frame: PackedRecords) -> bool:
        """Adds a frame; False where there is no memory for it, even when all others are on disk."""
        if not self._held.add(frame.sizes, frame.data):
            self._spill()
            if not self._held.add(frame.sizes, frame.data):
                return False
        self._held_bytes += len(frame.data)
        self._taken_rows += len(frame)
        self._taken_bytes += len(frame.data)
        if (
            self._taken_rows >= self._space.stride_rows
            or self._taken_bytes >= self._space.chunk_bytes
        ):
            self._taken_rows = self._taken_bytes = 0
            # While there is room to order them.
            if self._space.over() or not self._space.has_room(len(self._held) * _PLACE_BYTES):
                self._spill()
        return True

    def _spill(self) -> bool:
        """Moves the records to disk as a sorted run; False where there is no memory to order
        them."""
        if not len(self._held):
            return True
        if not self._held.sort(*self._by):
            return False
        self._batch_rows = self._space.batch_rows(len(self._held))
        self._write(self._writer, self._runs, [self._held])
        self._runs += 1
        self._held.clear()
        self._held_bytes = 0
        self._space.relieved()
        return True

    def _write(self, writer: SpillWriter, run: int, logs: Iterable[RecordLog]) -> None:
        for log in logs:
            for start in range(0, len(log), self._batch_rows):
                packed = PackedRecords(*log.packed(start, start + self._batch_rows))
                writer.write_frame(run, encode_records(packed))

    def given_up(self) -> Iterator[Any]:
        """The records as objects, for who sorts them again."""
        if not self._space.has_room(self._held_bytes + len(self._held) * _OBJECT_BYTES):
            self._spill()
        if self._runs:
            reader = self._writer.finish()
            for run in range(self._runs):
                yield from chained.from_iterable(reader.batches(run))
        yield from _rows(self._held)
        self._held.clear()

    def results(self) -> Iterator[Any] | None:
        """All records in order; None where there is no memory to order them."""
        if not self._runs:
            return _rows(self._held) if self._held.sort(*self._by) else None
        if not self._spill():
            return None
        return chained.from_iterable(map(_rows, self._merged()))

    def _merged(self) -> Iterator[RecordLog]:
        reader = self._writer.finish()
        while self._runs > RUNS_PER_MERGE:
            reader = self._merge_pass(reader)
        return self._merge(reader, range(self._runs))

    def _merge_pass(self, reader: SpillReader) -> SpillReader:
        # Merge adjacent runs only, so that equal records keep their order.
        writer = SpillWriter(self._space)
        starts = range(0, self._runs, RUNS_PER_MERGE)
        for merged, start in enumerate(starts):
            runs = range(start, min(start + RUNS_PER_MERGE, self._runs))
            self._write(writer, merged, self._merge(reader, runs))
        self._runs = len(starts)
        return writer.finish()

    def _merge(self, reader: SpillReader, runs: range) -> Iterator[RecordLog]:
        return merged([reader.frames(run) for run in runs], self._by)


class _Head:
    """The batch of a run that is in memory, and how far it was taken."""

    def __init__(self, frames: Iterator[AnyFrame], by: tuple[int, int, bool]) -> None:
        self._frames = frames
        self._by = by
        self.log = RecordLog()
        self.at = 0

    def fill(self) -> bool:
        """Reads the next batch if this one was taken whole; False at the end."""
        while self.at == len(self.log):
            frame = next(self._frames, None)
            if frame is None:
                return False
            assert isinstance(frame, PackedRecords)
            self.log.clear()
            self.at = 0
            _require(self.log.add(frame.sizes, frame.data))
            self.log.ordered(*self._by)
        return True

    def last(self) -> bytes:
        """The last key of the batch."""
        return self.log.key(len(self.log) - 1)

    def give(self, into: RecordLog, limit: bytes, with_equal: bool) -> None:
        """Gives the records before the limit, or with those at it."""
        stop = self.log.place(limit, with_equal)
        _require(into.take(self.log, self.at, stop))
        self.at = max(self.at, stop)


def merged(runs: list[Iterator[AnyFrame]], by: tuple[int, int, bool]) -> Iterator[RecordLog]:
    """Merges sorted runs, of which equal records of earlier ones come first.

    What lies before the least of the last keys in memory has come of all runs: it is ordered
    together, which takes less than to compare one record after another.
    """
    choose = max if by[2] else min
    heads = [head for head in (_Head(frames, by) for frames in runs) if head.fill()]
    while heads:
        lasts = [head.last() for head in heads]
        limit = choose(lasts)
        # More that are equal to the limit may follow in this run: those of later ones wait.
        first = lasts.index(limit)
        batch = RecordLog()
        for place, head in enumerate(heads):
            head.give(batch, limit, with_equal=place <= first)
        _require(batch.sort(*by))
        yield batch
        heads = [head for head in heads if head.fill()]


def _require(has_memory: bool) -> None:
    if not has_memory:
        raise MemoryError("no memory for the records of sorted runs")


def _rows(log: RecordLog) -> Iterator[bytes]:
    batches = (
        log.rows(start, start + _ROWS_PER_BATCH) for start in range(0, len(log), _ROWS_PER_BATCH)
    )
    return chained.from_iterable(batches)
