"""The lineage itself: numbers of partitions, debug strings, what may not travel."""

import pickle

import pytest
from plain import PlainContext

from pyrite.errors import ReferencedInTask, UserError
from pyrite.storagelevel import StorageLevel


def test_long_lineages_need_no_recursion(sc: PlainContext) -> None:
    rdd = sc.range(4, 2)
    for _ in range(5000):
        rdd = rdd.map(abs)
    assert rdd.getNumPartitions() == 2
    text = rdd.toDebugString()
    assert text is not None and len(text.splitlines()) == 5001


def test_a_debug_string_indents_at_shuffles(sc: PlainContext) -> None:
    rdd = sc.parallelize([1, 2], 3).keyBy(str).partitionBy(2).mapValues(str)
    text = rdd.toDebugString()
    assert text is not None
    heads = [line.split("RDD")[0] for line in text.decode().splitlines()]
    assert heads == ["(2) mapValues ", " |  shuffled ", " +-(3) keyBy ", "    |  parallelize "]


def test_a_debug_string_tells_where_functions_ran(sc: PlainContext) -> None:
    rdd = sc.parallelize([1, 2], 3).filter(len).map(str)
    sc.said = ["filter len, map str, sum: in C", "filter len, map str, count: in Python: a reason"]
    text = rdd.toDebugString()
    assert text is not None
    ends = [line.partition(" [")[2] for line in text.decode().splitlines()]
    assert ends == ["in Python: a reason]", "in Python: a reason]", ""]


def test_a_debug_string_shows_shared_ancestors_once(sc: PlainContext) -> None:
    rdd = sc.range(1, 1)
    for _ in range(40):
        rdd = rdd.union(rdd).coalesce(1)
    text = rdd.toDebugString()
    assert text is not None and len(text.splitlines()) < 200


def test_an_rdd_cannot_travel_to_a_task(sc: PlainContext) -> None:
    with pytest.raises(ReferencedInTask, match="broadcast"):
        pickle.dumps(sc.range(3))


def test_the_storage_level_changes_only_after_unpersist(sc: PlainContext) -> None:
    rdd = sc.range(3).cache()
    assert rdd.persist(StorageLevel.MEMORY_ONLY) is rdd
    with pytest.raises(UserError, match="unpersist"):
        rdd.persist(StorageLevel.DISK_ONLY)
    assert rdd.unpersist().persist(StorageLevel.DISK_ONLY).getStorageLevel().useDisk
