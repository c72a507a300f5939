"""Groups the values of each key, in memory while they fit and through spill files beyond.

When memory runs out, every group is written to a bucket of a spill file chosen by its key's hash;
later the buckets are read back one at a time, and split again where one is still too large. A group
that takes a large share of the memory by itself gets its own bucket from then on: it is never
loaded again, but iterated from the file.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar, Union

from pyrite.bounded.aggregate import BUCKETS, MOST_SPLITS, bucket_of
from pyrite.bounded.large import OUT_OF_MEMORY, RowTooLarge, shown
from pyrite.bounded.space import PIECES_PER_BATCH, Space
from pyrite.bounded.spill import SpillReader, SpillWriter
from pyrite.resultiterable import ResultIterable

K = TypeVar("K")
V = TypeVar("V")

# A group is large if it has more than one in this many of all values held.
_LARGE_PART = 8

# After this many rows it is clear whether keys repeat. Where fewer than a tenth of the rows repeat
# a key, grouping before the shuffle costs more than it saves: with 1.0, 1.2, 3.6 and 18 rows per
# key it took 190 %, 180 %, 100 % and 75 % of the time without it, from the map to the reducer.
_TELLING_ROWS = 32_768
_FEW_PART = 10

# The values of a key: a ResultIterable, or a SpilledValues where they don't fit in memory.
Values = Collection[V]

# What a map task has for a key: one value, or a list of several as third field.
LocalGroup = tuple[K, V] | tuple[K, None, list[V]]


def group_locally(rows: Iterable[tuple[K, V]], space: Space) -> Iterator[LocalGroup[K, V]]:
    """Groups values by key; a key may occur again where it has many values, where memory runs out
    or where most keys occur once."""
    weighed = space.weighed(rows)
    groups: defaultdict[K, list[V]] = defaultdict(list)
    taken = 0
    few = sys.maxsize
    while some := weighed.take(space.stride_rows):
        for key, value in some:
            groups[key].append(value)
        few = min(few, space.piece_values(value))
        taken += len(some)
        if space.over():
            yield from _local_groups(popped(groups), few, space)
            space.relieved()
            taken = 0
        elif taken >= _TELLING_ROWS and (taken - len(groups)) * _FEW_PART < taken:
            break
    yield from _local_groups(groups.items(), few, space)
    groups.clear()
    for key, value in weighed.rows:
        yield key, value


def popped(table: dict[K, V]) -> Iterator[tuple[K, V]]:
    """Returns the items of a table, and frees each as it is returned."""
    while table:
        yield table.popitem()


def drained(rows: list[V]) -> Iterator[V]:
    """Returns the rows, and frees each as it is returned."""
    rows.reverse()
    while rows:
        yield rows.pop()


def _local_groups(
    groups: Iterable[tuple[K, list[V]]], few: int, space: Space
) -> Iterator[LocalGroup[K, V]]:
    """Returns the groups as rows: up to `few` values in one row, more in several."""
    for key, values in groups:
        if len(values) == 1:
            yield key, values[0]
        elif len(values) <= few:
            yield key, None, values
        else:
            size = min(space.piece_values(values[0]), space.piece_values(values[-1]))
            for piece in _pieces(values, size):
                yield (key, piece[0]) if len(piece) == 1 else (key, None, piece)


def _pieces(values: list[V], size: int) -> Iterator[list[V]]:
    """Splits the values into lists of this size, the last one shorter; no values make one empty
    list."""
    return (values[start : start + size] for start in range(0, max(1, len(values)), size))


def group_values(
    batches: Iterable[list[LocalGroup[K, V]]], space: Space
) -> Iterator[tuple[K, Values[V]]]:
    """Returns all values of each key, in the order in which keys were first seen unless rows
    spilled."""
    gathered: _Gathered[K, V] = _gather([batches], space, 0, _add_local_groups)
    if isinstance(gathered, _SpilledGroups):
        return ((key, values) for key, (values,) in gathered.read())
    return iter(gathered[0].items())


def cogroup(
    sides: Sequence[Iterable[list[tuple[K, V]]]], space: Space, held: int = 0
) -> Iterator[tuple[K, tuple[Values[V], ...]]]:
    """Returns all values of each key from each side, keys in the order first seen, side by side.

    The rows of the side `held` are in memory already, if any are: they are read first.
    """
    gathered = _gather(sides, space, 0, _add_values, held)
    if isinstance(gathered, _SpilledGroups):
        return gathered.read()
    if len(gathered) == 2:
        return _both(*gathered)
    keys = _all_keys(gathered)
    return zip(keys, zip(*_columns(gathered, keys), strict=True), strict=True)


class SpilledValues(Collection[V], Generic[V]):
    """The values of one large group: those in memory, then those in a spill file."""

    index = 0

    def __init__(
        self,
        first: Collection[V],
        reader: SpillReader,
        bucket: tuple[str, int, Any],
        count: int,
    ) -> None:
        self._first = first
        self._reader = reader
        self._bucket = bucket
        self._count = len(first) + count

    def __iter__(self) -> Iterator[V]:
        spilled = chain.from_iterable(self._reader.batches(self._bucket))
        return chain(self._first, spilled)

    def __len__(self) -> int:
        return self._count

    @property
    def data(self) -> "SpilledValues[V]":
        """The values themselves."""
        return self

    @property
    def maxindex(self) -> int:
        """The number of values."""
        return self._count

    def __contains__(self, value: object) -> bool:
        return any(each is value or each == value for each in self)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            return (ResultIterable, (list(self),))
        except OUT_OF_MEMORY:
            raise self._too_large() from None

    def _too_large(self) -> RowTooLarge:
        _, _, key = self._bucket
        return RowTooLarge(
            f"the group of key {shown(key)} has {self._count:,} values and is larger than memory: "
            "it can be iterated in the task that made it, but not be sent elsewhere or encoded. "
            "Reduce it there with mapValues, or spread it with flatMapValues; or raise "
            "spark.executor.memory"
        )


_Groups = defaultdict[K, ResultIterable[V]]
_Gathered = Union[list[_Groups[K, V]], "_SpilledGroups[K, V]"]


def _add_local_groups(held: _Groups[K, V], rows: Iterable[LocalGroup[K, V]]) -> None:
    for row in rows:
        if len(row) == 2:
            key, value = row
            if key in held:
                held[key].append(value)
            else:
                held[key] = ResultIterable((value,))
        else:
            key, _, values = row
            if key in held:
                held[key].extend(values)
            else:
                # A copy, since the list may be shared.
                held[key] = ResultIterable(values)


def _add_lists(held: _Groups[K, V], rows: Iterable[tuple[K, list[V]]]) -> None:
    for key, values in rows:
        if key in held:
            held[key].extend(values)
        else:
            # A copy, since the list may be shared.
            held[key] = ResultIterable(values)


def _add_values(held: _Groups[K, V], rows: Iterable[tuple[K, V]]) -> None:
    for key, value in rows:
        if key in held:
            held[key].append(value)
        else:
            held[key] = ResultIterable((value,))


def _gather(
    sides: Sequence[Iterable[list[Any]]],
    space: Space,
    split: int,
    add: Callable[[_Groups[K, V], Iterable[Any]], None] = _add_lists,
    first: int = 0,
) -> "_Gathered[K, V]":
    """Gathers the groups of each side, in memory if they fit there."""
    groups: list[_Groups[K, V]] = [defaultdict(ResultIterable) for _ in sides]
    spilled: _SpilledGroups[K, V] | None = None
    for side in sorted(range(len(sides)), key=lambda side: side != first):
        for batch in sides[side]:
            for some in space.pieces(batch):
                add(groups[side], some)
                if space.over_after(some):
                    spilled = spilled or _SpilledGroups(len(sides), space, split)
                    spilled.take(groups)
    if spilled is None:
        return groups
    spilled.take_rest(groups)
    return spilled


def _count(groups: list[_Groups[K, V]]) -> int:
    return sum(sum(map(len, held.values())) for held in groups)


def _both(
    left: _Groups[K, V], right: _Groups[K, V]
) -> Iterator[tuple[K, tuple[Values[V], Values[V]]]]:
    """Returns two sides' values of each key: the common case, without a table of all keys."""
    nothing: ResultIterable[V] = ResultIterable()
    take = right.pop
    for key, values in left.items():
        yield key, (values, take(key, nothing) or ResultIterable())
    for key, values in right.items():
        yield key, (ResultIterable(), values)


def _all_keys(groups: list[_Groups[K, V]]) -> dict[K, None]:
    return dict.fromkeys(chain.from_iterable(groups))


def _columns(groups: list[_Groups[K, V]], keys: dict[K, None]) -> list[Iterator[list[V]]]:
    """Returns each side's values of each key; a side without the key gets an empty list."""
    return [map(held.__getitem__, keys) for held in groups]


class _SpilledGroups(Generic[K, V]):
    """Groups of several sides that were moved to one spill file."""

    def __init__(self, sides: int, space: Space, split: int) -> None:
        self._sides = range(sides)
        self._space = space
        self._split = split
        self._writer = SpillWriter(space)
        # For each side, the large groups and the number of values in their own buckets.
        self._large: list[dict[K, int]] = [{} for _ in self._sides]

    def take(self, groups: list[_Groups[K, V]]) -> None:
        """Moves all groups to the file when memory runs out."""
        # At the last split, every group is iterated from the file.
        large_count = _count(groups) // _LARGE_PART if self._split < MOST_SPLITS else -1
        self._write(groups, large_count)

    def take_rest(self, groups: list[_Groups[K, V]]) -> None:
        """Moves the remaining groups to the file, however small."""
        self._write(groups, sys.maxsize)

    def read(self) -> Iterator[tuple[K, tuple[Collection[V], ...]]]:
        """Returns every key with its values from each side, bucket by bucket, then the large groups
        left."""
        reader = self._writer.finish()
        unread = dict.fromkeys(chain.from_iterable(self._large))
        for bucket in range(BUCKETS):
            sides = [reader.batches((side, bucket)) for side in self._sides]
            for key, values in self._read_bucket(sides):
                unread.pop(key, None)
                yield key, self._with_large(key, values, reader)
        for key in unread:
            yield key, self._with_large(key, tuple([] for _ in self._sides), reader)

    def _read_bucket(
        self, sides: list[Iterator[list[tuple[K, list[V]]]]]
    ) -> Iterator[tuple[K, tuple[Collection[V], ...]]]:
        self._space.given_on()
        gathered: _Gathered[K, V] = _gather(sides, self._space, self._split + 1)
        if isinstance(gathered, _SpilledGroups):
            return gathered.read()
        keys = _all_keys(gathered)
        return zip(keys, zip(*_columns(gathered, keys), strict=True), strict=True)

    def _write(self, groups: list[_Groups[K, V]], large_count: int) -> None:
        batch_values = self._space.batch_rows(_count(groups))
        for side, held in enumerate(groups):
            self._write_side(side, held, large_count, batch_values)
            held.clear()
        self._space.relieved()

    def _write_side(
        self, side: int, held: _Groups[K, V], large_count: int, batch_values: int
    ) -> None:
        large = self._large[side]
        piece_values = max(1, batch_values // PIECES_PER_BATCH)
        buckets = _Buckets(self._writer, side, batch_values)
        for key, values in held.items():
            if key in large or len(values) > large_count:
                self._writer.write_all(_own_bucket(side, key), values, batch_values)
                large[key] = large.get(key, 0) + len(values)
            else:
                bucket = bucket_of(key, self._split)
                # A slice is a plain list, which is encoded faster than its subclass.
                for piece in _pieces(values, piece_values):
                    buckets.add(bucket, key, piece)
        buckets.flush()

    def _with_large(
        self, key: K, values: tuple[Collection[V], ...], reader: SpillReader
    ) -> tuple[Collection[V], ...]:
        return tuple(
            SpilledValues(values[side], reader, _own_bucket(side, key), self._large[side][key])
            if key in self._large[side]
            else values[side]
            for side in self._sides
        )


def _own_bucket(side: int, key: Any) -> tuple[str, int, Any]:
    return ("group", side, key)


class _Buckets:
    """Groups of one side collected by bucket; a bucket is written when it has enough values."""

    def __init__(self, writer: SpillWriter, side: int, batch_values: int) -> None:
        self._writer = writer
        self._side = side
        self._batch_values = batch_values
        self._rows: list[list[tuple[Any, list[Any]]]] = [[] for _ in range(BUCKETS)]
        self._counts = [0] * BUCKETS

    def add(self, bucket: int, key: Any, values: list[Any]) -> None:
        self._rows[bucket].append((key, values))
        self._counts[bucket] += len(values)
        if self._counts[bucket] >= self._batch_values:
            self._flush(bucket)

    def flush(self) -> None:
        for bucket, rows in enumerate(self._rows):
            if rows:
                self._flush(bucket)

    def _flush(self, bucket: int) -> None:
        self._writer.write((self._side, bucket), self._rows[bucket])
        self._rows[bucket] = []
        self._counts[bucket] = 0
