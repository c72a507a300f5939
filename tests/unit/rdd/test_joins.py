"""Joins and cogroups, and how many shuffles they take."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import PlainContext, count_shuffles

from pyrite.rdd import RDD

Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers()), max_size=12)


def values(pairs: Pairs, key: int) -> list[Any]:
    return [value for each, value in pairs if each == key]


def expected(left: Pairs, right: Pairs, keep_left: bool, keep_right: bool) -> list[Any]:
    rows: list[Any] = []
    for key in range(6):
        here, there = values(left, key), values(right, key)
        if keep_left:
            there = there or [None] * bool(here)
        if keep_right:
            here = here or [None] * bool(there)
        rows += [(key, (v, w)) for v in here for w in there]
    return sorted(rows, key=repr)


@given(PAIRS, PAIRS)
def test_joins_pair_the_values_of_equal_keys(left: Pairs, right: Pairs) -> None:
    sc = PlainContext("/nonexistent")
    x, y = sc.parallelize(left, 3), sc.parallelize(right, 2)
    kinds: list[tuple[Callable[[RDD[Any]], RDD[Any]], bool, bool]] = [
        (x.join, False, False),
        (x.leftOuterJoin, True, False),
        (x.rightOuterJoin, False, True),
        (x.fullOuterJoin, True, True),
    ]
    for join, keep_left, keep_right in kinds:
        found = sorted(join(y).collect(), key=repr)
        assert found == expected(left, right, keep_left, keep_right)


@given(PAIRS, PAIRS)
def test_subtract_by_key_leaves_the_keys_not_there(left: Pairs, right: Pairs) -> None:
    sc = PlainContext("/nonexistent")
    found = sc.parallelize(left, 3).subtractByKey(sc.parallelize(right, 2)).collect()
    keys = {key for key, _ in right}
    assert sorted(found) == sorted(pair for pair in left if pair[0] not in keys)


def test_cogroup_gives_every_side(sc: PlainContext) -> None:
    x = sc.parallelize([("a", 1), ("b", 2), ("a", 3)], 2)
    y = sc.parallelize([("a", "x"), ("c", "y")], 1)
    groups = x.groupWith(y, x).collect()
    found = {key: [sorted(side) for side in sides] for key, sides in groups}
    assert found == {
        "a": [[1, 3], ["x"], [1, 3]],
        "b": [[2], [], [2]],
        "c": [[], ["y"], []],
    }


def test_the_number_of_partitions_is_that_of_the_union(sc: PlainContext) -> None:
    plain = sc.parallelize([(1, 2)], 3)
    parted, other = plain.partitionBy(4), plain.partitionBy(6)
    counts = [
        plain.join(plain),
        parted.join(plain),
        plain.join(parted),
        parted.join(parted),
        parted.join(other),
        parted.groupWith(parted, plain),
        parted.groupWith(parted, parted),
        plain.groupWith(parted, parted),
        sc.emptyRDD().join(plain),
        parted.join(sc.emptyRDD()),
        plain.join(plain, 5),
    ]
    assert [each.getNumPartitions() for each in counts] == [6, 7, 7, 4, 10, 7, 4, 11, 3, 4, 5]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("join", [(1, (2, 3))]),
        ("leftOuterJoin", [(1, (2, 3))]),
        ("rightOuterJoin", [(1, (2, 3))]),
        ("fullOuterJoin", [(1, (2, 3))]),
        ("subtractByKey", []),
    ],
)
def test_co_partitioned_joins_are_narrow(sc: PlainContext, kind: str, answer: list[Any]) -> None:
    x = sc.parallelize([(1, 2)], 2).partitionBy(3)
    y = sc.parallelize([(1, 3)], 2).partitionBy(3)
    joined = getattr(x, kind)(y)
    assert count_shuffles(joined) == 2
    assert joined.partitioner == x.partitioner
    assert joined.collect() == answer


def test_only_the_other_side_is_shuffled(sc: PlainContext) -> None:
    x = sc.parallelize([(n, n) for n in range(9)], 2).partitionBy(4).mapValues(str)
    y = sc.parallelize([(n, -n) for n in range(9)], 3)
    joined = x.join(y, 4)
    assert count_shuffles(joined) == 2
    assert sorted(joined.collect()) == [(n, (str(n), -n)) for n in range(9)]


def test_a_custom_partitioner_is_not_mistaken_for_the_hash(sc: PlainContext) -> None:
    x = sc.parallelize([(n, n) for n in range(9)], 2).partitionBy(3, lambda key: key // 3)
    joined = x.join(x)
    assert joined.getNumPartitions() == 3
    assert sorted(joined.collect()) == [(n, (n, n)) for n in range(9)]


def test_rows_of_a_cached_side_are_not_changed_by_a_join(sc: PlainContext) -> None:
    x = sc.parallelize([(1, [2])], 1).partitionBy(1)
    grouped = x.groupByKey()
    first = grouped.join(grouped).collect()
    assert len(first) == len(grouped.join(grouped).collect()) == 1
