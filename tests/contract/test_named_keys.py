"""Classes and functions as keys: equal ones meet, whichever process hashes them."""

from __future__ import annotations

import math
from operator import add

import pytest

from pyrite import SparkContext
from pyrite.errors import TaskFailed

ROWS = [1, "a", 2.0, None, b"x", (1,), [1], {}, set(), len]


def test_rows_are_grouped_by_their_type(sc: SparkContext) -> None:
    groups = sc.parallelize(ROWS * 50, 6).groupBy(type, 5).mapValues(len).collect()
    assert dict(groups) == {type(row): 50 for row in ROWS}
    assert len(groups) == len(ROWS)


def test_a_class_that_travels_by_value_is_one_key(sc: SparkContext) -> None:
    class First:
        pass

    class Second:
        pass

    pairs = sc.parallelize(range(1200), 6).map(lambda i: ((First, Second)[i % 2], 1))
    counts = pairs.reduceByKey(add, 5)
    assert sorted(counts.collect(), key=str) == [(First, 600), (Second, 600)]
    assert counts.lookup(First) == [600]
    assert counts.join(pairs, 5).count() == 1200


def test_functions_that_every_process_imports_are_keys(sc: SparkContext) -> None:
    functions = [len, math.sin, str.upper, dict.fromkeys, add, math.prod]
    found = sc.parallelize(functions * 20, 6).distinct(4).collect()
    assert sorted(found, key=repr) == sorted(functions, key=repr)


def test_a_function_that_travels_by_value_is_refused(sc: SparkContext) -> None:
    def local() -> None:
        pass

    with pytest.raises(TaskFailed, match=r"import the function from a module.*__name__"):
        sc.parallelize(range(4), 2).map(lambda _: (local, 1)).groupByKey().collect()
