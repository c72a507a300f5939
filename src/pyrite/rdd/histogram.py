"""Counts of rows between the edges of buckets."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeGuard

# Steps that differ by less are even: given edges such as 0.1, 0.2, 0.3 are inexact.
_EVEN_STEP = 1e-10


class Buckets:
    """Edges that cut a range of values; each bucket is open to the right, the last is closed."""

    def __init__(self, edges: Sequence[Any], step: Any = None) -> None:
        self.edges = edges
        self.step = step

    @classmethod
    def given(cls, edges: Sequence[Any]) -> "Buckets":
        """Buckets with the user's edges."""
        if len(edges) < 2:
            raise ValueError("buckets should have more than one value")
        if any(edge is None or _is_nan(edge) for edge in edges):
            raise ValueError("can not have None or NaN in buckets")
        if sorted(edges) != list(edges):
            raise ValueError("buckets should be sorted")
        if len(set(edges)) != len(edges):
            raise ValueError("buckets should not contain duplicated values")
        try:
            steps = [high - low for low, high in pairwise(edges)]
        except TypeError:
            return cls(edges)
        if max(steps) - min(steps) < _EVEN_STEP:
            return cls(edges, (edges[-1] - edges[0]) / (len(edges) - 1))
        return cls(edges)

    @classmethod
    def even(cls, low: Any, high: Any, number: int) -> "Buckets":
        """So many buckets of one width between two different values, integers where possible."""
        try:
            width = (high - low) / number
        except TypeError:
            raise TypeError("Can not generate buckets with non-number in RDD") from None
        if math.isinf(width):
            raise ValueError("Can not generate buckets with infinite value")
        step: Any = int(width)
        if step * number != high - low:
            step = (high - low) * 1.0 / number
        return cls([*(i * step + low for i in range(number)), high], step)

    def count(self, rows: Iterable[Any]) -> list[int]:
        """How many of the rows fall into each bucket; rows outside of all are left out."""
        edges, step = self.edges, self.step
        low, high = edges[0], edges[-1]
        counts = [0] * len(edges)
        if step is None:
            for row in rows:
                if row is not None and low <= row <= high:
                    counts[bisect_right(edges, row) - 1] += 1
        else:
            for row in rows:
                if row is not None and low <= row <= high:
                    counts[int((row - low) / step)] += 1
        # A row equal to the last edge belongs to the bucket before it.
        at_the_end = counts.pop()
        counts[-1] += at_the_end
        return counts


def histogram(rdd: Any, buckets: Any) -> tuple[Sequence[Any], list[int]]:
    """The edges of the buckets and how many rows of the RDD fall into each."""
    if isinstance(buckets, int):
        if buckets < 1:
            raise ValueError("number of buckets must be >= 1")
        comparable = rdd.filter(is_comparable)
        low, high = comparable.mapPartitions(extremes).reduce(wider)
        if low == high or buckets == 1:
            return [low, high], [comparable.count()]
        chosen = Buckets.even(low, high, buckets)
    elif isinstance(buckets, list | tuple):
        chosen = Buckets.given(buckets)
    else:
        raise TypeError("buckets should be a list or tuple or number(int or long)")
    counts = rdd.mapPartitions(partial(count_rows, chosen)).reduce(add_counts)
    return chosen.edges, counts


def is_comparable(row: Any) -> bool:
    return row is not None and not _is_nan(row)


def extremes(rows: Iterator[Any]) -> list[tuple[Any, Any]]:
    """The smallest and the largest row of a partition; nothing of an empty one."""
    for first in rows:
        low = high = first
        for row in rows:
            if row < low:
                low = row
            elif row > high:
                high = row
        return [(low, high)]
    return []


def wider(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
    return min(left[0], right[0]), max(left[1], right[1])


def count_rows(buckets: Buckets, rows: Iterator[Any]) -> list[list[int]]:
    return [buckets.count(rows)]


def add_counts(left: list[int], right: list[int]) -> list[int]:
    return [a + b for a, b in zip(left, right, strict=True)]


def _is_nan(value: Any) -> TypeGuard[float]:
    return isinstance(value, float) and math.isnan(value)
