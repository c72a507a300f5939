"""Sorting, within partitions and over all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import PlainContext, count_shuffles

PAIRS = [(n % 4, n) for n in range(10)]


def test_ranges_lie_as_in_pyspark(sc: PlainContext) -> None:
    rdd = sc.parallelize(PAIRS, 3)
    assert rdd.sortByKey().keys().glom().collect() == [[0, 0, 0, 1, 1, 1], [2, 2], [3, 3]]
    assert rdd.sortByKey(False).keys().glom().collect() == [[3, 3], [2, 2], [1, 1, 1, 0, 0, 0]]
    assert rdd.sortByKey(numPartitions=8).keys().glom().collect() == [
        [0, 0, 0],
        [],
        [1, 1, 1],
        [],
        [2, 2],
        [],
        [3, 3],
        [],
    ]


@given(st.lists(st.integers(), max_size=300), st.integers(1, 5), st.booleans())
def test_sorting_sorts(rows: list[int], partitions: int, ascending: bool) -> None:
    sc = PlainContext("/nonexistent")
    found = sc.parallelize(rows, 3).sortBy(lambda x: x, ascending, partitions).collect()
    assert found == sorted(rows, reverse=not ascending)


def test_sorting_by_a_function_of_the_key_sorts_over_partitions(sc: PlainContext) -> None:
    words = ["the", "Quick", "brown", "Fox", "jumps", "Over", "the", "lazy", "Dog"]
    rdd = sc.parallelize(words, 3).keyBy(lambda word: word)
    found = rdd.sortByKey(keyfunc=str.lower)
    assert found.keys().collect() == sorted(words, key=str.lower)
    assert sum(map(bool, found.glom().collect())) > 1


def test_large_rdds_are_cut_into_ranges_of_like_size(sc: PlainContext) -> None:
    rdd = sc.range(5000, 4).map(lambda x: x * 7919 % 5003).sortBy(lambda x: x, numPartitions=5)
    sizes = [len(part) for part in rdd.glom().collect()]
    assert max(sizes) < 2 * 1000
    assert rdd.collect() == sorted(rdd.collect())


def test_one_job_looks_at_the_keys(sc: PlainContext) -> None:
    sc.parallelize(PAIRS, 3).sortByKey()
    assert sc.jobs == [[0, 1, 2]]


def test_rows_are_counted_first_where_too_many_keys_would_be_sent(
    sc: PlainContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    rdd = sc.range(5000, 4).map(lambda x: (x * 7919 % 5003, x))
    once = rdd.sortByKey().glom().collect()
    monkeypatch.setattr("pyrite.rdd.ordering.MOST_DRAWN_KEYS", 100)
    sc.jobs.clear()
    assert rdd.sortByKey().glom().collect() == once
    assert len(sc.jobs) == 3


def test_sorting_into_one_partition_is_lazy_and_narrow(sc: PlainContext) -> None:
    rdd = sc.parallelize(PAIRS, 3).sortByKey(numPartitions=1)
    assert (sc.jobs, count_shuffles(rdd)) == ([], 0)
    assert rdd.glom().collect() == [sorted(PAIRS, key=lambda pair: pair[0])]


def test_nothing_is_sorted_into_as_many_partitions_as_it_had(sc: PlainContext) -> None:
    empty = sc.parallelize([], 3)
    assert empty.sortByKey(numPartitions=5).getNumPartitions() == 3
    assert sc.emptyRDD().sortByKey().getNumPartitions() == 0


def test_sorting_is_stable(sc: PlainContext) -> None:
    rows = [(1, "b"), (0, "x"), (1, "a"), (1, "c")]
    assert sc.parallelize(rows, 1).sortByKey().values().collect() == ["x", "b", "a", "c"]
    assert sc.parallelize(rows, 1).sortByKey(False).values().collect() == ["b", "a", "c", "x"]


def test_keys_that_cannot_be_compared_fail(sc: PlainContext) -> None:
    with pytest.raises(TypeError, match="not supported between"):
        sc.parallelize([(1, 0), ("a", 0), (None, 0)], 2).sortByKey()


def test_a_sorted_rdd_knows_its_partitioner(sc: PlainContext) -> None:
    rdd = sc.parallelize(PAIRS, 3).sortByKey()
    assert rdd.partitioner is not None
    assert count_shuffles(rdd.partitionBy(3, rdd.partitioner.partitionFunc)) == 1
    assert rdd.partitioner != sc.parallelize(PAIRS, 3).sortByKey().partitioner


@pytest.mark.parametrize("ascending", [True, False])
def test_partitions_are_sorted_each(sc: PlainContext, ascending: bool) -> None:
    rdd = sc.parallelize(PAIRS[::-1], 3)
    made = rdd.repartitionAndSortWithinPartitions(2, lambda key: key, ascending)
    evens, odds = [0, 0, 0, 2, 2], [1, 1, 1, 3, 3]
    wanted: Any = [evens, odds] if ascending else [evens[::-1], odds[::-1]]
    assert made.keys().glom().collect() == wanted


def test_partitions_are_sorted_by_a_function_of_the_key(sc: PlainContext) -> None:
    rdd = sc.parallelize([(n, None) for n in range(6)], 2)
    made = rdd.repartitionAndSortWithinPartitions(1, keyfunc=lambda key: -key)
    assert made.keys().collect() == [5, 4, 3, 2, 1, 0]
