"""Collections on real executors: the same answers, kept together, in groups, seen by the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from marks import Marks

from pyrite import (
    RDD,
    ExtendablePartitioner,
    HashPartitioner,
    SparkContext,
    StaticRangePartitioner,
    StorageLevel,
    TaskContext,
)
from pyrite.errors import TaskFailed, UserError
from pyrite.schedule.commands import LaunchTask
from pyrite.settings import BadSetting

Start = Callable[..., SparkContext]
RANGES = StaticRangePartitioner([100, 200, 300, 400, 500, 600, 700])
# Groups stay as they are.
STILL = {"pyrite__collections__minGroupBytes": "0"}


def pairs(sc: SparkContext, salt: int = 0, count: int = 2000) -> RDD[Any]:
    return sc.parallelize([(number * 7 % 800, (salt, number)) for number in range(count)], 3)


def load(sc: SparkContext, name: str, partitioner: Any, salts: range) -> list[RDD[Any]]:
    """Loads a dataset after another, as hours of a log are."""
    loaded = []
    for salt in salts:
        rdd = pairs(sc, salt).localityPartitionBy(partitioner, name).cache()
        assert rdd.count() == 2000
        loaded.append(rdd)
    return loaded


def plain(grouped: RDD[Any]) -> dict[int, list[list[Any]]]:
    rows = grouped.mapValues(lambda sides: [sorted(each) for each in sides]).collect()
    return dict(rows)


@pytest.mark.parametrize(
    "partitioner",
    [HashPartitioner(5), RANGES, ExtendablePartitioner(RANGES, 3)],
    ids=["hash", "ranges", "extendable"],
)
def test_cogroups_are_as_without_a_namespace(start: Start, partitioner: Any) -> None:
    sc = start(**STILL)
    one, two, three = load(sc, "hours", partitioner, range(3))
    grouped = one.groupWith(two, three)
    assert grouped.getNumPartitions() == partitioner.numPartitions
    expected = pairs(sc).groupWith(pairs(sc, 1), pairs(sc, 2))
    assert plain(grouped) == plain(expected)
    # All was found where it is kept; live rows can't be read elsewhere.
    hits = sc.memory().hits
    assert hits.recomputed == 0 and hits.live == 3 * partitioner.numPartitions
    assert sc.collections()["hours"].rdds == (one.id(), two.id(), three.id())


def test_a_group_is_one_task_with_results_accumulators_and_errors_by_partition(
    start: Start,
) -> None:
    sc = start(**STILL)
    sizes: list[int] = []
    sc._engine.story.listeners.append(
        lambda _, event, commands: sizes.extend(
            len(each.partitions) for each in commands if isinstance(each, LaunchTask)
        )
    )
    [rdd] = load(sc, "hours", ExtendablePartitioner(RANGES, 2), range(1))
    sizes.clear()
    counted = sc.accumulator(0)

    def where(index: int, rows: Any) -> Any:
        context = TaskContext.get()
        assert context is not None and context.partitionId() == index
        counted.add(1)
        return [(index, sorted(key for key, _ in rows))]

    found = dict(rdd.mapPartitionsWithIndex(where).collect())
    assert max(sizes) == 4 and sum(sizes) == 8
    assert counted.value == 8
    assert {RANGES(key): index for index, keys in found.items() for key in keys} == {
        index: index for index in range(8)
    }
    # Maps are grouped too.
    sizes.clear()
    assert rdd.map(lambda pair: (pair[0] % 3, 1)).countByKey() == {0: 668, 1: 667, 2: 665}
    assert rdd.map(lambda pair: (pair[0] % 3, 1)).reduceByKey(int.__add__, 1).count() == 3
    assert max(sizes) == 4

    def fails(index: int, rows: Any) -> Any:
        if index == 5:
            raise KeyError("user")
        return rows

    with pytest.raises(TaskFailed, match="partition 5") as caught:
        rdd.mapPartitionsWithIndex(fails).count()
    assert caught.value.partition == 5
    # A job for some partitions computes only these.
    sizes.clear()
    assert len(sc.runJob(rdd, lambda rows: [len(list(rows))], [1, 2, 6])) == 3
    assert sum(sizes) == 3


def test_groups_follow_the_data(start: Start) -> None:
    sc = start(pyrite__collections__maxGroupBytes="100k", pyrite__collections__minGroupBytes="50k")
    partitioner = ExtendablePartitioner(RANGES, 2)
    [first] = load(sc, "hours", partitioner, range(1))
    seen = sc.collections()["hours"]
    assert seen.partitioner == partitioner and seen.version == 1
    assert [(each.first, each.last) for each in seen.groups] != [(0, 3), (4, 7)]
    assert all(each.bytes <= 100 << 10 or each.first == each.last for each in seen.groups)
    assert "group 0-" in str(seen) and "ExtendablePartitioner" in str(seen)
    # The same report changes nothing.
    sc.reportRDD(first)
    assert sc.collections()["hours"].groups == seen.groups
    first.unpersist()
    tiny = pairs(sc, 1, 10).localityPartitionBy(partitioner, "hours").cache()
    assert tiny.count() == 10
    assert [(each.first, each.last) for each in sc.collections()["hours"].groups] == [(0, 7)]


def test_blocks_in_pools_belong_too(start: Start) -> None:
    sc = start(**STILL)
    rdds = []
    for salt in range(2):
        rdd = pairs(sc, salt).localityPartitionBy(RANGES, "hours").persist(StorageLevel.OFF_HEAP)
        rdd.count()
        rdds.append(rdd)
    assert len(plain(rdds[0].cogroup(rdds[1]))) == 800
    assert sc.memory().hits.recomputed == 0
    assert all(each.executors for each in sc.collections()["hours"].groups)


def test_a_namespace_ends(start: Start) -> None:
    sc = start(**STILL)
    load(sc, "hours", RANGES, range(1))
    with pytest.raises(UserError, match=r"StaticRange.*test_collections.py:\d+, in.*HashPart"):
        pairs(sc).localityPartitionBy(HashPartitioner(2), "hours")
    sc.dropNamespace("hours")
    assert sc.collections() == {}
    load(sc, "hours", HashPartitioner(2), range(1))
    assert len(sc.collections()["hours"].groups) == 2
    with pytest.raises(UserError, match="belongs to no namespace"):
        sc.reportRDD(pairs(sc))


def test_bounds_that_would_never_settle_are_refused(start: Start) -> None:
    with pytest.raises(BadSetting, match=r"maxGroupBytes.*twice"):
        start(pyrite__collections__maxGroupBytes="10m", pyrite__collections__minGroupBytes="6m")


def test_what_an_executor_loses_is_computed_again(start: Start, marks: Marks) -> None:
    import os
    import signal

    sc = start("local-cluster[2,2,512]", spark__task__maxFailures="4", **STILL)
    one, two = load(sc, "hours", ExtendablePartitioner(RANGES, 4), range(2))

    def die_once(rows: Any) -> Any:
        if marks.first("died"):
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    expected = plain(pairs(sc).cogroup(pairs(sc, 1)))
    assert plain(one.cogroup(two).mapPartitions(die_once, True)) == expected
    assert plain(one.cogroup(two)) == expected
