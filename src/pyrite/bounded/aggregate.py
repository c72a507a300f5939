"""Combines the values of each key, in memory while they fit and through spill files beyond.

All rows are read when a function here is called; what it returns iterates over the result.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from operator import add
from typing import Any, Generic, TypeAlias, TypeVar

from pyrite.bounded.large import OUT_OF_MEMORY, too_large_row
from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillReader, SpillWriter
from pyrite.hashing import NATIVE, HashUnknownHere, UnstableHash, portable_hash

K = TypeVar("K")
V = TypeVar("V")
C = TypeVar("C")

# Adds rows to combiners by key.
Fold: TypeAlias = Callable[[dict[Any, Any], Iterable[Any]], None]

BUCKETS = 32
_BUCKET_BITS = BUCKETS.bit_length() - 1
# Keys that still share a bucket after this many splits have equal hashes: splitting won't help.
MOST_SPLITS = 6


@dataclass(frozen=True, slots=True)
class Aggregator(Generic[V, C]):
    """How values become a combiner: from the first value, with one more, and from two combiners."""

    create: Callable[[V], C]
    merge_value: Callable[[C, V], C]
    merge_combiners: Callable[[C, C], C]


def combine_values(
    rows: Iterable[tuple[K, V]], aggregator: Aggregator[V, C], space: Space
) -> Iterator[tuple[K, C]]:
    """Returns one combiner per key, in the order in which keys were first seen unless rows
    spilled."""
    return Combining(value_fold(aggregator), aggregator.merge_combiners, space).run(rows)


def value_fold(aggregator: Aggregator[V, C]) -> Fold:
    """Returns what adds the values of rows to combiners by key."""
    create, merge_value = aggregator.create, aggregator.merge_value

    def fold(combined: dict[K, C], rows: Iterable[tuple[K, V]]) -> None:
        for key, value in rows:
            if key in combined:
                combined[key] = merge_value(combined[key], value)
            else:
                combined[key] = create(value)

    return fold


def combine_combiners(
    batches: Iterable[Iterable[tuple[K, C]]], aggregator: Aggregator[Any, C], space: Space
) -> Iterator[tuple[K, C]]:
    """Returns one combiner per key from combiners made elsewhere, in the same order."""
    fold = combiner_fold(aggregator.merge_combiners)
    rows = chain.from_iterable(batches)
    return Combining(fold, aggregator.merge_combiners, space).run(rows)


def combiner_fold(merge: Callable[[C, C], C]) -> Fold:
    """Returns what adds combiners made elsewhere to those by key."""

    def fold(combined: dict[K, C], rows: Iterable[tuple[K, C]]) -> None:
        for key, combiner in rows:
            if key in combined:
                combined[key] = merge(combined[key], combiner)
            else:
                combined[key] = combiner

    return fold


def count_values(values: Iterable[K], space: Space) -> Iterator[tuple[K, int]]:
    """Returns how often each value occurs, in the same order."""
    counts: Counter[Any] = Counter()
    # Counter adds values without a step of Python for each; values have no combiners beside them.
    counting = Combining(lambda _, some: counts.update(some), add, space)
    counting.combined = counts
    return counting.run(values)


def bucket_of(key: Any, split: int) -> int:
    """Returns the bucket of a key, independent between splits; equal keys have equal buckets."""
    # Each split takes bits of its own: hashes of (split, key) are not independent, since those of
    # one bucket fell into one or two at the next split.
    return (hash((_hash(key),)) >> split * _BUCKET_BITS) % BUCKETS


def _portable_hash(key: Any) -> int:
    """Returns a hash that is the same in every process where possible; buckets only need one
    process."""
    try:
        return portable_hash(key)
    except (UnstableHash, HashUnknownHere):
        return hash(key)


_hash = hash if NATIVE else _portable_hash


class Combining:
    """Combiners by key under one memory limit.

    `split` counts how often the keys were split into buckets before.
    """

    def __init__(
        self, fold: Fold, merge: Callable[[Any, Any], Any], space: Space, split: int = 0
    ) -> None:
        self.fold = fold
        self.merge = merge
        self.space = space
        self.split = split
        self.combined: dict[Any, Any] = {}
        self._spilled: SpillWriter | None = None

    @property
    def has_spilled(self) -> bool:
        return self._spilled is not None

    def run(self, rows: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Adds all rows; returns one combiner per key."""
        self.add(rows)
        return self.results()

    def add(self, rows: Iterable[Any]) -> None:
        """Adds all rows, as the fold takes them."""
        combined, space = self.combined, self.space
        weighed = space.weighed(rows)
        while some := weighed.take(space.stride_rows):
            try:
                self.fold(combined, some)
            except OUT_OF_MEMORY as error:
                raise too_large_row(combined.items(), space) or error from None
            if not space.over():
                continue
            # Splitting does not help a single key.
            if len(combined) > 1 and self.split < MOST_SPLITS:
                self.spill(iter(combined.items()), len(combined))
                combined.clear()
                space.relieved()
            elif space.exhausted() and (culprit := too_large_row(combined.items(), space)):
                # Raise early: CPython may lose the exception when it has no memory for a call.
                raise culprit

    def results(self) -> Iterator[tuple[Any, Any]]:
        """One combiner per key, in memory or merged from disk."""
        if self._spilled is None:
            return iter(self.combined.items())
        self.spill(iter(self.combined.items()), len(self.combined))
        self.combined.clear()
        self.space.relieved()
        return self._merged(self._spilled.finish())

    def spill(self, items: Iterator[tuple[Any, Any]], count: int) -> None:
        """Moves so many combiners to disk; the caller frees them."""
        if self._spilled is None:
            self._spilled = SpillWriter(self.space)
        batch_rows = self.space.batch_rows(count)
        while part := list(islice(items, batch_rows * BUCKETS)):
            _write_part(part, self._spilled, self.split)

    def _merged(self, reader: SpillReader) -> Iterator[tuple[Any, Any]]:
        fold = combiner_fold(self.merge)
        for bucket in range(BUCKETS):
            self.space.given_on()
            rows = chain.from_iterable(reader.batches(bucket))
            yield from Combining(fold, self.merge, self.space, self.split + 1).run(rows)


def _write_part(part: list[tuple[K, C]], spilled: SpillWriter, split: int) -> None:
    buckets: list[list[tuple[K, C]]] = [[] for _ in range(BUCKETS)]
    for item in part:
        buckets[bucket_of(item[0], split)].append(item)
    for bucket, batch in enumerate(buckets):
        if batch:
            spilled.write(bucket, batch)
