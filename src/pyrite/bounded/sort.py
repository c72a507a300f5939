"""Sorts rows, in memory while they fit and by merging sorted runs from spill files beyond.

All rows are read when `sort_rows` is called; what it returns iterates over the result.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillReader, SpillWriter

T = TypeVar("T")

# While runs are merged, each has one batch in memory.
_RUNS_PER_MERGE = 64


def sort_rows(
    rows: Iterable[T], key: Callable[[T], Any] | None, reverse: bool, space: Space
) -> Iterator[T]:
    """Returns the rows in order; equal rows keep their order."""
    rows = iter(rows)
    held: list[Any] = []
    runs = _Runs(key, reverse, space)
    for row in rows:
        held.append(row)
        held.extend(islice(rows, space.stride_rows))
        if space.over():
            held.sort(key=key, reverse=reverse)
            runs.add(held)
    held.sort(key=key, reverse=reverse)
    return runs.merged_with(held)


class _Runs:
    """Sorted runs in spill files, in the order in which their rows came."""

    def __init__(self, key: Callable[[Any], Any] | None, reverse: bool, space: Space) -> None:
        self._key = key
        self._reverse = reverse
        self._space = space
        self._writer = SpillWriter(space)
        self._count = 0
        self._batch_rows = 0

    def add(self, run: list[Any]) -> None:
        """Moves a sorted run to disk."""
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
        while self._count > _RUNS_PER_MERGE:
            reader = self._merge_pass(reader)
        return self._merge([*self._read(reader, range(self._count)), iter(last)])

    def _merge_pass(self, reader: SpillReader) -> SpillReader:
        # Merge adjacent runs only, so that equal rows keep their order.
        writer = SpillWriter(self._space)
        starts = range(0, self._count, _RUNS_PER_MERGE)
        for merged, start in enumerate(starts):
            stop = min(start + _RUNS_PER_MERGE, self._count)
            rows = self._merge(self._read(reader, range(start, stop)))
            writer.write_all(merged, rows, self._batch_rows)
        self._count = len(starts)
        return writer.finish()

    def _read(self, reader: SpillReader, runs: range) -> list[Iterator[Any]]:
        return [chain.from_iterable(reader.batches(run)) for run in runs]

    def _merge(self, runs: list[Iterator[Any]]) -> Iterator[Any]:
        return heapq.merge(*runs, key=self._key, reverse=self._reverse)
