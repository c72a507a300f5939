"""Operators that bring the values of equal keys of several RDDs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyrite.bounded.join import (
    Join,
    full_outer_join,
    join,
    left_outer_join,
    right_outer_join,
    subtract_by_key,
)
from pyrite.hashing import portable_hash
from pyrite.rdd.base import require_rdds
from pyrite.rdd.dependency import Dependency
from pyrite.rdd.layout import SHUFFLE_IDS, require_partitions
from pyrite.rdd.pairs import Pairs, copy_of, shuffle_by_key
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.wide import CoGrouped, Joined

if TYPE_CHECKING:
    from pyrite.rdd import RDD
    from pyrite.resultiterable import ResultIterable

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
U = TypeVar("U")


class Joins(Pairs[T]):
    """Cogroups and joins; narrow for the sides that are already partitioned alike."""

    def cogroup(
        self: Joins[tuple[K, V]], other: RDD[tuple[K, U]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[ResultIterable[V], ResultIterable[U]]]]:
        """For each key of either, the values it has in each.

        >>> x = sc.parallelize([("a", 1), ("b", 4)])
        >>> y = sc.parallelize([("a", 2)])
        >>> [(k, [list(each) for each in sides]) for k, sides in sorted(x.cogroup(y).collect())]
        [('a', [[1], [2]]), ('b', [[4], []])]
        """
        return self._cogroup([self._me(), other], numPartitions)

    def groupWith(
        self: Joins[tuple[K, Any]], other: RDD[tuple[K, Any]], *others: RDD[tuple[K, Any]]
    ) -> RDD[tuple[K, tuple[ResultIterable[Any], ...]]]:
        """As `cogroup`, of any number of RDDs.

        >>> x, y, z = (sc.parallelize([("a", n)]) for n in (1, 2, 3))
        >>> [(k, [list(each) for each in sides]) for k, sides in x.groupWith(y, z).collect()]
        [('a', [[1], [2], [3]])]
        """
        return self._cogroup([self._me(), other, *others], None)

    def join(
        self: Joins[tuple[K, V]], other: RDD[tuple[K, U]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V, U]]]:
        """Each pair of values that have the same key here and there.

        >>> x = sc.parallelize([("a", 1), ("b", 4)])
        >>> sorted(x.join(sc.parallelize([("a", 2), ("a", 3)])).collect())
        [('a', (1, 2)), ('a', (1, 3))]
        """
        return self._join(other, numPartitions, "join", join)

    def leftOuterJoin(
        self: Joins[tuple[K, V]], other: RDD[tuple[K, U]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V, U | None]]]:
        """As `join`, and each value here whose key is not there, with None.

        >>> x = sc.parallelize([("a", 1), ("b", 4)])
        >>> sorted(x.leftOuterJoin(sc.parallelize([("a", 2)])).collect())
        [('a', (1, 2)), ('b', (4, None))]
        """
        return self._join(other, numPartitions, "leftOuterJoin", left_outer_join)

    def rightOuterJoin(
        self: Joins[tuple[K, V]], other: RDD[tuple[K, U]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V | None, U]]]:
        """As `join`, and each value there whose key is not here, with None.

        >>> x = sc.parallelize([("a", 1), ("b", 4)])
        >>> sorted(sc.parallelize([("a", 2)]).rightOuterJoin(x).collect())
        [('a', (2, 1)), ('b', (None, 4))]
        """
        return self._join(other, numPartitions, "rightOuterJoin", right_outer_join)

    def fullOuterJoin(
        self: Joins[tuple[K, V]], other: RDD[tuple[K, U]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V | None, U | None]]]:
        """As `join`, and each value whose key is on one side only, with None.

        >>> x = sc.parallelize([("a", 1), ("b", 4)])
        >>> sorted(x.fullOuterJoin(sc.parallelize([("a", 2), ("c", 8)])).collect())
        [('a', (1, 2)), ('b', (4, None)), ('c', (None, 8))]
        """
        return self._join(other, numPartitions, "fullOuterJoin", full_outer_join)

    def subtractByKey(
        self: Joins[tuple[K, V]], other: RDD[tuple[K, Any]], numPartitions: int | None = None
    ) -> RDD[tuple[K, V]]:
        """The pairs whose key the other does not have.

        >>> x = sc.parallelize([("a", 1), ("b", 4), ("b", 5), ("a", 2)])
        >>> sorted(x.subtractByKey(sc.parallelize([("a", 3), ("c", None)])).collect())
        [('b', 4), ('b', 5)]
        """
        return self._join(other, numPartitions, "subtractByKey", subtract_by_key)

    def _join(self, other: RDD[Any], numPartitions: int | None, name: str, how: Join) -> RDD[Any]:
        partitioner, sides = place_alike([self._me(), other], numPartitions)
        return self._derive(Joined(partitioner.numPartitions, name, how), sides, partitioner)

    def _cogroup(self, rdds: list[RDD[Any]], numPartitions: int | None) -> RDD[Any]:
        partitioner, sides = place_alike(rdds, numPartitions)
        return self._derive(CoGrouped(partitioner.numPartitions), sides, partitioner)


def place_alike(
    rdds: list[RDD[Any]], numPartitions: int | None
) -> tuple[Partitioner, list[Dependency]]:
    """Dependencies on all RDDs as one partitioner has it; narrow on those that lie so already."""
    require_rdds(*rdds)
    if numPartitions is not None:
        require_partitions(numPartitions)
    partitioner = partitioner_of_members(rdds, numPartitions)
    if partitioner is None:
        count = default_partitions(rdds) if numPartitions is None else numPartitions
        partitioner = Partitioner(count, portable_hash)
    placed = [partitioner.places_like(each.partitioner) for each in rdds]
    # PySpark numbers the sides, unites one after another, and groups that by key.
    rdds[0].ctx._skip_rdd_ids(2 * len(rdds) - 1 + (0 if all(placed) else SHUFFLE_IDS))
    return partitioner, [
        copy_of(each) if there else shuffle_by_key(each, partitioner)
        for each, there in zip(rdds, placed, strict=True)
    ]


def partitioner_of_members(
    sides: Sequence[RDD[Any]], numPartitions: int | None
) -> Partitioner | None:
    """The partitioner of the first side that belongs to a namespace and lies by its keys, unless
    another number of partitions is asked for."""
    for side in sides:
        namespace = side._namespace
        if namespace is not None and namespace.partitioner.places_like(side.partitioner):
            found = namespace.partitioner
            return found if numPartitions in (None, found.numPartitions) else None
    return None


def default_partitions(sides: Sequence[RDD[Any]]) -> int:
    """As many partitions as PySpark's union of the sides has: alike ones count once."""
    ctx = sides[0].ctx
    if ctx._conf.contains("spark.default.parallelism"):
        return ctx.defaultParallelism
    total = 0
    shared: Partitioner | None = None
    for side in sides:
        count = side.getNumPartitions()
        if count == 0 or (shared is not None and shared.places_like(side.partitioner)):
            continue
        shared = side.partitioner if total == 0 else None
        total += count
    return total
