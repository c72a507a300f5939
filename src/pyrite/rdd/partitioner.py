"""Which partition a row goes to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import repeat
from operator import sub
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import ReferenceType

from pyrite.hashing import NATIVE, portable_hash
from pyrite.machine.chain import IS_BUILT
from pyrite.place.predict import Sample
from pyrite.rdd.stops import stop_error

if TYPE_CHECKING:
    from pyrite.rdd.base import Lineage

PartitionFunc = Callable[[Any], int]
# By what rows are sent: their keys' hash, ranges of keys, a user's function, or their place.
Routing = Literal["hash", "range", "custom", "place"]


class Partitioner:
    """Keys to partitions; two RDDs with equal partitioners are co-partitioned."""

    # In how many groups its partitions start, where they are grouped.
    groups: int | None = None

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
            and self.groups == other.groups
        )

    def __hash__(self) -> int:
        return hash((self.numPartitions, self.partitionFunc))

    def places_like(self, other: Partitioner | None) -> bool:
        """Whether both send each key to the same partition; they may group partitions otherwise."""
        return (
            other is not None
            and self.numPartitions == other.numPartitions
            and self.partitionFunc == other.partitionFunc
        )


class Sampled(NamedTuple):
    """How the partitions of an RDD fall to reducers, by a sample of their rows."""

    rdd: ReferenceType[Lineage[Any]]
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
    def packs(self) -> bool:
        """Whether rows are worth packing before they are sent."""
        return False

    @property
    def by_place(self) -> bool:
        """Whether a row's bucket depends on its place among the others."""
        return self.kind == "place"

    def samples(self, rdd: Lineage[Any], parts: int) -> tuple[Sample, ...] | None:
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
    """Sends (key, value) rows where the partitioner says; `is_combined` says that they were
    combined or grouped before."""

    def __init__(
        self, partitioner: Partitioner, sampled: Sampled | None = None, is_combined: bool = False
    ) -> None:
        self.partitioner = partitioner
        self.is_combined = is_combined
        self.kind = kind_of(partitioner.partitionFunc)
        self.sampled = sampled

    def __getstate__(self) -> dict[str, Any]:
        # Only the driver predicts; executors are not sent what it knows.
        return {**vars(self), "sampled": None}

    @property
    def packs(self) -> bool:
        return self.kind == "hash" and not self.is_combined

    def samples(self, rdd: Lineage[Any], parts: int) -> tuple[Sample, ...] | None:
        func = self.partitioner.partitionFunc
        if isinstance(func, RangeFunc):
            return samples_of(func, rdd, parts)
        return None if self.sampled is None else self.sampled.samples

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        func = self.partitioner.partitionFunc
        if func is portable_hash:
            deal_by_hash(rows, buckets)
            return
        count = len(buckets)
        if isinstance(func, RangeFunc) and func.keyfunc is None:
            deal_by_keys(rows, [row[0] for row in rows], buckets, func)
            return
        for row in rows:
            buckets[func(row[0]) % count].append(row)


def kind_of(func: PartitionFunc) -> Routing:
    if func is portable_hash:
        return "hash"
    return "range" if isinstance(func, RangeFunc) else "custom"


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


def deal_by_keys(
    rows: list[Any], keys: list[Any], buckets: list[list[Any]], func: RangeFunc
) -> None:
    """Deals rows to the ranges of their keys, by C code where these are plain."""
    if IS_BUILT:
        from pyrite.machine._rows import deal_ranges

        if deal_ranges(rows, keys, func.bounds, func.ascending, buckets):
            return
    places: Iterator[int] = map(bisect_left, repeat(func.bounds), keys)
    if not func.ascending:
        places = map(sub, repeat(len(func.bounds)), places)
    dealt = 0
    for row, place in zip(rows, places):  # noqa: B905 - a StopIteration is told from the end
        buckets[place].append(row)
        dealt += 1
    if dealt < len(rows):
        raise stop_error()


def keys_of(rows: list[Any], func: RangeFunc) -> list[Any]:
    """The keys of rows; where the function raises for one, or an earlier key can't be compared,
    whichever comes first."""
    keys: list[Any] = []
    raised: BaseException | None = None
    try:
        keys.extend(map(func.keyfunc, rows))  # type: ignore[arg-type]
    except BaseException as error:
        raised = error
    if len(keys) < len(rows):
        for key in keys:
            bisect_left(func.bounds, key)
        raise raised or stop_error()
    return keys


class ByRange(Router):
    """Sends rows of any kind to the range that the function makes of them."""

    kind = "range"

    def __init__(self, ranges: RangeFunc) -> None:
        self.ranges = ranges

    def samples(self, rdd: Lineage[Any], parts: int) -> tuple[Sample, ...] | None:
        return samples_of(self.ranges, rdd, parts)

    def deal(self, rows: list[Any], buckets: list[list[Any]]) -> None:
        ranges = self.ranges
        keys = rows if ranges.keyfunc is None else keys_of(rows, ranges)
        deal_by_keys(rows, keys, buckets, ranges)


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


def samples_of(ranges: RangeFunc, rdd: Lineage[Any], parts: int) -> tuple[Sample, ...] | None:
    """What is known of the RDD if the ranges were cut for it, and not for another one."""
    sampled = ranges.sampled
    if sampled is None or sampled.rdd() is not rdd or len(ranges.bounds) + 1 != parts:
        return None
    return sampled.samples
