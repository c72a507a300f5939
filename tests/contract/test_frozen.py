"""An RDD's functions are pickled once: whatever is made again is made of the same version."""

from __future__ import annotations

import gc
from operator import add
from pathlib import Path
from typing import Any

import pytest
from test_deaths import kill_executors
from test_loss import erase, map_outputs
from test_storage import MEMORY, ROWS

from pyrite import SparkContext
from pyrite.errors import UserError
from pyrite.rdd.frozen import Frozen


def frozen_bytes() -> int:
    """What all pipelines that are pickled take together."""
    gc.collect()
    return sum(len(each.pickled) for each in gc.get_objects() if isinstance(each, Frozen))


class TestOneVersion:
    def test_of_a_cache_that_does_not_fit(self, start: Any) -> None:
        sc: SparkContext = start("local[1]", spark__executor__memory=MEMORY)
        version = 1
        kept = sc.range(8 * ROWS, numSlices=8).map(lambda x: (version, x, "x" * 50)).cache()
        assert kept.count() == 8 * ROWS
        in_memory = sum(len(each) for each in sc._engine.scheduler.storage.kept._live.values())
        assert 0 < in_memory < 8
        version = 2
        assert kept.keys().countByValue() == {1: 8 * ROWS}

    def test_of_kept_rows_that_are_lost(self, start: Any) -> None:
        sc: SparkContext = start()
        version = 1
        kept = sc.range(8, numSlices=8).map(lambda x: version).cache()
        assert kept.take(1) == [1]
        version = 2
        kill_executors(sc)
        assert kept.collect() == [1] * 8

    def test_of_map_outputs_that_are_lost(self, sc: SparkContext) -> None:
        version = 1
        pairs = sc.range(8, numSlices=4).map(lambda x: (x, version))
        reduced = pairs.reduceByKey(add, 2)
        assert reduced.values().collect() == [1] * 8
        version = 2
        erase(sc, map_outputs(sc)[1])
        assert reduced.values().collect() == [1] * 8
        assert pairs.values().collect() == [2] * 8

    def test_of_all_partitions_of_an_iterator(self, sc: SparkContext) -> None:
        version = 1
        rows = sc.range(3, numSlices=3).map(lambda x: version).toLocalIterator()
        found = [next(rows)]
        version = 2
        assert [*found, *rows] == [1, 1, 1]

    def test_of_a_checkpoint_and_what_was_frozen_before_it(
        self, start: Any, tmp_path: Path
    ) -> None:
        sc: SparkContext = start()
        sc.setCheckpointDir(str(tmp_path))
        version = 1
        rdd = sc.range(4, numSlices=2).map(lambda x: version)
        before = rdd.map(str)
        assert before.collect() == ["1"] * 4
        version = 2
        rdd.checkpoint()
        version = 3
        after, union = rdd.map(str), rdd.union(rdd)
        assert rdd.sum() == 8 and rdd.isCheckpointed()
        assert (before.collect(), after.collect()) == (["1"] * 4, ["2"] * 4)
        assert (rdd.collect(), union.collect()) == ([2] * 4, [2] * 8)


class TestBytes:
    def test_go_with_their_rdd(self, sc: SparkContext) -> None:
        before = frozen_bytes()
        large = "x" * 100_000
        rdd = sc.range(4, numSlices=2).map(lambda x: (x, large)).cache()
        reduced = rdd.reduceByKey(max).mapValues(lambda value: value + large)
        assert [len(value) for value in reduced.values().collect()] == [200_000] * 4
        assert frozen_bytes() > before + 100_000
        del reduced
        assert rdd.count() == 4
        del rdd
        assert frozen_bytes() < before + 1_000

    def test_do_not_grow_with_jobs(self, sc: SparkContext) -> None:
        rdd = sc.range(4, numSlices=2).map(lambda x: (x % 2, x)).reduceByKey(add)
        rdd.collect()
        before = frozen_bytes()
        for _ in range(20):
            assert rdd.count() == 2
            assert rdd.map(lambda pair: pair[1]).sum() == 6
            assert len(rdd.collect()) == 2
        assert frozen_bytes() == before

    def test_of_a_long_line_of_frozen_rdds(self, sc: SparkContext) -> None:
        rdd = sc.range(4, numSlices=2)
        for step in range(3000):
            rdd = rdd.map(lambda x: x + step).coalesce(2)  # noqa: B023
        assert rdd.collect() == [x + sum(range(3000)) for x in range(4)]
        del rdd
        gc.collect()


def test_a_broadcast_that_was_destroyed_is_named(sc: SparkContext) -> None:
    held = sc.broadcast(3)
    rdd = sc.range(2).map(lambda x: held.value).cache()
    held.destroy()
    for action in (rdd.collect, rdd.count, rdd.distinct().count):
        with pytest.raises(UserError, match=r"broadcast \d+ was destroyed"):
            action()


def test_a_destroyed_broadcast_harms_nothing_that_does_not_use_it(sc: SparkContext) -> None:
    held = sc.broadcast(3)
    rows = sc.range(2, numSlices=2)
    used = rows.map(lambda x: (x, held.value))
    reduced = used.reduceByKey(add)
    assert sorted(reduced.collect()) == [(0, 3), (1, 3)]
    held.destroy()
    # Its map outputs are there already.
    assert sorted(reduced.collect()) == [(0, 3), (1, 3)]
    assert rows.sum() == 1
