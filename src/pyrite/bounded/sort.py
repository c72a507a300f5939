"""Sorts rows, in memory while they fit and by merging sorted runs from spill files beyond.

All rows are read when `sort_rows` is called; what it returns iterates over the result.
"""

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillReader, SpillWriter
from pyrite.machine.chain import OFF, Chain, Tracing
from pyrite.machine.framerows import FrameRows, rows_of
from pyrite.machine.records import PackedRecords

T = TypeVar("T")

# Fewer rows are sorted sooner than it takes to begin.
_FEWEST_NATIVE = 512
# What a native sort takes a row, beside its key.
_NATIVE_BYTES = 48
# A small key and its place in a list.
_KEY_BYTES = 48
# While runs are merged, each has one batch in memory.
RUNS_PER_MERGE = 64


def sort_chain(
    chained: Chain, key: Callable[[Any], Any] | None, reverse: bool, space: Space, tracing: Tracing
) -> Iterator[Any]:
    """Returns the chain's results in order, as `sort_rows` does; records as they are packed."""
    rows = chained.rows
    if chained.steps or not isinstance(rows, FrameRows) or not tracing.is_usable():
        return sort_rows(chained.run(), key, reverse, space, tracing)
    frames = rows.rest_with_records()
    first = next(frames, [])
    frames = chain((first,), frames)
    if isinstance(first, PackedRecords):
        from pyrite.machine.recordkeys import span_of

        span = span_of(key)
        if span is not None:
            from pyrite.bounded.recordsort import sort_records

            return sort_records(frames, key, span, reverse, space)
    plain = chain.from_iterable(map(rows_of, frames))
    return sort_rows(plain, key, reverse, space, tracing)


def sort_rows(
    rows: Iterable[T],
    key: Callable[[T], Any] | None,
    reverse: bool,
    space: Space,
    tracing: Tracing = OFF,
) -> Iterator[T]:
    """Returns the rows in order; equal rows keep their order."""
    weighed = space.weighed(rows)
    held: list[Any] = []
    runs = _Runs(key, reverse, space)
    while some := weighed.take(space.stride_rows):
        held += some
        if space.over():
            runs.sort_and_add(held)
    is_native = len(held) >= _FEWEST_NATIVE and tracing.is_usable()
    if is_native and space.has_room(len(held) * _NATIVE_BYTES):
        return runs.merged_with(_natively_sorted(held, key, reverse))
    held.sort(key=key, reverse=reverse)
    return runs.merged_with(held)


def _natively_sorted(rows: list[Any], key: Callable[[Any], Any] | None, reverse: bool) -> list[Any]:
    """The rows in order, by C code where their keys are plain."""
    from pyrite.machine._rows import sorted_rows

    # Not by `map`: it would take a StopIteration of the user's for the end.
    keys = rows if key is None else [key(row) for row in rows]
    made = sorted_rows(rows, keys, reverse)
    if made is not None:
        return made
    # The keys are not asked for twice.
    order = sorted(range(len(rows)), key=keys.__getitem__, reverse=reverse)
    return list(map(rows.__getitem__, order))


def first_rows(
    rows: Iterable[T], number: int, key: Callable[[T], Any] | None, reverse: bool, space: Space
) -> Iterator[T]:
    """Returns the first rows in order, as `sort_rows` would; holds about twice as many."""
    weighed = space.weighed(rows)
    choose = heapq.nlargest if reverse else heapq.nsmallest
    held: list[Any] = []
    runs = _Runs(key, reverse, space)
    while some := weighed.take(space.stride_rows):
        held += some
        is_over = space.over()
        if len(held) > (number if is_over else 2 * number):
            held = choose(number, held, key=key)
        if is_over:
            runs.sort_and_add(held)
    if len(held) > number:
        held = choose(number, held, key=key)
    else:
        held.sort(key=key, reverse=reverse)
    return islice(runs.merged_with(held), max(0, min(number, sys.maxsize)))


class _Runs:
    """Sorted runs in spill files, in the order in which their rows came."""

    def __init__(self, key: Callable[[Any], Any] | None, reverse: bool, space: Space) -> None:
        self._key = key
        self._reverse = reverse
        self._space = space
        self._writer = SpillWriter(space)
        self._count = 0
        self._batch_rows = 0

    def sort_and_add(self, rows: list[Any]) -> None:
        """Moves rows to disk in sorted runs, which come behind those before."""
        if self._key is not None and len(rows) * _KEY_BYTES > self._space.chunk_bytes:
            # Their keys are held while they are sorted: half of them, as memory is short. Large
            # rows have few keys, and each run takes a row of memory when all are merged.
            half = len(rows) // 2
            behind = rows[half:]
            del rows[half:]
            self._sort_and_add(rows)
            rows = behind
        self._sort_and_add(rows)

    def _sort_and_add(self, run: list[Any]) -> None:
        run.sort(key=self._key, reverse=self._reverse)
        self._batch_rows = self._space.batch_rows(len(run))
        self._writer.write_all(self._count, run, self._batch_rows)
        self._count += 1
        run.clear()
        self._space.relieved()

    def merged_with(self, last: list[Any]) -> Iterator[Any]:
        """Merges all runs, including a last one in memory."""
        if not self._count:
            return iter(last)
        reader = self._writer.finish()
        while self._count > RUNS_PER_MERGE:
            reader = self._merge_pass(reader)
        return self._merge([*self._read(reader, range(self._count)), iter(last)])

    def _merge_pass(self, reader: SpillReader) -> SpillReader:
        # Merge adjacent runs only, so that equal rows keep their order.
        writer = SpillWriter(self._space)
        starts = range(0, self._count, RUNS_PER_MERGE)
        for merged, start in enumerate(starts):
            stop = min(start + RUNS_PER_MERGE, self._count)
            rows = self._merge(self._read(reader, range(start, stop)))
            writer.write_all(merged, rows, self._batch_rows)
        self._count = len(starts)
        return writer.finish()

    def _read(self, reader: SpillReader, runs: range) -> list[Iterator[Any]]:
        return [chain.from_iterable(reader.batches(run)) for run in runs]

    def _merge(self, runs: list[Iterator[Any]]) -> Iterator[Any]:
        return heapq.merge(*runs, key=self._key, reverse=self._reverse)
