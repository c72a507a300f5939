"""Unions, differences and products."""

import pytest
from plain import PlainContext, count_shuffles

from pyrite.rdd.sets import unite


def test_union_puts_partitions_one_after_another(sc: PlainContext) -> None:
    rdd = sc.range(3, 2).union(sc.range(2, 1)) + sc.emptyRDD()
    assert rdd.glom().collect() == [[0], [1, 2], [0, 1]]


def test_union_of_many_is_one_step(sc: PlainContext) -> None:
    rdd = unite(sc, [sc.parallelize([n], 1) for n in range(50)])
    assert rdd.collect() == list(range(50))
    assert len(rdd.dependencies) == 50


def test_union_of_nothing_has_no_partitions(sc: PlainContext) -> None:
    rdd = sc.emptyRDD().union(sc.emptyRDD())
    assert (rdd.getNumPartitions(), rdd.collect()) == (0, [])


def test_co_partitioned_unions_go_partition_by_partition(sc: PlainContext) -> None:
    left = sc.parallelize([(1, "a"), (2, "b")], 2).partitionBy(3)
    right = sc.parallelize([(1, "c")], 2).partitionBy(3)
    both = left.union(right)
    assert both.glom().collect() == [[], [(1, "a"), (1, "c")], [(2, "b")]]
    assert both.partitioner == left.partitioner
    assert both.partitionBy(3) is both


def test_other_unions_have_no_partitioner(sc: PlainContext) -> None:
    plain = sc.parallelize([(1, "a")], 2)
    parted = plain.partitionBy(3)
    others = [plain, plain.partitionBy(4), plain.partitionBy(3, hash), sc.emptyRDD()]
    unions = [parted.union(other) for other in others]
    assert [each.partitioner for each in unions] == [None] * 4
    assert [each.getNumPartitions() for each in unions] == [5, 7, 6, 3]


def test_only_rdds_can_be_added(sc: PlainContext) -> None:
    with pytest.raises(TypeError, match="int"):
        sc.range(2) + 3  # type: ignore[operator]


def test_distinct_takes_equal_rows_together(sc: PlainContext) -> None:
    rdd = sc.parallelize([1, 1.0, True, None, None, (1, "a"), (1, "a"), "1"], 3).distinct()
    assert len(rdd.collect()) == 4
    assert rdd.getNumPartitions() == 3
    assert sc.range(3, 3).distinct(2).getNumPartitions() == 2


def test_intersection_gives_each_common_row_once(sc: PlainContext) -> None:
    rdd = sc.parallelize([1, 1, 2, None], 2).intersection(sc.parallelize([1, None, 3], 3))
    assert sorted(rdd.collect(), key=str) == [1, None]
    assert rdd.getNumPartitions() == 5


def test_subtract_keeps_rows_as_often_as_they_are(sc: PlainContext) -> None:
    rdd = sc.parallelize([1, 1, 2, 3, None], 2).subtract(sc.parallelize([2, None, 7], 1))
    assert sorted(rdd.collect()) == [1, 1, 3]


def test_cartesian_pairs_partitions(sc: PlainContext) -> None:
    rdd = sc.range(4, 2).cartesian(sc.parallelize("abc", 3))
    assert rdd.getNumPartitions() == 6
    assert rdd.glom().collect()[2] == [(0, "c"), (1, "c")]
    assert sorted(rdd.collect()) == [(n, c) for n in range(4) for c in "abc"]
    assert count_shuffles(rdd) == 0


def test_zip_pairs_rows(sc: PlainContext) -> None:
    assert sc.range(4, 2).zip(sc.parallelize("abcd", 2)).collect() == list(
        zip(range(4), "abcd", strict=True)
    )


def test_zip_needs_as_many_partitions(sc: PlainContext) -> None:
    with pytest.raises(ValueError, match="same number of partitions: 2 here, 3 there"):
        sc.range(4, 2).zip(sc.range(4, 3))


def test_zip_needs_as_many_rows(sc: PlainContext) -> None:
    with pytest.raises(ValueError, match="partition 1 differs"):
        sc.range(4, 2).zip(sc.range(5, 2)).collect()


def test_a_zip_that_fails_within_a_function_keeps_its_error(sc: PlainContext) -> None:
    def pairs(row: int) -> list[tuple[int, int]]:
        return list(zip([row], [row, row], strict=True))

    with pytest.raises(ValueError, match="argument 2 is longer than argument 1"):
        sc.range(4, 2).map(pairs).zip(sc.range(4, 2)).collect()
