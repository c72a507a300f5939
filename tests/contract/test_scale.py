"""Long lineages, wide shuffles, many jobs: nothing overflows and nothing grows."""

from __future__ import annotations

import gc
import os
from operator import add
from typing import Any

import psutil
import pytest
from marks import wait_until
from programs import descendants

from pyrite import SparkContext
from pyrite.remote.protocol import is_segment


def test_a_lineage_of_5000_maps(sc: SparkContext) -> None:
    rdd = sc.parallelize(range(10), 2)
    for _ in range(5000):
        rdd = rdd.map(lambda x: x + 1)
    assert rdd.collect() == list(range(5000, 5010))
    assert rdd.count() == 10
    text = rdd.toDebugString()
    assert text is not None and text.count(b"\n") == 5000
    del rdd
    gc.collect()


def test_a_lineage_of_3000_partition_functions(sc: SparkContext) -> None:
    rdd = sc.parallelize(range(10), 2)
    for _ in range(3000):
        rdd = rdd.mapPartitions(lambda rows: (x + 1 for x in rows))
    assert rdd.collect() == list(range(3000, 3010))


def test_a_lineage_of_300_shuffles(sc: SparkContext) -> None:
    rdd = sc.parallelize([(x, 1) for x in range(10)], 2)
    for step in range(300):
        rdd = rdd.map(lambda kv: ((kv[0] + 1) % 10, kv[1] + 1)).reduceByKey(add, 2)
        if step % 50 == 49:
            assert rdd.count() == 10
    assert sorted(rdd.collect()) == [(x, 301) for x in range(10)]


def test_an_iteration_of_1000_steps(sc: SparkContext) -> None:
    """A shuffle every ten steps, each result cached and its predecessor dropped."""
    rdd: Any = sc.parallelize([(x, 0) for x in range(20)], 2).cache()
    for step in range(1, 1001):
        following = rdd.mapValues(lambda value: value + 1)
        if step % 10 == 0:
            following = following.map(lambda kv: ((kv[0] + 1) % 20, kv[1])).reduceByKey(max, 2)
        following.cache()
        assert following.count() == 20
        rdd.unpersist()
        rdd = following
    assert sorted(rdd.collect()) == [(x, 1000) for x in range(20)]


@pytest.mark.timeout(600)
def test_a_union_of_1000(sc: SparkContext) -> None:
    many = sc.union([sc.parallelize([x], 1) for x in range(1000)])
    assert many.getNumPartitions() == 1000
    assert many.collect() == list(range(1000))
    chained = sc.parallelize([0], 1)
    for x in range(1, 1000):
        chained = chained.union(sc.parallelize([x], 1))
    assert chained.sum() == sum(range(1000))


def test_a_shuffle_of_300_by_300(sc: SparkContext) -> None:
    rdd = sc.parallelize(range(30_000), 300).map(lambda x: (x % 1000, x))
    summed = rdd.reduceByKey(add, 300)
    assert summed.getNumPartitions() == 300
    assert dict(summed.collect()) == {k: sum(range(k, 30_000, 1000)) for k in range(1000)}


def test_2000_tasks(sc: SparkContext) -> None:
    parts = sc.parallelize(range(4000), 2000).mapPartitionsWithIndex(lambda i, rows: [(i, *rows)])
    assert parts.collect() == [(i, 2 * i, 2 * i + 1) for i in range(2000)]


def test_an_rdd_read_by_many_branches(sc: SparkContext) -> None:
    rdd = sc.parallelize([1], 1)
    for _ in range(12):
        rdd = rdd.union(rdd).coalesce(1)
    assert rdd.sum() == 2**12


def resident_mib(pids: list[int]) -> float:
    return sum(psutil.Process(pid).memory_info().rss for pid in pids) / (1 << 20)


def executor_state(rows: Any) -> list[tuple[int, int, int]]:
    """Stages, snapshots and live RDDs that this executor remembers, apart from the running one."""
    from pyrite.execute.worker import Worker

    gc.collect()
    [worker] = [each for each in gc.get_objects() if isinstance(each, Worker)]
    return [(len(worker.stages) - 1, len(worker.snapshots), len(worker.live.rdds))]


class TestManyJobs:
    JOBS = 1000

    def run(self, sc: SparkContext, number: int) -> None:
        rdd = sc.parallelize(range(8), 2).map(lambda x: (x % 2, x + number))
        match number % 4:
            case 0:
                assert rdd.values().sum() == 28 + 8 * number
            case 1:
                assert len(rdd.reduceByKey(add).collect()) == 2
            case 2:
                cached = rdd.cache()
                assert cached.count() == cached.count() == 8
            case 3:
                held = sc.broadcast([number])
                assert rdd.map(lambda kv: held.value[0]).sum() == 8 * number

    def test_leave_nothing_behind(self, start: Any) -> None:
        sc: SparkContext = start()
        for number in range(200):
            self.run(sc, number)
        pids = [os.getpid(), *(each.pid for each in descendants(os.getpid()))]
        gc.collect()
        before = resident_mib(pids)
        for number in range(self.JOBS):
            self.run(sc, number)
        gc.collect()
        grown = resident_mib(pids) - before
        assert grown < 40, f"{grown:.1f} MiB more after {self.JOBS} jobs"
        self.check_engine(sc)

    def check_engine(self, sc: SparkContext) -> None:
        engine, scheduler = sc._engine, sc._engine.scheduler
        wait_until(lambda: not scheduler.outputs._shuffles, "no shuffle")
        wait_until(
            lambda: not scheduler.storage.kept and not scheduler.storage.persisted, "no kept rows"
        )
        wait_until(lambda: len(scheduler.storage.ledger.segments) <= 3, "only open segments")
        assert (
            not scheduler.jobs._jobs
            and not scheduler.stages._runs
            and not scheduler.attempts._attempts
        )
        assert (
            not engine.stages.kept and not engine.stages.flags and not engine.stages.result_stages
        )
        assert not engine.waiters.by_job and not engine.stages.map_stages
        names = os.listdir(engine.cluster.folders.memory)
        assert len([name for name in names if is_segment(name.encode())]) <= 3
        assert os.listdir(engine.cluster.folders.disk) == ["lock"]
        states = sc.parallelize(range(2), 2).mapPartitions(executor_state).collect()
        assert states == [(0, 0, 0)] * 2
