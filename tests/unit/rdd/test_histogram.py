"""Histograms and their errors are PySpark 4's."""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from functools import reduce

import pytest

from pyrite.rdd.histogram import histogram

nan, inf = float("nan"), float("inf")


class Rows:
    """The few methods of an RDD that a histogram needs, over two lists."""

    def __init__(self, parts: list[list]) -> None:
        self.parts = parts

    @classmethod
    def of(cls, rows: Iterable) -> "Rows":
        rows = list(rows)
        return cls([rows[: len(rows) // 2], rows[len(rows) // 2 :]])

    def filter(self, keep):
        return Rows([list(filter(keep, part)) for part in self.parts])

    def mapPartitions(self, function):
        return Rows([list(function(iter(part))) for part in self.parts])

    def count(self):
        return sum(map(len, self.parts))

    def reduce(self, function):
        rows = [row for part in self.parts for row in part]
        if not rows:
            raise ValueError("Can not reduce() empty RDD")
        return reduce(function, rows)


@pytest.mark.parametrize(
    ("rows", "buckets", "edges", "counts"),
    [
        (range(51), 2, [0, 25, 50], [25, 26]),
        (range(51), [0, 5, 25, 50], [0, 5, 25, 50], [5, 20, 26]),
        (range(51), [0, 15, 30, 45, 60], [0, 15, 30, 45, 60], [15, 15, 15, 6]),
        (["ab", "ac", "b", "bd", "ef"], ("a", "b", "c"), ("a", "b", "c"), [2, 2]),
        (range(10), 3, [0, 3, 6, 9], [3, 3, 4]),
        ([1.5, 2.5, nan, None, 9], 4, [1.5, 3.375, 5.25, 7.125, 9], [2, 0, 0, 1]),
        ([5, 5, 5], 3, [5, 5], [3]),
        ([1, 2, 3], 1, [1, 3], [3]),
        (["a", "b"], 1, ["a", "b"], [2]),
        ([1, 2], True, [1, 2], [2]),
        ([1, 2, 99, -5], [0, 1, 2], [0, 1, 2], [0, 2]),
        ([0.1 * i for i in range(11)], [i / 10 for i in range(6)], None, [1, 1, 1, 1, 2]),
        ([0, 1, 2], [0.0, 1e-11, 2e-11], None, [1, 0]),
        ([3, 1], [-inf, 0, inf], None, [0, 2]),
        ([True, False], 2, [0.0, 0.5, True], [1, 1]),
        ([], [0, 1], [0, 1], [0]),
        ([-3, 10], 4, [-3.0, 0.25, 3.5, 6.75, 10], [1, 0, 0, 1]),
        ([2**70, 0], 2, [0, 2**69, 2**70], [1, 1]),
        (
            [0, 2**80],
            3,
            [0.0, 4.029752732048764e23, 8.059505464097527e23, 2**80],
            [1, 0, 1],
        ),
    ],
)
def test_histograms(rows, buckets, edges, counts):
    found = histogram(Rows.of(rows), buckets)
    assert found == (buckets if edges is None else edges, counts)
    assert [type(edge) for edge in found[0]] == [type(edge) for edge in edges or buckets]


@pytest.mark.parametrize(
    ("rows", "buckets", "error", "message"),
    [
        ([], 2, ValueError, "Can not reduce() empty RDD"),
        ([None, None], 2, ValueError, "Can not reduce() empty RDD"),
        ([1], 0, ValueError, "number of buckets must be >= 1"),
        (["a", "b"], 2, TypeError, "Can not generate buckets with non-number in RDD"),
        ([1, inf], 2, ValueError, "Can not generate buckets with infinite value"),
        ([1, 2], [1], ValueError, "buckets should have more than one value"),
        ([1, 2], [1, None], ValueError, "can not have None or NaN in buckets"),
        ([1, 2], [1, nan], ValueError, "can not have None or NaN in buckets"),
        ([1, 2], [2, 1], ValueError, "buckets should be sorted"),
        ([1, 2], [1, 1, 2], ValueError, "buckets should not contain duplicated values"),
        ([1, 2], "ab", TypeError, "buckets should be a list or tuple or number(int or long)"),
        ([1, 2], 2.0, TypeError, "buckets should be a list or tuple or number(int or long)"),
        (["x", 1], 2, TypeError, "'<' not supported between instances of 'int' and 'str'"),
        (
            [date(2020, 1, 1), date(2020, 1, 9)],
            2,
            TypeError,
            "must be real number, not datetime.timedelta",
        ),
        (
            [Decimal(1), Decimal(4)],
            2,
            TypeError,
            "unsupported operand type(s) for *: 'decimal.Decimal' and 'float'",
        ),
    ],
)
def test_errors(rows, buckets, error, message):
    with pytest.raises(error) as caught:
        histogram(Rows.of(rows), buckets)
    assert str(caught.value) == message
