"""Operators on an RDD as a bag of rows, most of them beside another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyrite.bounded.aggregate import Aggregator
from pyrite.rdd.base import require_context, require_rdds
from pyrite.rdd.dependency import Columns, NarrowDependency, Rows, UnionSlice
from pyrite.rdd.functions import Constant, first_of, identity
from pyrite.rdd.layout import Layout
from pyrite.rdd.narrow import Cartesian, Concat, DistinctLocally, Union, Zip
from pyrite.rdd.pairs import copy_of, place_by_key
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.wide import Combined

if TYPE_CHECKING:
    from pyrite.context import SparkContext
    from pyrite.rdd import RDD

T = TypeVar("T")
U = TypeVar("U")

FIRST: Aggregator[Any, Any] = Aggregator(identity, first_of, first_of)


class Sets(Layout[T]):
    """Unions, differences and products."""

    def union(self, other: RDD[U]) -> RDD[T | U]:
        """The rows of both; where both have the same partitioner, partition by partition.

        >>> rdd = sc.parallelize([1, 1, 2, 3])
        >>> rdd.union(rdd).collect()
        [1, 1, 2, 3, 1, 1, 2, 3]
        """
        return unite(self.ctx, [self._me(), other])

    def __add__(self, other: RDD[U]) -> RDD[T | U]:
        """As `union`.

        >>> (sc.parallelize([1, 2]) + sc.parallelize([3])).collect()
        [1, 2, 3]
        """
        return self.union(other)

    def distinct(self, numPartitions: int | None = None) -> RDD[T]:
        """Each different row once.

        >>> sorted(sc.parallelize([1, 1, 2, 3]).distinct().collect())
        [1, 2, 3]
        """
        partitioner = self._partitioner(numPartitions)
        dependency = place_by_key(self._derive(DistinctLocally()), partitioner)
        return self._derive(Combined(FIRST), (dependency,), partitioner).keys()

    def intersection(self, other: RDD[T]) -> RDD[T]:
        """Each row that both have, once.

        >>> left = sc.parallelize([1, 10, 2, 3, 4, 5])
        >>> sorted(left.intersection(sc.parallelize([1, 6, 2, 3, 7, 8])).collect())
        [1, 2, 3]
        """
        require_rdds(other)
        require_context(self.ctx, [self, other])
        groups = self._records("map", Constant(None)).cogroup(other.map(Constant(None)))
        return groups.filter(in_both).keys()

    def subtract(self, other: RDD[T], numPartitions: int | None = None) -> RDD[T]:
        """The rows that the other does not have.

        >>> left = sc.parallelize([("a", 1), ("b", 4), ("b", 5), ("a", 3)])
        >>> sorted(left.subtract(sc.parallelize([("a", 3), ("c", None)])).collect())
        [('a', 1), ('b', 4), ('b', 5)]
        """
        require_rdds(other)
        require_context(self.ctx, [self, other])
        marked = self._records("map", Constant(True))
        return marked.subtractByKey(other.map(Constant(True)), numPartitions).keys()

    def cartesian(self, other: RDD[U]) -> RDD[tuple[T, U]]:
        """Every row with every row of the other.

        >>> rdd = sc.parallelize([1, 2])
        >>> sorted(rdd.cartesian(rdd).collect())
        [(1, 1), (1, 2), (2, 1), (2, 2)]
        """
        require_rdds(other)
        width = other.getNumPartitions()
        return self._derive(
            Cartesian(self.getNumPartitions() * width),
            (
                NarrowDependency(self, Rows(width), self._freeze()),
                NarrowDependency(other, Columns(width), other._freeze()),
            ),
        )

    def zip(self, other: RDD[U]) -> RDD[tuple[T, U]]:
        """Pairs of the rows at the same place; both need equal numbers in each partition.

        >>> sc.parallelize(range(5)).zip(sc.parallelize(range(1000, 1005))).collect()
        [(0, 1000), (1, 1001), (2, 1002), (3, 1003), (4, 1004)]
        """
        require_rdds(other)
        if self.getNumPartitions() != other.getNumPartitions():
            raise ValueError(
                "Can only zip with RDD which has the same number of partitions: "
                f"{self.getNumPartitions()} here, {other.getNumPartitions()} there"
            )
        if self.op.pipelined or other.op.pipelined:
            # PySpark pickles both sides anew, in batches of the same size.
            self.ctx._skip_rdd_ids(2)
        return self._derive(Zip(), (copy_of(self._me()), copy_of(other)))


def in_both(group: tuple[Any, tuple[Any, Any]]) -> bool:
    left, right = group[1]
    return bool(left) and bool(right)


def unite(ctx: SparkContext, rdds: Sequence[RDD[Any]]) -> RDD[Any]:
    """The union of any number of RDDs, at least one."""
    require_rdds(*rdds)
    # Those without partitions too, which the union does not depend on.
    require_context(ctx, rdds)
    if any(rdd.op.pipelined for rdd in rdds):
        # PySpark pickles the other ones anew, as pipelines pickle their rows.
        ctx._skip_rdd_ids(sum(not rdd.op.pipelined for rdd in rdds))
    full = [rdd for rdd in rdds if rdd.getNumPartitions()]
    shared = common_partitioner(full)
    if shared is not None:
        # An RDD without partitions brings no rows, but its keys were never placed.
        kept = shared if len(full) == len(rdds) else None
        return rdds[0]._derive(
            Concat(full[0].getNumPartitions()),
            [NarrowDependency(rdd, frozen=rdd._freeze()) for rdd in full],
            kept,
        )
    lengths = [rdd.getNumPartitions() for rdd in full]
    dependencies = []
    start = 0
    for rdd, length in zip(full, lengths, strict=True):
        dependencies.append(NarrowDependency(rdd, UnionSlice(start, length), rdd._freeze()))
        start += length
    return rdds[0]._derive(Union(lengths), dependencies)


def common_partitioner(rdds: Sequence[RDD[Any]]) -> Partitioner | None:
    """The partitioner that all of them have, or None."""
    if not rdds:
        return None
    first = rdds[0].partitioner
    if first is None or not all(first.places_like(rdd.partitioner) for rdd in rdds):
        return None
    return first
