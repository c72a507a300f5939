"""Operators that change which partition a row lies in, and how many there are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from pyrite.hashing import portable_hash
from pyrite.rdd.arguments import described, require_functions, require_text
from pyrite.rdd.base import Lineage
from pyrite.rdd.dependency import Groups, NarrowDependency
from pyrite.rdd.narrow import Concat
from pyrite.rdd.partitioner import ByKey, Partitioner, Sampled, Spread, kind_of
from pyrite.rdd.reservoir import sample_parts
from pyrite.rdd.sources import slice_bounds
from pyrite.rdd.wide import Shuffled

if TYPE_CHECKING:
    from pyrite.rdd import RDD
    from pyrite.rdd.frozen import Frozen

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

# The RDDs of a shuffle by key in PySpark: of rows with their reducers' numbers, as pairs, shuffled,
# and without the numbers.
SHUFFLE_IDS = 4


class Layout(Lineage[T]):
    """Partitions merged, spread and dealt by key."""

    def repartition(self, numPartitions: int) -> RDD[T]:
        """The rows spread evenly over this many partitions, through a shuffle.

        >>> sc.parallelize([1, 2, 3, 4, 5, 6, 7], 4).repartition(2).getNumPartitions()
        2
        """
        return self.coalesce(numPartitions, shuffle=True)

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> RDD[T]:
        """Neighbouring partitions merged into at most this many; exactly so many with a shuffle.

        >>> sc.parallelize([1, 2, 3, 4, 5], 3).coalesce(1).glom().collect()
        [[1, 2, 3, 4, 5]]
        """
        require_partitions(numPartitions)
        if shuffle:
            # Of rows in small batches, dealt, shuffled and coalesced.
            self.ctx._skip_rdd_ids(4)
            dependency = self.ctx._new_shuffle(self._me(), Spread(), numPartitions)
            return self._derive(Shuffled(numPartitions), (dependency,))
        return self._merged(numPartitions, self._freeze())

    def _merged(self, most: int, frozen: Frozen) -> RDD[T]:
        """Neighbouring partitions of the RDD merged, as it was when it was frozen."""
        before = self.getNumPartitions()
        count = min(most, before)
        bounds = [0, *(slice_bounds(before, count, index)[1] for index in range(count))]
        return self._derive(Concat(count), (NarrowDependency(self, Groups(bounds), frozen),))

    def partitionBy(
        self: Layout[tuple[K, V]],
        numPartitions: int | None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, V]]:
        """The rows in the partitions that their keys belong to; the RDD itself if they are.

        >>> pairs = sc.parallelize([1, 2, 3, 4, 2, 4, 1]).map(lambda x: (x, x))
        >>> sets = pairs.partitionBy(2).glom().collect()
        >>> len(set(sets[0]) & set(sets[1]))
        0
        """
        partitioner = self._partitioner(numPartitions, partitionFunc)
        if partitioner.places_like(self.partitioner):
            return self._me()
        router = ByKey(partitioner, self._sample_parts(partitioner))
        self.ctx._skip_rdd_ids(SHUFFLE_IDS - 1)
        dependency = self.ctx._new_shuffle(self._me(), router, partitioner.numPartitions)
        return self._derive(Shuffled(partitioner.numPartitions), (dependency,), partitioner)

    def localityPartitionBy(
        self: Layout[tuple[K, V]], partitioner: Partitioner, namespace: str
    ) -> RDD[tuple[K, V]]:
        """The rows in the partitions of their keys, kept beside those of the namespace's RDDs.

        The first use of a namespace decides its partitioner.

        >>> from pyrite import HashPartitioner
        >>> pairs = sc.parallelize([1, 2, 3, 4]).map(lambda x: (x, x))
        >>> pairs.localityPartitionBy(HashPartitioner(2), "doctest").getNumPartitions()
        2
        >>> sc.dropNamespace("doctest")
        """
        if not isinstance(partitioner, Partitioner):
            raise TypeError(
                "localityPartitionBy needs a partitioner, such as HashPartitioner(8), "
                f"not {described(partitioner)}"
            )
        require_text("namespace", namespace)
        joined = self.ctx._use_namespace(namespace, partitioner)
        if self._namespace is joined and joined.partitioner.places_like(self.partitioner):
            return self._me()
        if partitioner.places_like(self.partitioner):
            there = NarrowDependency(self, frozen=self._freeze())
            member = self._derive(Concat(partitioner.numPartitions), (there,), partitioner)
        else:
            router = ByKey(partitioner, self._sample_parts(partitioner))
            dependency = self.ctx._new_shuffle(self._me(), router, partitioner.numPartitions)
            member = self._derive(Shuffled(partitioner.numPartitions), (dependency,), partitioner)
        member._joined = joined
        return member

    def _sample_parts(self, partitioner: Partitioner) -> Sampled | None:
        """How the rows fall to the partitions of a function whose results nobody can foresee, if
        somebody wants to know it at the price of computing them once more."""
        wanted = self.ctx._settings.int("pyrite.shuffle.samples")
        if not wanted or kind_of(partitioner.partitionFunc) != "custom":
            return None
        draw = partial(sample_parts, wanted * partitioner.numPartitions, partitioner)
        samples = self.ctx._run(self._me(), draw, unseen=0)
        if any(sample is None for sample in samples):
            return None
        return Sampled(ref(self), tuple(sample for sample in samples if sample is not None))

    def _partitioner(
        self, numPartitions: int | None, partitionFunc: Callable[[Any], int] = portable_hash
    ) -> Partitioner:
        """The partitioner asked for, with PySpark's default for the number of partitions."""
        require_functions(partitionFunc)
        if numPartitions is None:
            return Partitioner(self._default_partitions(), partitionFunc)
        require_partitions(numPartitions)
        return Partitioner(numPartitions, partitionFunc)

    def _default_partitions(self) -> int:
        """How many partitions a shuffle makes when the user does not say."""
        if self.ctx._conf.contains("spark.default.parallelism"):
            return self.ctx.defaultParallelism
        return self.getNumPartitions()


def require_partitions(count: int) -> None:
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"the number of partitions must be an int, not {count!r}")
    if count <= 0:
        raise ValueError(f"Number of partitions must be positive, not {count}.")
