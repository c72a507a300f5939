"""Operators on rows of any kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeVar

from pyrite.rdd.arguments import described, require_functions, require_int, require_text
from pyrite.rdd.base import Lineage
from pyrite.rdd.functions import IgnoreIndex, count_rows, gather_as_one_row
from pyrite.rdd.narrow import Numbered
from pyrite.rdd.sampling import RangeSampler, Sampler, fresh_seed

if TYPE_CHECKING:
    from pyrite.rdd import RDD
    from pyrite.rdd.barrier import RDDBarrier

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")


class Elements(Lineage[T]):
    """Operators that treat a row as a whole and need no other RDD."""

    def map(self, f: Callable[[T], U], preservesPartitioning: bool = False) -> RDD[U]:
        """The function's result for each row.

        >>> sc.parallelize(["b", "a", "c"]).map(lambda x: (x, 1)).collect()
        [('b', 1), ('a', 1), ('c', 1)]
        """
        return self._records("map", f, preservesPartitioning)

    def flatMap(self, f: Callable[[T], Iterable[U]], preservesPartitioning: bool = False) -> RDD[U]:
        """All that the function yields for each row.

        >>> sc.parallelize([2, 3, 4]).flatMap(lambda x: range(1, x)).collect()
        [1, 1, 2, 1, 2, 3]
        """
        return self._records("flatMap", f, preservesPartitioning)

    def filter(self, f: Callable[[T], bool]) -> RDD[T]:
        """The rows for which the function is true.

        >>> sc.parallelize([1, 2, 3, 4, 5]).filter(lambda x: x % 2 == 0).collect()
        [2, 4]
        """
        return self._records("filter", f, keep=True)

    def keyBy(self, f: Callable[[T], K]) -> RDD[tuple[K, T]]:
        """Pairs of the function's result and the row.

        >>> sc.parallelize(range(3)).keyBy(lambda x: x * x).collect()
        [(0, 0), (1, 1), (4, 2)]
        """
        return self._records("keyBy", f)

    def mapPartitions(
        self, f: Callable[[Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> RDD[U]:
        """What the function makes of each partition's rows.

        >>> sc.parallelize([1, 2, 3, 4], 2).mapPartitions(lambda rows: [sum(rows)]).collect()
        [3, 7]
        """
        require_functions(f)
        return self._partitions(IgnoreIndex(f), "mapPartitions", preservesPartitioning)

    def mapPartitionsWithIndex(
        self, f: Callable[[int, Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> RDD[U]:
        """What the function makes of each partition's index and rows.

        >>> rdd = sc.parallelize([1, 2, 3, 4], 4)
        >>> rdd.mapPartitionsWithIndex(lambda index, rows: [index]).sum()
        6
        """
        return self._partitions(f, "mapPartitionsWithIndex", preservesPartitioning)

    def mapPartitionsWithSplit(
        self, f: Callable[[int, Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> RDD[U]:
        """The old name of `mapPartitionsWithIndex`."""
        warnings.warn(
            "mapPartitionsWithSplit is deprecated; use mapPartitionsWithIndex instead",
            FutureWarning,
            stacklevel=2,
        )
        return self.mapPartitionsWithIndex(f, preservesPartitioning)

    def glom(self) -> RDD[list[T]]:
        """One list per partition.

        >>> sc.parallelize([1, 2, 3, 4], 2).glom().collect()
        [[1, 2], [3, 4]]
        """
        return self._partitions(gather_as_one_row, "glom")

    def barrier(self) -> RDDBarrier[T]:
        """The RDD for a stage whose tasks all run at once and can wait for each other.

        >>> sc.parallelize([1, 2], 1).barrier().mapPartitions(lambda rows: [sum(rows)]).collect()
        [3]
        """
        from pyrite.rdd.barrier import RDDBarrier

        return RDDBarrier(self._me())

    def sample(self, withReplacement: bool, fraction: float, seed: int | None = None) -> RDD[T]:
        """About this fraction of the rows, chosen at random.

        >>> 6 <= sc.parallelize(range(100), 4).sample(False, 0.1, 81).count() <= 14
        True
        """
        if not fraction >= 0:
            raise ValueError("Fraction must be nonnegative.")
        if seed is not None:
            require_int("seed", seed)
        return self._partitions(Sampler(withReplacement, fraction, seed), "sample", keep=True)

    def randomSplit(self, weights: Sequence[float], seed: int | None = None) -> list[RDD[T]]:
        """Disjoint RDDs that share the rows in proportion to the weights.

        >>> two, three = sc.parallelize(range(500), 1).randomSplit([2, 3], 17)
        >>> two.count() + three.count(), sorted((two + three).collect()) == list(range(500))
        (500, True)
        """
        if not all(weight >= 0 for weight in weights):
            raise ValueError("Weights must be nonnegative")
        total = float(sum(weights))
        if not total > 0:
            raise ValueError("Sum of weights must be positive")
        # One seed for all: a row draws the same number in each part and so falls into one.
        seed = fresh_seed() if seed is None else seed
        bounds = list(accumulate((weight / total for weight in weights), initial=0.0))
        return [
            self._partitions(RangeSampler(low, high, seed), "randomSplit", keep=True)
            for low, high in pairwise(bounds)
        ]

    def zipWithIndex(self) -> RDD[tuple[T, int]]:
        """Pairs of the row and its position in the whole RDD; counts the partitions first.

        >>> sc.parallelize(["a", "b", "c", "d"], 3).zipWithIndex().collect()
        [('a', 0), ('b', 1), ('c', 2), ('d', 3)]
        """
        starts = [0]
        if self.getNumPartitions() > 1:
            before_last = range(self.getNumPartitions() - 1)
            starts = list(accumulate(self.ctx._run(self._me(), count_rows, before_last), initial=0))
        return self._derive(Numbered("zipWithIndex", starts, 1))

    def zipWithUniqueId(self) -> RDD[tuple[T, int]]:
        """Pairs of the row and a number of its own: k, k+n, k+2n... in partition k of n.

        >>> sc.parallelize(["a", "b", "c", "d", "e"], 3).zipWithUniqueId().collect()
        [('a', 0), ('b', 1), ('c', 4), ('d', 2), ('e', 5)]
        """
        count = self.getNumPartitions()
        return self._derive(Numbered("zipWithUniqueId", range(count), count))

    def pipe(
        self, command: str, env: dict[str, str] | None = None, checkCode: bool = False
    ) -> RDD[str]:
        """The lines that a command prints when it is given each partition's rows as lines.

        >>> sc.parallelize(["1", "2", "", "3"]).pipe("cat").collect()
        ['1', '2', '', '3']
        """
        from pyrite.rdd.pipes import Pipe

        require_text("command", command)
        if not isinstance(env, Mapping | None):
            raise TypeError(f"pipe: env must be a dict, not {described(env)}")
        return self._partitions(Pipe(command, env or {}, checkCode), "pipe")
