"""Actions: what makes the engine compute an RDD."""

from __future__ import annotations

import operator
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from heapq import nlargest, nsmallest
from itertools import chain
from math import ceil, log, sqrt
from random import Random
from typing import Any, TypeVar

from pyrite.rdd import functions
from pyrite.rdd.arguments import require_int
from pyrite.rdd.base import Lineage
from pyrite.rdd.dependency import ShuffleDependency
from pyrite.rdd.narrow import CountLocally, FirstLocally
from pyrite.rdd.stops import StopIsError
from pyrite.storagelevel import StorageLevel

T = TypeVar("T")
U = TypeVar("U")

EMPTY = "Can not reduce() empty RDD"


class Actions(Lineage[T]):
    """Rows and summaries of rows brought to the driver, and functions run for their effect."""

    def collect(self) -> list[T]:
        """All rows, in a list.

        >>> sc.parallelize([1, 2, 3], 2).collect()
        [1, 2, 3]
        """
        parts = self.ctx._run_rows(self._me(), functions.gather, frozen=True)
        return list(chain.from_iterable(parts))

    def collectWithJobGroup(
        self, groupId: str, description: str, interruptOnCancel: bool = False
    ) -> list[T]:
        """As `collect`, after `setJobGroup`.

        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     sc.parallelize([1, 2]).collectWithJobGroup("group", "two rows")
        [1, 2]
        """
        warnings.warn(
            "collectWithJobGroup is deprecated; call setJobGroup in an InheritableThread instead",
            FutureWarning,
            stacklevel=2,
        )
        self.ctx.setJobGroup(groupId, description, interruptOnCancel)
        return self.collect()

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[T]:
        """The rows, one partition after another, each computed when it is reached.

        >>> list(sc.parallelize(range(4), 2).toLocalIterator())
        [0, 1, 2, 3]
        """
        partitions = range(self.getNumPartitions())
        return chain.from_iterable(
            self.ctx._run_each(self._me(), functions.gather, partitions, prefetchPartitions)
        )

    def count(self) -> int:
        """The number of rows.

        >>> sc.parallelize([2, 3, 4]).count()
        3
        """
        return sum(self.ctx._run(self._me(), functions.count_rows))

    def take(self, num: int) -> list[T]:
        """The first rows; computes no more partitions than it must.

        >>> sc.parallelize(range(100), 100).filter(lambda x: x > 90).take(3)
        [91, 92, 93]
        """
        require_int("num", num)
        # No list is longer, and slices of iterators take no larger number.
        num = min(operator.index(num), sys.maxsize)
        rows: list[T] = []
        total = self.getNumPartitions()
        scanned = 0
        while len(rows) < num and scanned < total:
            end = min(scanned + partitions_to_try(num, len(rows), scanned), total)
            function = partial(functions.take_rows, num - len(rows))
            for part in self.ctx._run_rows(self._me(), function, range(scanned, end)):
                rows += part
            scanned = end
        return rows[: max(num, 0)]

    def first(self) -> T:
        """The first row.

        >>> sc.parallelize([2, 3, 4]).first()
        2
        """
        for row in self.take(1):
            return row
        raise ValueError("RDD is empty")

    def isEmpty(self) -> bool:
        """Whether there are no rows.

        >>> sc.parallelize([]).isEmpty()
        True
        """
        return not self.take(1)

    def takeSample(self, withReplacement: bool, num: int, seed: int | None = None) -> list[T]:
        """Exactly so many rows chosen at random, or all if there are fewer.

        >>> len(sc.parallelize(range(10)).takeSample(False, 5, 2))
        5
        """
        most = sys.maxsize - int(10.0 * sqrt(sys.maxsize))
        if num < 0:
            raise ValueError("Sample size cannot be negative.")
        if num > most:
            raise ValueError(f"Sample size cannot be greater than {most}.")
        total = self.count() if num and self.getNumPartitions() else 0
        if total == 0:
            return []
        random = Random(seed)
        if not withReplacement and num >= total:
            rows = self.collect()
        else:
            fraction = fraction_for(num, total, withReplacement)
            rows = self._me().sample(withReplacement, fraction, seed).collect()
            while len(rows) < num:
                seed = random.randint(0, sys.maxsize)
                rows = self._me().sample(withReplacement, fraction, seed).collect()
        random.shuffle(rows)
        return rows[:num]

    def reduce(self, f: Callable[[T, T], T]) -> T:
        """All rows reduced to one by an associative and commutative function.

        >>> from operator import add
        >>> sc.parallelize([1, 2, 3, 4, 5]).reduce(add)
        15
        """
        rows = self._at_least_one(partial(functions.reduce_rows, f))
        with StopIsError():
            return reduce(f, rows)

    def fold(self, zeroValue: T, op: Callable[[T, T], T]) -> T:
        """The rows of each partition folded into the zero, and those results again.

        >>> from operator import add
        >>> sc.parallelize([1, 2, 3, 4, 5]).fold(0, add)
        15
        """
        return self.aggregate(zeroValue, op, op)

    def aggregate(self, zeroValue: U, seqOp: Callable[[U, T], U], combOp: Callable[[U, U], U]) -> U:
        """The rows of each partition folded into the zero, and those results combined.

        >>> rows = sc.parallelize([1, 2, 3, 4])
        >>> def add(total, row): return (total[0] + row, total[1] + 1)
        >>> def merge(one, two): return (one[0] + two[0], one[1] + two[1])
        >>> rows.aggregate((0, 0), add, merge)
        (10, 4)
        """
        parts = self.ctx._run(self._me(), partial(functions.fold_rows, zeroValue, seqOp))
        zero: U = functions.Zero(zeroValue)()
        with StopIsError():
            return reduce(combOp, parts, zero)

    def treeAggregate(
        self,
        zeroValue: U,
        seqOp: Callable[[U, T], U],
        combOp: Callable[[U, U], U],
        depth: int = 2,
    ) -> U:
        """As `aggregate`, with the partitions' results combined in levels of parallel tasks.

        >>> from operator import add
        >>> sc.parallelize(range(-5, 5), 10).treeAggregate(0, add, add)
        -5
        """
        require_depth(depth)
        count = self.getNumPartitions()
        if count == 0:
            return zeroValue
        fold = partial(functions.fold_as_row, zeroValue, seqOp)
        level = self._partitions(fold, "treeAggregate")
        scale = max(ceil(count ** (1.0 / depth)), 2)
        remaining: float = count
        while remaining > scale + remaining / scale:
            remaining /= scale
            parents = int(remaining)
            deal = partial(functions.deal_to_parents, parents)
            dealt = level._partitions(deal, "treeAggregate")
            level = dealt.reduceByKey(combOp, parents).values()
        result: U = level.reduce(combOp)
        return result

    def treeReduce(self, f: Callable[[T, T], T], depth: int = 2) -> T:
        """As `reduce`, with the partitions' results reduced in levels of parallel tasks.

        >>> from operator import add
        >>> sc.parallelize([-5, -4, -3, -2, -1, 1, 2, 3, 4], 10).treeReduce(add)
        -5
        """
        require_depth(depth)
        # Lists of at most one row, since None is a row like any other.
        rows = self._partitions(partial(functions.reduce_as_row, f), "treeReduce")
        merge = functions.MergeOptional(f)
        found: list[T] = rows.treeAggregate([], merge, merge, depth)
        if not found:
            raise ValueError("Cannot reduce empty RDD.")
        return found[0]

    def max(self, key: Callable[[T], Any] | None = None) -> T:
        """The largest row.

        >>> sc.parallelize([1.0, 5.0, 43.0, 10.0]).max()
        43.0
        """
        rows = self._at_least_one(partial(functions.extreme_row, max, key))
        with StopIsError():
            return max(rows, key=key)  # type: ignore[type-var, arg-type]

    def min(self, key: Callable[[T], Any] | None = None) -> T:
        """The smallest row.

        >>> sc.parallelize([2.0, 5.0, 43.0, 10.0]).min()
        2.0
        """
        rows = self._at_least_one(partial(functions.extreme_row, min, key))
        with StopIsError():
            return min(rows, key=key)  # type: ignore[type-var, arg-type]

    def top(self, num: int, key: Callable[[T], Any] | None = None) -> list[T]:
        """The largest rows, the largest first.

        >>> sc.parallelize([10, 4, 2, 12, 3]).top(2)
        [12, 10]
        """
        require_int("num", num)
        parts: list[Any] = self._firsts(num, key, reverse=True)
        if not parts:
            raise ValueError(EMPTY)
        with StopIsError():
            return nlargest(num, chain.from_iterable(parts), key=key)

    def takeOrdered(self, num: int, key: Callable[[T], Any] | None = None) -> list[T]:
        """The smallest rows, the smallest first.

        >>> sc.parallelize([10, 1, 2, 9, 3, 4, 5, 6, 7], 2).takeOrdered(6)
        [1, 2, 3, 4, 5, 6]
        """
        require_int("num", num)
        if num < 0:
            raise ValueError("top N cannot be negative.")
        if num == 0:
            return []
        parts: list[Any] = self._firsts(num, key, reverse=False)
        with StopIsError():
            return nsmallest(num, chain.from_iterable(parts), key=key)

    def _firsts(self, num: int, key: Callable[[T], Any] | None, reverse: bool) -> list[list[T]]:
        """The first rows of each partition in an order."""
        firsts = self._derive(FirstLocally(num, key, reverse), partitioner=self.partitioner)
        return self.ctx._run_rows(firsts, functions.gather)

    def countByValue(self) -> dict[T, int]:
        """How often each row occurs.

        >>> sorted(sc.parallelize([1, 2, 1, 2, 2], 2).countByValue().items())
        [(1, 2), (2, 3)]
        """
        return self._counts(CountLocally())

    def _counts(self, counting: CountLocally) -> dict[Any, int]:
        """The partitions' counts added, as a dict that answers 0 for values not seen."""
        parts = self.ctx._run_rows(self._derive(counting), functions.gather)
        if not parts:
            raise ValueError(EMPTY)
        total: defaultdict[Any, int] = defaultdict(int)
        for value, count in chain.from_iterable(parts):
            total[value] += count
        return total

    def foreach(self, f: Callable[[T], Any]) -> None:
        """Calls the function for each row, for its effect.

        >>> seen = sc.accumulator(0)
        >>> sc.parallelize([1, 2, 3]).foreach(lambda x: seen.add(x))
        >>> seen.value
        6
        """
        self.ctx._run(self._me(), partial(functions.call_each, f))

    def foreachPartition(self, f: Callable[[Iterable[T]], Any]) -> None:
        """Calls the function for each partition's rows, for its effect.

        >>> seen = sc.accumulator(0)
        >>> sc.parallelize([1, 2, 3], 2).foreachPartition(lambda rows: seen.add(sum(rows)))
        >>> seen.value
        6
        """
        self.ctx._run(self._me(), partial(functions.call_once, f))

    def cleanShuffleDependencies(self, blocking: bool = False) -> None:
        """Drops the map outputs that this RDD and its ancestors up to persisted ones were made of.

        >>> rdd = sc.parallelize([(1, 2)]).partitionBy(2)
        >>> rdd.cleanShuffleDependencies()
        >>> rdd.collect()
        [(1, 2)]
        """
        seen: set[Lineage[Any]] = set()
        pending: list[Lineage[Any]] = [self]
        while pending:
            rdd = pending.pop()
            if rdd in seen:
                continue
            seen.add(rdd)
            for dependency in rdd.dependencies:
                if isinstance(dependency, ShuffleDependency):
                    self.ctx._clean_shuffle(dependency)
                if dependency.rdd.getStorageLevel() == StorageLevel.NONE:
                    pending.append(dependency.rdd)

    def _at_least_one(self, function: Callable[[int, Iterator[T]], list[T]]) -> list[T]:
        """What the partitions' lists hold together; PySpark's error if that is nothing."""
        rows = list(chain.from_iterable(self.ctx._run(self._me(), function)))
        if not rows:
            raise ValueError(EMPTY)
        return rows


def partitions_to_try(wanted: int, found: int, scanned: int) -> int:
    """How many partitions `take` reads next: one, then as many as it seems to need."""
    if scanned == 0:
        return 1
    if found == 0:
        return scanned * 4
    estimate = int(1.5 * wanted * scanned / found) - scanned
    return min(max(estimate, 1), scanned * 4)


def fraction_for(wanted: int, total: int, with_replacement: bool) -> float:
    """A fraction that gives at least so many rows with a probability of 0.9999."""
    fraction = wanted / total
    if with_replacement:
        deviations = 9 if wanted < 12 else 5
        return fraction + deviations * sqrt(fraction / total)
    gamma = -log(0.00005) / total
    return min(1.0, fraction + gamma + sqrt(gamma * gamma + 2 * gamma * fraction))


def require_depth(depth: int) -> None:
    if depth < 1:
        raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")
