"""Actions on rows of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

from pyrite.rdd.actions import EMPTY
from pyrite.rdd.approximate import BoundedFloat, DistinctSketch
from pyrite.rdd.base import Lineage
from pyrite.rdd.functions import count_rows, sum_rows
from pyrite.statcounter import StatCounter

T = TypeVar("T")


class Statistics(Lineage[T]):
    """Sums, moments, histograms and approximate answers."""

    def sum(self) -> Any:
        """The sum of the rows.

        >>> sc.parallelize([1.0, 2.0, 3.0]).sum()
        6.0
        """
        return reduce(add, self.ctx._run(self._me(), sum_rows), 0)

    def stats(self) -> StatCounter:
        """Count, mean, variance, minimum and maximum in one pass.

        >>> sc.parallelize([1, 2, 3, 10], 2).stats().max()
        10.0
        """
        parts = self.ctx._run(self._me(), summarise)
        if not parts:
            raise ValueError(EMPTY)
        return reduce(merge_stats, parts)

    def mean(self) -> Any:
        """The mean of the rows.

        >>> sc.parallelize([1, 2, 3]).mean()
        2.0
        """
        return self.stats().mean()

    def variance(self) -> Any:
        """The variance of the rows as a whole population.

        >>> sc.parallelize([1, 3]).variance()
        1.0
        """
        return self.stats().variance()

    def stdev(self) -> Any:
        """The standard deviation of the rows as a whole population.

        >>> sc.parallelize([1, 3]).stdev()
        1.0
        """
        return self.stats().stdev()

    def sampleVariance(self) -> Any:
        """The variance that the rows as a sample suggest.

        >>> sc.parallelize([1, 3]).sampleVariance()
        2.0
        """
        return self.stats().sampleVariance()

    def sampleStdev(self) -> Any:
        """The standard deviation that the rows as a sample suggest.

        >>> sc.parallelize([1, 2, 3]).sampleStdev()
        1.0
        """
        return self.stats().sampleStdev()

    def histogram(
        self, buckets: int | list[Any] | tuple[Any, ...]
    ) -> tuple[Sequence[Any], list[int]]:
        """The edges of the buckets and how many rows fall into each.

        >>> sc.parallelize(range(51)).histogram(2)
        ([0, 25, 50], [25, 26])
        >>> sc.parallelize(["ab", "ac", "b", "bd", "ef"]).histogram(("a", "b", "c"))
        (('a', 'b', 'c'), [2, 2])
        """
        from pyrite.rdd.histogram import histogram

        return histogram(self._me(), buckets)

    def countApprox(self, timeout: int, confidence: float = 0.95) -> int:
        """The number of rows as far as it is known after so many milliseconds.

        >>> sc.parallelize(range(1000), 10).countApprox(60_000)
        1000
        """
        return int(self._sum_within(count_rows, timeout, confidence))

    def sumApprox(self, timeout: int, confidence: float = 0.95) -> BoundedFloat:
        """The sum of the rows as far as it is known after so many milliseconds, with bounds.

        >>> sc.parallelize(range(1000), 10).sumApprox(60_000)
        499500.0
        """
        return self._sum_within(sum_rows, timeout, confidence)

    def meanApprox(self, timeout: int, confidence: float = 0.95) -> BoundedFloat:
        """The mean of the rows as far as it is known after so many milliseconds, with bounds.

        >>> sc.parallelize(range(1000), 10).meanApprox(60_000)
        499.5
        """
        from pyrite.rdd.estimates import estimate_mean

        parts = self.ctx._run_approximately(self._me(), summarise, timeout / 1000)
        return estimate_mean(parts.values(), self.getNumPartitions(), confidence)

    def countApproxDistinct(self, relativeSD: float = 0.05) -> int:
        """About how many different rows there are, within the relative standard deviation.

        >>> 900 < sc.parallelize(range(1000), 2).map(str).countApproxDistinct() < 1100
        True
        """
        sketch = DistinctSketch(relativeSD)
        for part in self.ctx._run(self._me(), partial(sketch_rows, relativeSD), unseen=2):
            sketch.merge(part)
        return sketch.estimate()

    def _sum_within(
        self, function: Callable[[int, Iterator[T]], Any], timeout: int, confidence: float
    ) -> BoundedFloat:
        from pyrite.rdd.estimates import estimate_sum

        parts = self.ctx._run_approximately(self._me(), function, timeout / 1000)
        return estimate_sum(map(float, parts.values()), self.getNumPartitions(), confidence)


def sketch_rows(relative_sd: float, index: int, rows: Iterator[Any]) -> DistinctSketch:
    return DistinctSketch(relative_sd).add_all(rows)


def summarise(index: int, rows: Iterator[Any]) -> StatCounter:
    return StatCounter(rows)


def merge_stats(left: StatCounter, right: StatCounter) -> StatCounter:
    return left.mergeStats(right)
