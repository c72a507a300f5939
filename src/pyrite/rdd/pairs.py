"""Operators on (key, value) rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from pyrite.bounded.aggregate import Aggregator
from pyrite.hashing import portable_hash
from pyrite.rdd.arguments import require_functions
from pyrite.rdd.dependency import Dependency, NarrowDependency
from pyrite.rdd.functions import FromZero, Zero, identity
from pyrite.rdd.layout import SHUFFLE_IDS, Layout
from pyrite.rdd.narrow import CombineLocally, GroupLocally
from pyrite.rdd.partitioner import ByKey, Partitioner
from pyrite.rdd.sampling import StratifiedSampler
from pyrite.rdd.wide import Combined, Grouped

if TYPE_CHECKING:
    from pyrite.rdd import RDD
    from pyrite.resultiterable import ResultIterable

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
U = TypeVar("U")

PartitionFunc = Callable[[Any], int]


class Pairs(Layout[T]):
    """Keys, values, and what is made of all values of a key."""

    def keys(self: Pairs[tuple[K, V]]) -> RDD[K]:
        """The first part of each pair.

        >>> sc.parallelize([(1, 2), (3, 4)]).keys().collect()
        [1, 3]
        """
        return self._records("keys")

    def values(self: Pairs[tuple[K, V]]) -> RDD[V]:
        """The second part of each pair.

        >>> sc.parallelize([(1, 2), (3, 4)]).values().collect()
        [2, 4]
        """
        return self._records("values")

    def mapValues(self: Pairs[tuple[K, V]], f: Callable[[V], U]) -> RDD[tuple[K, U]]:
        """The function's result for each value, with the key; the partitioner stays.

        >>> rdd = sc.parallelize([("a", ["apple", "banana"]), ("b", ["grapes"])])
        >>> rdd.mapValues(len).collect()
        [('a', 2), ('b', 1)]
        """
        return self._records("mapValues", f, keep=True)

    def flatMapValues(self: Pairs[tuple[K, V]], f: Callable[[V], Iterable[U]]) -> RDD[tuple[K, U]]:
        """All that the function yields for each value, with the key; the partitioner stays.

        >>> rdd = sc.parallelize([("a", ["x", "y"]), ("b", ["p"])])
        >>> rdd.flatMapValues(lambda value: value).collect()
        [('a', 'x'), ('a', 'y'), ('b', 'p')]
        """
        return self._records("flatMapValues", f, keep=True)

    def combineByKey(
        self: Pairs[tuple[K, V]],
        createCombiner: Callable[[V], U],
        mergeValue: Callable[[U, V], U],
        mergeCombiners: Callable[[U, U], U],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, U]]:
        """One combiner per key, made of its values.

        >>> rdd = sc.parallelize([("a", 1), ("b", 1), ("a", 2)])
        >>> lists = rdd.combineByKey(lambda v: [v], lambda c, v: [*c, v], lambda c, d: c + d)
        >>> sorted(lists.collect())
        [('a', [1, 2]), ('b', [1])]
        """
        require_functions(createCombiner, mergeValue, mergeCombiners)
        aggregator = Aggregator(createCombiner, mergeValue, mergeCombiners)
        partitioner = self._partitioner(numPartitions, partitionFunc)
        local = self._derive(CombineLocally(aggregator), partitioner=self.partitioner)
        if partitioner.places_like(self.partitioner):
            return local
        return self._derive(Combined(aggregator), (place_by_key(local, partitioner),), partitioner)

    def reduceByKey(
        self: Pairs[tuple[K, V]],
        func: Callable[[V, V], V],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, V]]:
        """One value per key, reduced from its values.

        >>> from operator import add
        >>> sorted(sc.parallelize([("a", 1), ("b", 1), ("a", 1)]).reduceByKey(add).collect())
        [('a', 2), ('b', 1)]
        """
        return self.combineByKey(identity, func, func, numPartitions, partitionFunc)

    def foldByKey(
        self: Pairs[tuple[K, V]],
        zeroValue: V,
        func: Callable[[V, V], V],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, V]]:
        """One value per key, folded from a copy of the zero and its values.

        >>> from operator import add
        >>> sorted(sc.parallelize([("a", 1), ("b", 1), ("a", 1)]).foldByKey(0, add).collect())
        [('a', 2), ('b', 1)]
        """
        create = FromZero(Zero(zeroValue), func)
        return self.combineByKey(create, func, func, numPartitions, partitionFunc)

    def aggregateByKey(
        self: Pairs[tuple[K, V]],
        zeroValue: U,
        seqFunc: Callable[[U, V], U],
        combFunc: Callable[[U, U], U],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, U]]:
        """One aggregate per key, from a copy of the zero and its values.

        >>> rdd = sc.parallelize([("a", 1), ("b", 1), ("a", 2)])
        >>> def add(total, value): return (total[0] + value, total[1] + 1)
        >>> def merge(one, two): return (one[0] + two[0], one[1] + two[1])
        >>> sorted(rdd.aggregateByKey((0, 0), add, merge).collect())
        [('a', (3, 2)), ('b', (1, 1))]
        """
        create = FromZero(Zero(zeroValue), seqFunc)
        return self.combineByKey(create, seqFunc, combFunc, numPartitions, partitionFunc)

    def groupByKey(
        self: Pairs[tuple[K, V]],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, ResultIterable[V]]]:
        """The values of each key; a group may be larger than memory and can still be iterated.

        >>> rdd = sc.parallelize([("a", 1), ("b", 1), ("a", 1)])
        >>> sorted(rdd.groupByKey().mapValues(list).collect())
        [('a', [1, 1]), ('b', [1])]
        """
        partitioner = self._partitioner(numPartitions, partitionFunc)
        local = self._derive(GroupLocally(), partitioner=self.partitioner)
        return self._derive(Grouped(), (place_by_key(local, partitioner),), partitioner)

    def groupBy(
        self,
        f: Callable[[T], K],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, ResultIterable[T]]]:
        """The rows for which the function gives the same.

        >>> groups = sc.parallelize([1, 1, 2, 3, 5, 8]).groupBy(lambda x: x % 2).collect()
        >>> sorted((key, sorted(values)) for key, values in groups)
        [(0, [2, 8]), (1, [1, 1, 3, 5])]
        """
        return self._records("keyBy", f).groupByKey(numPartitions, partitionFunc)

    def sampleByKey(
        self: Pairs[tuple[K, V]],
        withReplacement: bool,
        fractions: dict[K, float],
        seed: int | None = None,
    ) -> RDD[tuple[K, V]]:
        """About the fraction given for its key of each key's rows.

        >>> rdd = sc.parallelize(["a", "b"]).cartesian(sc.parallelize(range(1000)))
        >>> counts = rdd.sampleByKey(False, {"a": 0.2, "b": 0.1}, 2).countByKey()
        >>> 100 < counts["a"] < 300, 50 < counts["b"] < 150
        (True, True)
        """
        for key, fraction in fractions.items():
            assert fraction >= 0.0, f"Negative fraction value: {fraction} for key {key!r}"
        sampler = StratifiedSampler(withReplacement, fractions, seed)
        return self._partitions(sampler, "sampleByKey", keep=True)


def place_by_key(rdd: RDD[Any], partitioner: Partitioner) -> Dependency:
    """A dependency on the rows in the partitioner's order: narrow where they lie so already."""
    if partitioner.places_like(rdd.partitioner):
        return rdd._one_to_one()
    rdd.ctx._skip_rdd_ids(SHUFFLE_IDS)
    router = ByKey(partitioner, is_combined=True)
    return rdd.ctx._new_shuffle(rdd, router, partitioner.numPartitions)


def shuffle_by_key(rdd: RDD[Any], partitioner: Partitioner) -> Dependency:
    return rdd.ctx._new_shuffle(rdd, ByKey(partitioner), partitioner.numPartitions)


def copy_of(rdd: RDD[Any]) -> NarrowDependency:
    """A dependency on the RDD as it is now, which leaves the RDD itself as it is."""
    return NarrowDependency(rdd, frozen=rdd.ctx._freeze_copy(rdd))
