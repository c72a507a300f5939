"""Operators on single rows and partitions."""

from itertools import chain

import pytest
from plain import PlainContext


def test_record_operators_chain(sc: PlainContext) -> None:
    rdd = (
        sc.range(10, 3).map(lambda x: x + 1).filter(lambda x: x % 2 == 0).flatMap(lambda x: [x, -x])
    )
    assert rdd.collect() == [2, -2, 4, -4, 6, -6, 8, -8, 10, -10]


def test_a_stop_iteration_of_a_users_function_does_not_end_the_partition(sc: PlainContext) -> None:
    def stop(x: int) -> int:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        sc.range(3, 1).map(stop).collect()
    with pytest.raises(RuntimeError, match="StopIteration"):
        sc.range(3, 1).filter(stop).count()


def test_nothing_runs_before_an_action(sc: PlainContext) -> None:
    seen: list[int] = []
    pairs = sc.range(6, 3).map(lambda x: seen.append(x) or (x, x))
    pairs.groupByKey().join(pairs).distinct().repartition(2).coalesce(1).cartesian(pairs).glom()
    pairs.zipWithUniqueId()
    pairs.sample(False, 0.5, 1)
    assert (seen, sc.jobs) == ([], [])


def test_map_partitions_sees_each_partition_once(sc: PlainContext) -> None:
    rdd = sc.range(5, 2)
    assert rdd.mapPartitions(lambda rows: [sum(rows)]).collect() == [1, 9]
    assert rdd.mapPartitionsWithIndex(lambda i, rows: [(i, *rows)]).collect() == [
        (0, 0, 1),
        (1, 2, 3, 4),
    ]
    with pytest.warns(FutureWarning, match="mapPartitionsWithIndex"):
        assert rdd.mapPartitionsWithSplit(lambda i, rows: [i]).collect() == [0, 1]


def test_a_partition_function_that_gives_no_iterable_fails(sc: PlainContext) -> None:
    with pytest.raises(TypeError):
        sc.range(2, 1).mapPartitions(lambda rows: 5).collect()  # type: ignore[arg-type, return-value]


def test_zip_with_index_counts_all_but_the_last_partition(sc: PlainContext) -> None:
    rdd = sc.parallelize("abcde", 3).zipWithIndex()
    assert sc.jobs == [[0, 1]]
    assert rdd.collect() == [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("e", 4)]


def test_zip_with_index_of_one_or_no_partition_runs_no_job(sc: PlainContext) -> None:
    one, none = sc.parallelize("ab", 1).zipWithIndex(), sc.emptyRDD().zipWithIndex()
    assert sc.jobs == []
    assert (one.collect(), none.collect()) == ([("a", 0), ("b", 1)], [])


def test_unique_ids_are_spaced_by_the_number_of_partitions(sc: PlainContext) -> None:
    assert sc.parallelize("abcde", 3).zipWithUniqueId().collect() == [
        ("a", 0),
        ("b", 1),
        ("c", 4),
        ("d", 2),
        ("e", 5),
    ]


def test_splits_share_the_rows(sc: PlainContext) -> None:
    parts = sc.range(200, 3).randomSplit([1, 2, 1], seed=7)
    rows = [part.collect() for part in parts]
    assert sorted(chain.from_iterable(rows)) == list(range(200))
    assert all(rows)


def test_splits_without_a_seed_agree_with_each_other(sc: PlainContext) -> None:
    first, second = sc.range(100, 2).randomSplit([1, 1])
    assert sorted(first.collect() + second.collect()) == list(range(100))


@pytest.mark.parametrize("weights", [[-1, 2], [0, 0], []])
def test_weights_must_be_positive_together(sc: PlainContext, weights: list[int]) -> None:
    with pytest.raises(ValueError, match="eights must be"):
        sc.range(3).randomSplit(weights)


@pytest.mark.parametrize("fraction", [-0.1, float("nan")])
def test_a_fraction_must_not_be_negative(sc: PlainContext, fraction: float) -> None:
    with pytest.raises(ValueError, match="nonnegative"):
        sc.range(3).sample(False, fraction)


def test_barrier_marks_the_rdd(sc: PlainContext) -> None:
    rdd = sc.range(4, 2)
    plain, barrier = rdd.mapPartitions(list), rdd.barrier().mapPartitions(list)
    indexed = rdd.barrier().mapPartitionsWithIndex(lambda i, rows: [i])
    assert (plain._barrier, barrier._barrier, indexed._barrier) == (False, True, True)
    assert indexed.collect() == [0, 1]
