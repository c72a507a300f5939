"""Where rows lie: coalesce, repartition, partitionBy."""

import pytest
from plain import PlainContext, count_shuffles

from pyrite.rdd import Partitioner, portable_hash


def test_coalesce_merges_neighbours(sc: PlainContext) -> None:
    assert sc.range(10, 7).coalesce(3).glom().collect() == [[0, 1], [2, 3, 4], [5, 6, 7, 8, 9]]
    assert sc.range(10, 5).coalesce(2).glom().collect() == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]


def test_coalesce_never_makes_more(sc: PlainContext) -> None:
    assert sc.range(4, 2).coalesce(5).glom().collect() == [[0, 1], [2, 3]]
    assert sc.emptyRDD().coalesce(3).getNumPartitions() == 0


def test_coalesce_is_narrow_and_repartition_is_not(sc: PlainContext) -> None:
    rdd = sc.range(10, 4)
    assert count_shuffles(rdd.coalesce(2)) == 0
    assert count_shuffles(rdd.coalesce(2, shuffle=True)) == 1


def test_repartition_spreads_evenly(sc: PlainContext) -> None:
    rdd = sc.range(1000, 3).repartition(7)
    sizes = [len(part) for part in rdd.glom().collect()]
    assert sorted(rdd.collect()) == list(range(1000))
    assert max(sizes) - min(sizes) <= 7


def test_repartition_fills_partitions_of_an_empty_rdd(sc: PlainContext) -> None:
    assert sc.emptyRDD().repartition(2).glom().collect() == [[], []]


@pytest.mark.parametrize("count", [0, -1])
def test_the_number_of_partitions_must_be_positive(sc: PlainContext, count: int) -> None:
    pairs = sc.parallelize([(1, 2)])
    for ask in (pairs.coalesce, pairs.repartition, pairs.partitionBy, pairs.groupByKey):
        with pytest.raises(ValueError, match="must be positive"):
            ask(count)


def test_the_number_of_partitions_must_be_a_number(sc: PlainContext) -> None:
    with pytest.raises(TypeError, match="'two'"):
        sc.parallelize([(1, 2)]).partitionBy("two")  # type: ignore[arg-type]


def test_partition_by_places_keys_by_their_hash(sc: PlainContext) -> None:
    rdd = sc.parallelize([(n, -n) for n in range(6)], 2).partitionBy(3)
    assert rdd.glom().collect() == [[(0, 0), (3, -3)], [(1, -1), (4, -4)], [(2, -2), (5, -5)]]
    assert rdd.partitioner == Partitioner(3, portable_hash)


def test_partition_by_takes_results_modulo_the_number(sc: PlainContext) -> None:
    rdd = sc.parallelize([(n, n) for n in range(4)], 2).partitionBy(3, lambda key: -key - 1)
    assert rdd.keys().glom().collect() == [[2], [1], [0, 3]]


def test_partition_by_the_same_partitioner_is_the_same_rdd(sc: PlainContext) -> None:
    rdd = sc.parallelize([(1, 2)], 2).partitionBy(3)
    assert rdd.partitionBy(3) is rdd
    assert rdd.partitionBy(4) is not rdd
    assert rdd.partitionBy(3, hash) is not rdd


def test_shuffles_keep_the_number_of_partitions_by_default(sc: PlainContext) -> None:
    assert sc.parallelize([(1, 2)], 5).partitionBy(None).getNumPartitions() == 5


def test_default_parallelism_decides_when_it_is_set(sc: PlainContext) -> None:
    sc._conf.set("spark.default.parallelism", 4)
    sc.defaultParallelism = 4
    rdd = sc.parallelize([(1, 2)], 3)
    made = [rdd.groupByKey(), rdd.join(rdd), rdd.distinct(), rdd.sortByKey(), rdd.partitionBy(None)]
    assert [each.getNumPartitions() for each in made] == [4, 4, 4, 4, 4]


def test_the_partitioner_stays_where_keys_stay(sc: PlainContext) -> None:
    rdd = sc.parallelize([(n, n) for n in range(8)], 2).partitionBy(3)
    kept = [
        rdd.mapValues(str),
        rdd.flatMapValues(lambda v: [v]),
        rdd.filter(bool),
        rdd.map(lambda row: row, preservesPartitioning=True),
        rdd.flatMap(lambda row: [row], preservesPartitioning=True),
        rdd.mapPartitions(list, preservesPartitioning=True),
        rdd.mapPartitionsWithIndex(lambda i, rows: rows, preservesPartitioning=True),
        rdd.sample(False, 0.5, 1),
        rdd.sampleByKey(False, dict.fromkeys(range(8), 0.5), 1),
        rdd.cache(),
        rdd.union(rdd),
        rdd.reduceByKey(max),
        rdd.groupByKey(),
        rdd.join(rdd),
        rdd.subtractByKey(rdd),
    ]
    assert [each.op.name for each in kept if each.partitioner != rdd.partitioner] == []


def test_the_partitioner_goes_where_keys_may_change(sc: PlainContext) -> None:
    rdd = sc.parallelize([(n, n) for n in range(8)], 2).partitionBy(3)
    lost = [
        rdd.map(lambda row: row),
        rdd.flatMap(lambda row: [row]),
        rdd.mapPartitions(list),
        rdd.glom(),
        rdd.keys(),
        rdd.values(),
        rdd.keyBy(len),
        rdd.coalesce(3),
        rdd.repartition(3),
        rdd.distinct(),
        rdd.cartesian(rdd),
        rdd.zip(rdd),
        rdd.zipWithIndex(),
        rdd.zipWithUniqueId(),
        rdd.intersection(rdd),
        rdd.subtract(rdd),
        rdd.sortBy(len),
    ]
    assert [each.op.name for each in lost if each.partitioner is not None] == []
