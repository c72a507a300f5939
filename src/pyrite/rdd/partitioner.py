"""Which partition a row goes to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import repeat
from operator import sub
from typing import Any, Literal, NamedTuple

from pyrite.hashing import NATIVE, portable_hash
from pyrite.ids import RddId
from pyrite.place.predict import Sample
from pyrite.rdd.stops import stop_error

PartitionFunc = Callable[[Any], int]
# By what rows are sent: their keys' hash, ranges of keys, a user's function, or their place.
Routing = Literal["hash", "range", "custom", "place"]


class Partitioner:
    """Keys to partitions; two RDDs with equal partitioners are co-partitioned."""

    def __init__(self, numPartitions: int, partitionFunc: PartitionFunc) -> None:
        self.numPartitions = numPartitions
        self.partitionFunc = partitionFunc

    def __call__(self, key: Any) -> int:
        return self.partitionFunc(key) % self.numPartitions

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Partitioner)
            and self.numPartitions == other.numPartitions
            and self.partitionFunc == other.partitionFunc
        )

    def __hash__(self) -> int:
        return hash((self.numPartitions, self.partitionFunc))


class Sampled(NamedTuple):
    """How the partitions of an RDD fall to reducers, by a sample of their rows."""

    rdd: RddId
    samples: tuple[Sample, ...]


class RangeFunc:
    """Finds a key's range among sorted bounds; the last range first when descending."""

    def __init__(
        self,
        bounds: list[Any],
        keyfunc: Callable[[Any], Any] | None,
        ascending: bool,
        sampled: Sampled | None = None,
    ) -> None:
        self.bounds = bounds
        self.keyfunc = keyfunc
        self.ascending = ascending
        self.sampled = sampled

    def __getstate__(self) -> dict[str, Any]:
        # Only the driver predicts; executors are not sent what it knows.
        return {**vars(self), "sampled": None}

    def __call__(self, key: Any) -> int:
        position = bisect_left(self.bounds, key if self.keyfunc is None else self.keyfunc(key))
        return position if self.ascending else len(self.bounds) - position


class Router:
    """Deals the rows of a map task out to the reducers' buckets."""

    kind: Routing

    @property
    def by_place(self) -> bool:
        """Whether a row's bucket depends on its place among the others."""
        return self.kind == "place"

    def samples(self, rdd: RddId, parts: int) -> tuple[Sample, ...] | None:
        """How the partitions of this RDD fall to so many parts, if that was sampled."""
        return None

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        raise NotImplementedError

    def start(self, index: int) -> None:
        """Called once at the start of the map task for partition `index`."""


class ToOne(Router):
    """All rows go to the only reducer there is."""

    kind = "place"

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        buckets[0] += rows


class ByKey(Router):
    """Sends (key, value) rows where the partitioner says."""

    def __init__(self, partitioner: Partitioner, sampled: Sampled | None = None) -> None:
        self.partitioner = partitioner
        self.kind = kind_of(partitioner.partitionFunc)
        self.sampled = sampled

    def __getstate__(self) -> dict[str, Any]:
        # Only the driver predicts; executors are not sent what it knows.
        return {**vars(self), "sampled": None}

    def samples(self, rdd: RddId, parts: int) -> tuple[Sample, ...] | None:
        func = self.partitioner.partitionFunc
        if type(func) is RangeFunc:
            return samples_of(func, rdd, parts)
        return None if self.sampled is None else self.sampled.samples

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        func = self.partitioner.partitionFunc
        if func is portable_hash:
            deal_by_hash(rows, buckets)
            return
        count = len(buckets)
        if type(func) is RangeFunc and func.keyfunc is None:
            deal_by_range(rows, buckets, func)
            return
        for row in rows:
            buckets[func(row[0]) % count].append(row)


def kind_of(func: PartitionFunc) -> Routing:
    if func is portable_hash:
        return "hash"
    return "range" if type(func) is RangeFunc else "custom"


def deal_by_hash(rows: list[Any], buckets: list[list[Any]]) -> None:
    """Deals by `portable_hash`, which for the plain types is `hash` in an executor."""
    count = len(buckets)
    if not NATIVE:
        for row in rows:
            buckets[portable_hash(row[0]) % count].append(row)
        return
    for row in rows:
        key = row[0]
        kind = type(key)
        if kind is str or kind is int:
            buckets[hash(key) % count].append(row)
        else:
            buckets[portable_hash(key) % count].append(row)


def deal_by_range(rows: list[Any], buckets: list[list[Any]], func: RangeFunc) -> None:
    bounds = func.bounds
    if func.ascending:
        for row in rows:
            buckets[bisect_left(bounds, row[0])].append(row)
    else:
        last = len(bounds)
        for row in rows:
            buckets[last - bisect_left(bounds, row[0])].append(row)


class ByRange(Router):
    """Sends rows of any kind to the range that the function makes of them."""

    kind = "range"

    def __init__(self, ranges: RangeFunc) -> None:
        self.ranges = ranges

    def samples(self, rdd: RddId, parts: int) -> tuple[Sample, ...] | None:
        return samples_of(self.ranges, rdd, parts)

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        ranges = self.ranges
        keys = rows if ranges.keyfunc is None else map(ranges.keyfunc, rows)
        places: Iterator[int] = map(bisect_left, repeat(ranges.bounds), keys)
        if not ranges.ascending:
            places = map(sub, repeat(len(ranges.bounds)), places)
        dealt = 0
        for row, place in zip(rows, places):  # noqa: B905 - a StopIteration is told from the end
            buckets[place].append(row)
            dealt += 1
        if dealt < len(rows):
            raise stop_error()


class Spread(Router):
    """Deals rows round robin, whatever they are: repartition."""

    kind = "place"

    def __init__(self) -> None:
        self.position = 0

    def start(self, index: int) -> None:
        # Tasks begin at different buckets, so that small partitions don't all fill the first.
        self.position = index * 7919

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        count = len(buckets)
        first = self.position % count
        for bucket in range(count):
            buckets[(first + bucket) % count].extend(rows[bucket::count])
        self.position += len(rows)


def range_bounds(sample: list[Any], partitions: int) -> list[Any]:
    """The keys that cut a sorted sample into equal parts."""
    return [sample[len(sample) * (i + 1) // partitions] for i in range(partitions - 1)]


def samples_of(ranges: RangeFunc, rdd: RddId, parts: int) -> tuple[Sample, ...] | None:
    """What is known of the RDD if the ranges were cut for it, and not for another one."""
    sampled = ranges.sampled
    if sampled is None or sampled.rdd != rdd or len(ranges.bounds) + 1 != parts:
        return None
    return sampled.samples
