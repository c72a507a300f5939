"""Combines the values of each key, in memory while they fit and through spill files beyond.

All rows are read when a function here is called; what it returns iterates over the result.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from pyrite.bounded.large import OUT_OF_MEMORY, too_large_row
from pyrite.bounded.space import Space
from pyrite.bounded.spill import SpillReader, SpillWriter
from pyrite.hashing import NATIVE, HashUnknownHere, UnstableHash, portable_hash

K = TypeVar("K")
V = TypeVar("V")
C = TypeVar("C")

BUCKETS = 32
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
    create, merge_value = aggregator.create, aggregator.merge_value

    def fold(combined: dict[K, C], rows: Iterable[tuple[K, V]]) -> None:
        for key, value in rows:
            if key in combined:
                combined[key] = merge_value(combined[key], value)
            else:
                combined[key] = create(value)

    return _combine(iter(rows), fold, aggregator.merge_combiners, space, 0)


def combine_combiners(
    batches: Iterable[Iterable[tuple[K, C]]], aggregator: Aggregator[Any, C], space: Space
) -> Iterator[tuple[K, C]]:
    """Returns one combiner per key from combiners made elsewhere, in the same order."""
    return _merge(batches, aggregator.merge_combiners, space, 0)


def bucket_of(key: Any, split: int) -> int:
    """Returns the bucket of a key, independent between splits; equal keys have equal buckets."""
    return hash((split, _hash(key))) % BUCKETS


def _portable_hash(key: Any) -> int:
    """Returns a hash that is the same in every process where possible; buckets only need one
    process."""
    try:
        return portable_hash(key)
    except (UnstableHash, HashUnknownHere):
        return hash(key)


_hash = hash if NATIVE else _portable_hash


def _merge(
    batches: Iterable[Iterable[tuple[K, C]]], merge: Callable[[C, C], C], space: Space, split: int
) -> Iterator[tuple[K, C]]:
    def fold(combined: dict[K, C], rows: Iterable[tuple[K, C]]) -> None:
        for key, combiner in rows:
            if key in combined:
                combined[key] = merge(combined[key], combiner)
            else:
                combined[key] = combiner

    return _combine(chain.from_iterable(batches), fold, merge, space, split)


def _combine(
    rows: Iterator[tuple[K, Any]],
    fold: Callable[[dict[K, C], Iterable[tuple[K, Any]]], None],
    merge: Callable[[C, C], C],
    space: Space,
    split: int,
) -> Iterator[tuple[K, C]]:
    combined: dict[K, C] = {}
    spilled: SpillWriter | None = None
    for row in rows:
        try:
            fold(combined, chain((row,), islice(rows, space.stride_rows)))
        except OUT_OF_MEMORY as error:
            raise too_large_row(combined.items(), space) or error from None
        if not space.over():
            continue
        # Splitting does not help a single key.
        if len(combined) > 1 and split < MOST_SPLITS:
            spilled = spilled or SpillWriter(space)
            _spill(combined, spilled, space, split)
        elif space.exhausted() and (culprit := too_large_row(combined.items(), space)):
            # Raise early: CPython may lose the exception when it has no memory for a call.
            raise culprit
    if spilled is None:
        return iter(combined.items())
    _spill(combined, spilled, space, split)
    return _merge_buckets(spilled.finish(), merge, space, split)


def _spill(combined: dict[K, C], spilled: SpillWriter, space: Space, split: int) -> None:
    batch_rows = space.batch_rows(len(combined))
    items = iter(combined.items())
    while part := list(islice(items, batch_rows * BUCKETS)):
        _write_part(part, spilled, split)
    combined.clear()
    space.relieved()


def _write_part(part: list[tuple[K, C]], spilled: SpillWriter, split: int) -> None:
    buckets: list[list[tuple[K, C]]] = [[] for _ in range(BUCKETS)]
    for item in part:
        buckets[bucket_of(item[0], split)].append(item)
    for bucket, batch in enumerate(buckets):
        if batch:
            spilled.write(bucket, batch)


def _merge_buckets(
    reader: SpillReader, merge: Callable[[C, C], C], space: Space, split: int
) -> Iterator[tuple[K, C]]:
    for bucket in range(BUCKETS):
        yield from _merge(reader.batches(bucket), merge, space, split + 1)
