"""What is made of all values of a key."""

from operator import add

import pytest
from plain import PlainContext, count_shuffles

WORDS = ["the", "cat", "sat", "on", "the", "mat", "with", "the", "other", "cat"]


def test_reduce_by_key_reduces_over_partitions(sc: PlainContext) -> None:
    counts = sc.parallelize(WORDS, 3).map(lambda word: (word, 1)).reduceByKey(add)
    assert counts.collectAsMap() == {word: WORDS.count(word) for word in WORDS}


def test_aggregation_of_partitioned_pairs_is_narrow(sc: PlainContext) -> None:
    parted = sc.parallelize([(n % 5, n) for n in range(20)], 4).partitionBy(3)
    for made in (parted.reduceByKey(add), parted.groupByKey(), parted.foldByKey(0, add)):
        assert count_shuffles(made) == 1
        assert made.partitioner == parted.partitioner
    assert count_shuffles(parted.reduceByKey(add, 4)) == 2
    assert parted.reduceByKey(add).collectAsMap() == {0: 30, 1: 34, 2: 38, 3: 42, 4: 46}
    groups = parted.groupByKey().mapValues(sorted).collectAsMap()
    assert groups == {key: [key, key + 5, key + 10, key + 15] for key in range(5)}


def test_combiners_are_made_on_both_sides(sc: PlainContext) -> None:
    rdd = sc.parallelize([("a", 1), ("a", 2), ("b", 3), ("a", 4)], 2)
    made = rdd.combineByKey(lambda v: [v], lambda c, v: [*c, v], lambda c, d: [*c, "|", *d])
    assert made.collectAsMap() == {"a": [1, 2, "|", 4], "b": [3]}


def test_a_mutable_zero_is_not_shared_between_keys(sc: PlainContext) -> None:
    def append(held: list[int], value: int) -> list[int]:
        held.append(value)
        return held

    zero: list[int] = []
    rdd = sc.parallelize([("a", 1), ("b", 2), ("a", 3)], 1)
    made = rdd.aggregateByKey(zero, append, add)
    assert made.collectAsMap() == {"a": [1, 3], "b": [2]}
    assert zero == []
    folded = sc.parallelize([("a", [1]), ("b", [2]), ("a", [3])], 2).foldByKey(
        zero, lambda a, b: a.extend(b) or a
    )
    assert folded.collectAsMap() == {"a": [1, 3], "b": [2]}


def test_fold_uses_the_zero_once_per_key_and_partition(sc: PlainContext) -> None:
    rdd = sc.parallelize([("a", 1), ("a", 2), ("a", 3), ("b", 4)], 2)
    assert rdd.foldByKey(100, add).collectAsMap() == {"a": 206, "b": 104}


def test_groups_can_be_iterated_again_and_counted(sc: PlainContext) -> None:
    ((key, values),) = sc.parallelize([("a", 1), ("a", 2)], 2).groupByKey().collect()
    assert (key, len(values), sorted(values), sorted(values)) == ("a", 2, [1, 2], [1, 2])
    assert type(values).__name__ == "ResultIterable"


def test_group_by_uses_a_custom_partition_function(sc: PlainContext) -> None:
    rdd = sc.range(10, 2).groupBy(lambda x: x % 3, 2, lambda key: key + 1)
    assert rdd.mapValues(list).glom().collect() == [
        [(1, [1, 4, 7])],
        [(0, [0, 3, 6, 9]), (2, [2, 5, 8])],
    ]


def test_fractions_must_not_be_negative(sc: PlainContext) -> None:
    with pytest.raises(AssertionError, match="Negative fraction value: -1"):
        sc.parallelize([(1, 2)]).sampleByKey(False, {1: -1})


def test_shuffles_of_an_rdd_without_partitions_have_none(sc: PlainContext) -> None:
    made = [sc.emptyRDD().reduceByKey(add), sc.emptyRDD().groupByKey(), sc.emptyRDD().distinct()]
    assert [(each.getNumPartitions(), each.collect()) for each in made] == [(0, [])] * 3
