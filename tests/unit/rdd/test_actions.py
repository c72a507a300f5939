"""What comes back to the driver."""

from collections import defaultdict
from operator import add
from typing import Any

import pytest
from plain import PlainContext

from pyrite.rdd.functions import count_rows
from pyrite.rdd.partitioner import Partitioner


@pytest.mark.parametrize(
    "rows", [iter([1, 2, 3]), iter(range(3)), iter((1, 2, 3)), (x for x in "abc"), map(str, "abc")]
)
def test_counting_counts_what_is_left(rows: Any) -> None:
    next(rows)
    assert count_rows(0, rows) == 2


def test_take_reads_no_more_partitions_than_it_must(sc: PlainContext) -> None:
    assert sc.range(20, 10).take(1) == [0]
    assert sc.jobs == [[0]]


def test_take_looks_further_when_it_finds_nothing(sc: PlainContext) -> None:
    rdd = sc.range(100, 100)
    assert rdd.filter(lambda x: x > 90).take(3) == [91, 92, 93]
    assert sc.jobs == [[0], list(range(1, 5)), list(range(5, 25)), list(range(25, 100))]


def test_take_estimates_from_what_it_found(sc: PlainContext) -> None:
    assert sc.range(20, 10).take(7) == list(range(7))
    assert sc.jobs == [[0], [1, 2, 3, 4]]


def test_take_does_not_read_on_within_a_partition(sc: PlainContext) -> None:
    seen: list[int] = []
    assert sc.range(10, 1).map(lambda x: seen.append(x) or x).take(2) == [0, 1]
    assert seen == [0, 1]


def test_take_of_none_runs_no_job(sc: PlainContext) -> None:
    assert (sc.range(5).take(0), sc.range(5).take(-1), sc.jobs) == ([], [], [])


def test_first_and_is_empty(sc: PlainContext) -> None:
    assert sc.parallelize([None, 1], 1).first() is None
    assert not sc.parallelize([None], 1).isEmpty()
    for empty in (sc.emptyRDD(), sc.parallelize([], 3)):
        assert empty.isEmpty()
        with pytest.raises(ValueError, match="RDD is empty"):
            empty.first()


def test_reductions_of_nothing_fail_as_in_pyspark(sc: PlainContext) -> None:
    for empty in (sc.emptyRDD(), sc.parallelize([], 2)):
        for action in (lambda rdd: rdd.reduce(add), lambda rdd: rdd.max(), lambda rdd: rdd.min()):
            with pytest.raises(ValueError, match=r"Can not reduce\(\) empty RDD"):
                action(empty)
        with pytest.raises(ValueError, match="Cannot reduce empty RDD"):
            empty.treeReduce(add)


def test_summaries_of_no_partitions_fail_as_in_pyspark(sc: PlainContext) -> None:
    empty = sc.emptyRDD()
    for action in (empty.countByValue, empty.countByKey, lambda: empty.top(2), empty.stats):
        with pytest.raises(ValueError, match=r"Can not reduce\(\) empty RDD"):
            action()
    with pytest.raises(ValueError, match=r"Can not reduce\(\) empty RDD"):
        empty.reduceByKeyLocally(add)
    assert (empty.takeOrdered(2), empty.sum(), empty.count()) == ([], 0, 0)
    assert empty.treeAggregate(3, add, add) == 3


def test_folding_keeps_the_order_of_partitions(sc: PlainContext) -> None:
    letters = sc.parallelize("abcdef", 3)
    assert letters.reduce(add) == "abcdef"
    assert letters.fold(">", add) == ">>ab>cd>ef"
    assert letters.aggregate("", lambda held, x: held + x.upper(), add) == "ABCDEF"


def test_partitions_do_not_share_a_mutable_zero(sc: PlainContext) -> None:
    zero: list[int] = []

    def append(held: list[int], row: int) -> list[int]:
        held.append(row)
        return held

    def extend(held: list[int], more: list[int]) -> list[int]:
        held.extend(more)
        return held

    rdd = sc.range(6, 3)
    for _ in range(2):
        assert rdd.aggregate(zero, append, extend) == [0, 1, 2, 3, 4, 5]
        assert rdd.treeAggregate(zero, append, extend) == [0, 1, 2, 3, 4, 5]
    assert zero == []


@pytest.mark.parametrize("depth", [1, 2, 3, 10])
def test_trees_of_any_depth_agree(sc: PlainContext, depth: int) -> None:
    rdd = sc.range(100, 30)
    assert rdd.treeReduce(add, depth) == rdd.treeAggregate(0, add, add, depth) == 4950
    assert sc.parallelize([3, 4], 8).treeReduce(add, depth) == 7


def test_trees_take_real_stages(sc: PlainContext) -> None:
    sc.range(100, 30).treeAggregate(0, add, add, depth=3)
    (last,) = sc.jobs
    assert len(last) < 10


def test_a_tree_needs_a_depth(sc: PlainContext) -> None:
    with pytest.raises(ValueError, match="Depth cannot be smaller than 1 but got 0"):
        sc.range(3).treeReduce(add, 0)
    with pytest.raises(ValueError, match="Depth cannot be smaller than 1 but got 0"):
        sc.range(3).treeAggregate(0, add, add, 0)


def test_a_tree_reduces_none_like_any_other_row(sc: PlainContext) -> None:
    assert sc.parallelize([None, 1, None], 3).treeReduce(lambda a, b: [a, b]) == [[None, 1], None]


def test_extremes_of_ties_are_the_first(sc: PlainContext) -> None:
    words = sc.parallelize(["bb", "aa", "cc", "d", "e"], 3)
    assert (words.max(key=len), words.min(key=len)) == ("bb", "d")
    assert words.top(2, key=len) == ["bb", "aa"]
    assert words.takeOrdered(3, key=len) == ["d", "e", "bb"]


def test_take_ordered_refuses_negative_numbers(sc: PlainContext) -> None:
    assert sc.range(3).takeOrdered(0) == sc.range(3).top(-1) == []
    with pytest.raises(ValueError, match="top N cannot be negative"):
        sc.range(3).takeOrdered(-1)


def test_counts_answer_zero_for_what_was_not_seen(sc: PlainContext) -> None:
    counts = sc.parallelize([1, 2, 1.0, None], 2).countByValue()
    assert (type(counts), counts, counts["absent"]) == (
        defaultdict,
        {1: 2, 2: 1, None: 1, "absent": 0},
        0,
    )


def test_foreach_runs_for_its_effect(sc: PlainContext) -> None:
    seen: list[int] = []
    assert sc.range(4, 2).foreach(seen.append) is None
    assert seen == [0, 1, 2, 3]


def test_foreach_partition_runs_generators_and_ignores_results(sc: PlainContext) -> None:
    seen: list[int] = []

    def generator(rows: Any) -> Any:
        for row in rows:
            seen.append(row)
            yield row

    rdd = sc.range(4, 2)
    rdd.foreachPartition(generator)
    rdd.foreachPartition(lambda rows: 5)
    assert seen == [0, 1, 2, 3]


def test_a_local_iterator_computes_partitions_as_they_are_reached(sc: PlainContext) -> None:
    rows = sc.range(6, 3).toLocalIterator()
    assert sc.jobs == []
    assert (next(rows), sc.jobs) == (0, [[0]])
    assert list(rows) == [1, 2, 3, 4, 5]


def test_lookup_reads_the_one_partition(sc: PlainContext) -> None:
    rdd = sc.parallelize([(n, -n) for n in range(8)], 2)
    assert rdd.lookup(5) == [-5]
    parted = rdd.partitionBy(4).mapValues(str)
    assert (parted.lookup(5), parted.lookup(11)) == (["-5"], [])
    assert sc.jobs == [[0, 1], [1], [3]]


def test_lookup_asks_all_partitions_when_the_driver_cannot_hash(
    sc: PlainContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyrite.hashing import HashUnknownHere

    rdd = sc.parallelize([(n, -n) for n in range(8)], 2).partitionBy(4)

    def refuse(self: Partitioner, key: Any) -> int:
        raise HashUnknownHere(type(key))

    monkeypatch.setattr(Partitioner, "__call__", refuse)
    assert rdd.lookup(5) == [-5]
    assert sc.jobs == [[0, 1, 2, 3]]


def test_keyed_summaries(sc: PlainContext) -> None:
    rdd = sc.parallelize([("a", 1), ("b", 2), ("a", 3)], 2)
    assert rdd.countByKey() == {"a": 2, "b": 1}
    assert rdd.reduceByKeyLocally(add) == {"a": 4, "b": 2}
    assert rdd.collectAsMap() == {"a": 3, "b": 2}


@pytest.mark.parametrize("replace", [True, False])
def test_a_sample_has_the_size_asked_for(sc: PlainContext, replace: bool) -> None:
    rdd = sc.range(100, 3)
    assert [len(rdd.takeSample(replace, size, 5)) for size in (0, 1, 30)] == [0, 1, 30]
    assert rdd.takeSample(replace, 10, 3) == rdd.takeSample(replace, 10, 3)
    assert len(rdd.takeSample(replace, 150, 5)) == (150 if replace else 100)


def test_a_sample_has_a_size_that_can_be(sc: PlainContext) -> None:
    assert sc.emptyRDD().takeSample(False, 3) == sc.parallelize([], 2).takeSample(True, 3) == []
    with pytest.raises(ValueError, match="cannot be negative"):
        sc.range(3).takeSample(False, -1)
    with pytest.raises(ValueError, match="cannot be greater"):
        sc.range(3).takeSample(False, 2**63 - 1)


def test_collect_with_job_group_names_the_group(sc: PlainContext) -> None:
    with pytest.warns(FutureWarning, match="InheritableThread"):
        assert sc.range(3).collectWithJobGroup("group", "what it does") == [0, 1, 2]
    assert sc.groups == ["group"]


def test_cleaned_shuffles_are_computed_again(sc: PlainContext) -> None:
    rdd = sc.parallelize([(1, 2)]).partitionBy(2).reduceByKey(add, 3).mapValues(str)
    assert rdd.collect() == [(1, "2")]
    assert len(sc._dealt) == 2
    rdd.cleanShuffleDependencies()
    assert len(sc._dealt) == 0
    assert rdd.collect() == [(1, "2")]


def test_shuffles_behind_a_persisted_rdd_stay(sc: PlainContext) -> None:
    kept = sc.parallelize([(1, 2)]).partitionBy(2).cache()
    rdd = kept.reduceByKey(add, 3)
    rdd.collect()
    rdd.cleanShuffleDependencies()
    assert len(sc._dealt) == 1
