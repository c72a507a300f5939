"""Operators that sort."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from pyrite.hashing import portable_hash
from pyrite.rdd.arguments import require_functions
from pyrite.rdd.functions import KEY, OnKey, count_rows, identity
from pyrite.rdd.layout import SHUFFLE_IDS, Layout
from pyrite.rdd.narrow import SortLocally
from pyrite.rdd.partitioner import ByRange, RangeFunc, Sampled, range_bounds
from pyrite.rdd.quantiles import DrawnKeys, choose_keys, deal_samples, draw_keys
from pyrite.rdd.wide import Shuffled

if TYPE_CHECKING:
    from pyrite.rdd import RDD

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

# How many keys per range are looked at to cut the keys into ranges of like size.
SAMPLE_PER_PARTITION = 20.0
MOST_DRAWN_KEYS = 100_000


class Ordering(Layout[T]):
    """Sorts within partitions, and over all of them by ranges of keys."""

    def sortBy(
        self,
        keyfunc: Callable[[T], Any],
        ascending: bool = True,
        numPartitions: int | None = None,
    ) -> RDD[T]:
        """The rows in the order of the function's results.

        >>> pairs = [("a", 1), ("b", 2), ("1", 3), ("d", 4), ("2", 5)]
        >>> sc.parallelize(pairs).sortBy(lambda pair: pair[0]).collect()
        [('1', 3), ('2', 5), ('a', 1), ('b', 2), ('d', 4)]
        """
        require_functions(keyfunc)
        count = self._partitioner(numPartitions).numPartitions
        if count == 1:
            if self.getNumPartitions() < 2:
                return sort_partitions(self._me(), keyfunc, not ascending)
            self.ctx._skip_rdd_ids(1)
            merged = self._merged(1, self.ctx._freeze_copy(self._me()))
            return sort_partitions(merged, keyfunc, not ascending)._settle()
        ranges = self._ranges(keyfunc, keyfunc, bool(ascending), count)
        if ranges is None:
            return self._me()
        self.ctx._skip_rdd_ids(SHUFFLE_IDS - 1)
        dependency = self.ctx._new_shuffle(self._me(), ByRange(ranges), count)
        placed = self._derive(Shuffled(count), (dependency,))
        # By the same keys as the ranges were cut, whatever the function would give later.
        return sort_partitions(placed, keyfunc, not ascending)._settle()

    def sortByKey(
        self: Ordering[tuple[K, V]],
        ascending: bool | None = True,
        numPartitions: int | None = None,
        keyfunc: Callable[[Any], Any] = identity,
    ) -> RDD[tuple[K, V]]:
        """The rows in the order of their keys; looks at a sample of the keys first.

        >>> sc.parallelize([("b", 2), ("c", 3), ("a", 1)], 2).sortByKey().collect()
        [('a', 1), ('b', 2), ('c', 3)]
        """
        require_functions(keyfunc)
        key = key_of_pair(keyfunc)
        order = None if keyfunc is identity else keyfunc
        count = self._partitioner(numPartitions).numPartitions
        if count == 1:
            merged = self.coalesce(1) if self.getNumPartitions() > 1 else self._me()
            return sort_partitions(merged, key, not ascending)
        ranges = self._ranges(key, order, bool(ascending), count)
        if ranges is None:
            return self._me()
        return sort_partitions(self.partitionBy(count, ranges), key, not ascending)

    def _ranges(
        self,
        key: Callable[[T], Any],
        order: Callable[[Any], Any] | None,
        ascending: bool,
        count: int,
    ) -> RangeFunc | None:
        """Ranges of about equal size, cut by a sample; None where there are no rows."""
        wanted = count * SAMPLE_PER_PARTITION
        drawn = self._draw_keys(wanted, key)
        keys = sorted(choose_keys(drawn, wanted))
        if not keys:
            return None
        # PySpark counts the rows first, and then draws a sample.
        self.ctx._skip_rdd_ids(1)
        bounds = range_bounds(keys, count)
        samples = deal_samples(drawn, wanted, bounds, ascending)
        sampled = None if samples is None else Sampled(ref(self), samples)
        return RangeFunc(bounds, order, ascending, sampled)

    def _sampled_keys(self: Ordering[tuple[K, V]], count: int) -> list[K]:
        """A sorted sample of the keys of pairs, enough to cut them into `count` ranges."""
        wanted = count * SAMPLE_PER_PARTITION
        return sorted(choose_keys(self._draw_keys(wanted, KEY), wanted))

    def _draw_keys(self, wanted: float, key: Callable[[T], Any]) -> list[DrawnKeys]:
        """Keys of each partition, among them about so many that are chosen at random."""
        fraction = 1.0
        if wanted * self.getNumPartitions() > MOST_DRAWN_KEYS:
            # Counted first, so that partitions send no more keys than needed.
            total = sum(self.ctx._run(self._me(), count_rows, unseen=0))
            fraction = min(wanted / max(total, 1), 1.0)
        draw = partial(draw_keys, wanted, fraction, key)
        return self.ctx._run(self._me(), draw)

    def repartitionAndSortWithinPartitions(
        self: Ordering[tuple[K, V]],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
        ascending: bool = True,
        keyfunc: Callable[[Any], Any] = identity,
    ) -> RDD[tuple[K, V]]:
        """The rows in the partitions of their keys, each partition sorted by key.

        >>> rdd = sc.parallelize([(0, 5), (3, 8), (2, 6), (0, 8), (3, 8), (1, 3)])
        >>> rdd.repartitionAndSortWithinPartitions(2, lambda key: key % 2).glom().collect()
        [[(0, 5), (0, 8), (2, 6)], [(1, 3), (3, 8), (3, 8)]]
        """
        require_functions(keyfunc)
        placed = self.partitionBy(numPartitions, partitionFunc)
        return sort_partitions(placed, key_of_pair(keyfunc), not ascending)


def key_of_pair(keyfunc: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What a pair is sorted by: its key, or what the function makes of it."""
    return KEY if keyfunc is identity else OnKey(keyfunc)


def sort_partitions(rdd: RDD[T], key: Callable[[T], Any], reverse: bool) -> RDD[T]:
    """Each partition sorted on its own, in the place that it has."""
    return rdd._derive(SortLocally(key, reverse), partitioner=rdd.partitioner)
