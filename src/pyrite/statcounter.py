"""Count, mean, variance, minimum and maximum of numbers in one pass."""

import math
import sys
from collections.abc import Iterable
from copy import deepcopy
from typing import Any


class StatCounter:
    """The moments and extremes of the numbers it has seen; two counters merge into one.

    The moments follow Welford and, for merging, Chan et al. Numpy arrays are counted element
    by element.

    >>> StatCounter([1.0, 2.0, 3.0, 4.0])
    (count: 4, mean: 2.5, stdev: 1.118033988749895, max: 4.0, min: 1.0)
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        self.n = 0
        self.mu = 0.0
        self.m2 = 0.0
        self.maxValue = float("-inf")
        self.minValue = float("inf")
        if values is not None:
            self._merge_all(values)

    def merge(self, value: Any) -> "StatCounter":
        """Count in one number."""
        self._merge_all((value,))
        return self

    def _merge_all(self, values: Iterable[Any]) -> None:
        n, mu, m2, low, high = self.n, self.mu, self.m2, self.minValue, self.maxValue
        plain = type(high) is float
        for value in values:
            delta = value - mu
            n += 1
            # Not in place: an array that is another counter's would change with this one.
            mu = mu + delta / n
            m2 = m2 + delta * (value - mu)
            if plain and isinstance(value, float | int):
                # A NaN stays, as it does in numpy's minimum and maximum.
                if not value <= high and high == high:
                    high = float(value)
                if not value >= low and low == low:
                    low = float(value)
            else:
                high, low = _larger(high, value), _smaller(low, value)
                plain = type(high) is float
        self.n, self.mu, self.m2, self.minValue, self.maxValue = n, mu, m2, low, high

    def mergeStats(self, other: "StatCounter") -> "StatCounter":
        """Count in all that another counter has seen."""
        if not isinstance(other, StatCounter):
            raise TypeError(f"Can only merge StatCounter but got {type(other)}")
        if self.n == 0:
            self.n, self.mu, self.m2 = other.n, other.mu, other.m2
            self.maxValue, self.minValue = other.maxValue, other.minValue
        elif other.n != 0:
            total = self.n + other.n
            delta = other.mu - self.mu
            # Adding a small correction to the larger side's mean loses the least precision.
            if other.n * 10 < self.n:
                mu = self.mu + (delta * other.n) / total
            elif self.n * 10 < other.n:
                mu = other.mu - (delta * self.n) / total
            else:
                mu = (self.mu * self.n + other.mu * other.n) / total
            m2 = self.m2 + (other.m2 + (delta * delta * self.n * other.n) / total)
            self.maxValue = _larger(self.maxValue, other.maxValue)
            self.minValue = _smaller(self.minValue, other.minValue)
            self.n, self.mu, self.m2 = total, mu, m2
        return self

    def copy(self) -> "StatCounter":
        """A counter of its own with the same state."""
        return deepcopy(self)

    def count(self) -> int:
        """How many numbers there were."""
        return int(self.n)

    def mean(self) -> float:
        """Their mean."""
        return self.mu

    def sum(self) -> float:
        """Their sum."""
        return self.n * self.mu

    def min(self) -> float:
        """The smallest; infinity of none."""
        return self.minValue

    def max(self) -> float:
        """The largest; minus infinity of none."""
        return self.maxValue

    def variance(self) -> float:
        """The variance of the numbers as a whole population; NaN of none."""
        return self.m2 / self.n if self.n else math.nan

    def sampleVariance(self) -> float:
        """The variance that the numbers as a sample suggest; NaN of fewer than two."""
        return self.m2 / (self.n - 1) if self.n > 1 else math.nan

    def stdev(self) -> float:
        """The square root of the variance."""
        return _root(self.variance())

    def sampleStdev(self) -> float:
        """The square root of the sample variance."""
        return _root(self.sampleVariance())

    def asDict(self, sample: bool = False) -> dict[str, float]:
        """All of it by name.

        As in PySpark, ``sample=True`` gives the population's variance and the default the
        sample's.
        """
        return {
            "count": self.count(),
            "mean": self.mean(),
            "sum": self.sum(),
            "min": self.min(),
            "max": self.max(),
            "stdev": self.stdev() if sample else self.sampleStdev(),
            "variance": self.variance() if sample else self.sampleVariance(),
        }

    def __repr__(self) -> str:
        return (
            f"(count: {self.count()}, mean: {self.mean()!s}, stdev: {self.stdev()!s}, "
            f"max: {self.max()!s}, min: {self.min()!s})"
        )


def _larger(left: Any, right: Any) -> Any:
    if _is_numpy(left) or _is_numpy(right):
        return sys.modules["numpy"].maximum(left, right)
    return float(right) if left == left and not right <= left else left


def _smaller(left: Any, right: Any) -> Any:
    if _is_numpy(left) or _is_numpy(right):
        return sys.modules["numpy"].minimum(left, right)
    return float(right) if left == left and not right >= left else left


def _root(value: float) -> float:
    root: float = sys.modules["numpy"].sqrt(value) if _is_numpy(value) else math.sqrt(value)
    return root


def _is_numpy(value: Any) -> bool:
    return type(value).__module__ == "numpy"
