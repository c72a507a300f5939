"""Executors that die: the same answer, later, or a report of who died and of what."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from typing import Any

import pytest
from marks import Marks, wait_until

from pyrite import SparkContext, StorageLevel
from pyrite.errors import ClusterError, ExecutorDied, TaskFailed


def executor_pids(sc: SparkContext) -> list[int]:
    """The executors that can take tasks."""
    links = list(sc._engine.cluster.by_id.values())
    return [each.pid for each in links if each.joined and each.pid is not None]


def wait_for_executors(sc: SparkContext) -> None:
    wait_until(lambda: len(executor_pids(sc)) == sc._executors, "all executors")


def kill_all(sc: SparkContext) -> list[int]:
    """Kills all executors, and returns the pids that they had."""
    wait_for_executors(sc)
    pids = executor_pids(sc)
    for pid in pids:
        # A failed job does not wait for executors that its other tasks are just ending.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pids


def kill_executors(sc: SparkContext) -> None:
    """Kills all executors and waits until others have taken their places."""
    before = kill_all(sc)
    wait_until(lambda: len(set(executor_pids(sc)) - set(before)) == sc._executors, "new executors")


def exit_process() -> None:
    os._exit(3)


def kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def segfault() -> None:
    ctypes.string_at(0)


DEATHS = {
    "exited with code 3": exit_process,
    "killed by SIGKILL": kill_process,
    "killed by SIGSEGV": segfault,
}


class TestDeathInTask:
    @pytest.mark.parametrize("reason", DEATHS)
    def test_is_retried(self, sc: SparkContext, marks: Marks, reason: str) -> None:
        die = DEATHS[reason]

        def die_once(x: int) -> int:
            if x == 2 and marks.first("death"):
                die()
            return x

        assert sc.parallelize(range(4), 4).map(die_once).collect() == [0, 1, 2, 3]
        assert marks.count("death") == 1

    @pytest.mark.parametrize("reason", DEATHS)
    def test_is_reported_after_the_limit(self, sc: SparkContext, marks: Marks, reason: str) -> None:
        die = DEATHS[reason]

        def die_always(x: int) -> int:
            if x == 2:
                marks.add("death")
                die()
            return x

        with pytest.raises(ExecutorDied) as caught:
            sc.parallelize(range(4), 4).map(die_always).collect()
        assert caught.value.partition == 2
        assert caught.value.attempts == marks.count("death") == 4
        assert reason in str(caught.value)
        assert "partition 2 of 4" in str(caught.value)
        assert isinstance(caught.value, ClusterError)

    def test_limit_is_a_setting(self, start: Any, marks: Marks) -> None:
        sc = start(spark__task__maxFailures=2)

        def die_always(x: int) -> None:
            marks.add("death")
            os._exit(1)

        with pytest.raises(ExecutorDied):
            sc.parallelize([1], 1).foreach(die_always)
        assert marks.count("death") == 2

    def test_of_one_task_spares_the_others(self, sc: SparkContext, marks: Marks) -> None:
        def work(x: int) -> int:
            marks.add(x)
            if x == 0 and marks.first("death"):
                # The other task must be done, so that its executor is not the one that dies.
                marks.wait(1)
                os._exit(1)
            return x

        assert sc.parallelize(range(2), 2).map(work).collect() == [0, 1]
        assert (marks.count(0), marks.count(1)) == (2, 1)

    def test_again_and_again_leaves_the_context_usable(self, sc: SparkContext) -> None:
        for _ in range(5):
            with pytest.raises(ExecutorDied):
                sc.parallelize(range(4), 4).foreach(lambda x: os._exit(9))
        assert len(sc._engine.scheduler.fleet.slots) == 2


class TestDeathOutsideTasks:
    def test_idle_executors_are_replaced(self, sc: SparkContext) -> None:
        kill_executors(sc)
        assert sc.parallelize(range(4), 4).sum() == 6

    def test_a_job_right_after_both_were_killed(self, sc: SparkContext) -> None:
        kill_all(sc)
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6

    def test_live_rows_are_made_again(self, sc: SparkContext, marks: Marks) -> None:
        def compute(index: int, rows: Any) -> Any:
            marks.add(index)
            return rows

        rdd = sc.parallelize(range(4), 4).mapPartitionsWithIndex(compute).cache()
        assert rdd.sum() == rdd.sum() == 6
        assert marks.counts() == {"0": 1, "1": 1, "2": 1, "3": 1}
        kill_executors(sc)
        assert rdd.sum() == rdd.sum() == 6
        assert marks.counts() == {"0": 2, "1": 2, "2": 2, "3": 2}

    def test_map_outputs_outlive_their_executor(self, sc: SparkContext, marks: Marks) -> None:
        def compute(index: int, rows: Any) -> Any:
            marks.add(index)
            return ((x % 3, x) for x in rows)

        rdd = sc.parallelize(range(9), 3).mapPartitionsWithIndex(compute)
        summed = rdd.reduceByKey(lambda a, b: a + b, 2)
        assert sorted(summed.collect()) == [(0, 9), (1, 12), (2, 15)]
        kill_executors(sc)
        assert sorted(summed.collect()) == [(0, 9), (1, 12), (2, 15)]
        assert marks.counts() == {"0": 1, "1": 1, "2": 1}

    def test_of_the_fork_server(self, sc: SparkContext) -> None:
        rdd = sc.parallelize(range(100), 4).map(lambda x: (x % 5, x)).reduceByKey(max)
        expected = sorted(rdd.collect())
        fork_server = sc._engine.cluster.driver.fork_server.process
        fork_server.kill()
        wait_until(
            lambda: sc._engine.cluster.driver.fork_server.process is not fork_server,
            "a new fork server",
        )
        assert sorted(rdd.collect()) == expected
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6

    def test_of_the_fork_server_while_tasks_run(self, sc: SparkContext, marks: Marks) -> None:
        fork_server_pid = sc._engine.cluster.driver.fork_server.process.pid

        def kill_fork_server(x: int) -> int:
            if x == 1 and marks.first("death"):
                os.kill(fork_server_pid, signal.SIGKILL)
            return x

        assert sc.parallelize(range(4), 4).map(kill_fork_server).collect() == [0, 1, 2, 3]


class TestDeathInShuffle:
    ROWS = 20_000

    def test_while_map_output_is_made(self, sc: SparkContext, marks: Marks) -> None:
        def rows(index: int, source: Any) -> Any:
            for x in source:
                if x == self.ROWS // 2 and marks.first("death"):
                    kill_process()
                yield x % 10, x

        rdd = sc.parallelize(range(self.ROWS), 4).mapPartitionsWithIndex(rows)
        self.check(rdd.reduceByKey(lambda a, b: a + b, 3))

    def test_while_map_output_is_written(self, sc: SparkContext, marks: Marks) -> None:
        class Fatal:
            """Kills the process that encodes it, the first time."""

            def __reduce__(self) -> Any:
                if marks.first("death"):
                    kill_process()
                return int, (0,)

        def rows(index: int, source: Any) -> Any:
            for x in source:
                yield x, (Fatal() if x == 3000 else 0)

        rdd = sc.parallelize(range(4000), 4).mapPartitionsWithIndex(rows).partitionBy(3)
        assert sorted(rdd.keys().collect()) == list(range(4000))
        assert marks.count("death") == 1

    def test_while_a_reducer_reads(self, sc: SparkContext, marks: Marks) -> None:
        maps = Marks(marks.folder)

        def rows(index: int, source: Any) -> Any:
            maps.add(f"map {index}")
            return ((x % 10, x) for x in source)

        def merge(a: int, b: int) -> int:
            if maps.count("map 3") and maps.first("death"):
                kill_process()
            return a + b

        rdd = sc.parallelize(range(self.ROWS), 4).mapPartitionsWithIndex(rows).partitionBy(3)
        self.check(rdd.mapPartitions(list).reduceByKey(merge, 3))
        assert marks.count("death") == 1
        assert [marks.count(f"map {i}") for i in range(4)] == [1, 1, 1, 1]

    def check(self, rdd: Any) -> None:
        expected = {k: sum(range(k, self.ROWS, 10)) for k in range(10)}
        assert dict(rdd.collect()) == expected


class TestAccumulators:
    """Each successful task counts once, whatever failed before it."""

    def test_of_a_result_stage(self, start: Any, marks: Marks) -> None:
        sc = start("local[2,4]")
        total, seen = sc.accumulator(0), sc.accumulator(0)

        def work(x: int) -> None:
            total.add(x)
            if x % 3 == 0 and marks.first(f"raise {x}"):
                raise OSError("flaky")
            if x % 4 == 1 and marks.first(f"die {x}"):
                kill_process()
            seen.add(1)

        sc.parallelize(range(12), 6).foreach(work)
        assert (total.value, seen.value) == (66, 12)

    def test_of_a_map_stage(self, start: Any, marks: Marks) -> None:
        sc = start("local[2,4]")
        seen = sc.accumulator(0)

        def work(x: int) -> tuple[int, int]:
            seen.add(1)
            if x % 3 == 0 and marks.first(f"raise {x}"):
                raise OSError("flaky")
            if x % 4 == 1 and marks.first(f"die {x}"):
                kill_process()
            return x % 2, x

        rdd = sc.parallelize(range(12), 6).map(work).reduceByKey(max)
        assert sorted(rdd.collect()) == [(0, 10), (1, 11)]
        assert seen.value == 12
        rdd.count()
        assert seen.value == 12

    def test_of_a_failed_job_do_not_count_its_failed_task(self, sc: SparkContext) -> None:
        seen = sc.accumulator(0)

        def work(x: int) -> None:
            seen.add(1)
            raise ValueError(x)

        with pytest.raises(TaskFailed):
            sc.parallelize([1], 1).foreach(work)
        assert seen.value == 0


class TestMemory:
    def test_exhausted_in_a_task_names_the_setting(self, start: Any) -> None:
        sc = start(spark__executor__memory="64m")
        wait_for_executors(sc)
        pids = executor_pids(sc)
        with pytest.raises(TaskFailed) as caught:
            sc.parallelize([1], 1).map(lambda x: bytearray(1 << 30)).count()
        assert str(caught.value).startswith("MemoryError: ")
        assert "spark.executor.memory" in str(caught.value)
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6
        assert executor_pids(sc) == pids

    @pytest.mark.parametrize("make", [lambda x: [x], str, float, lambda x: {x}])
    def test_exhausted_by_many_small_objects(self, start: Any, make: Any) -> None:
        sc = start(spark__executor__memory="64m")

        def hoard(x: int) -> int:
            rows = []
            while True:
                rows.append(make(x))

        # What the function held is free before its failure is reported, so no executor dies. Where
        # it failed may be missing: without memory CPython can't make its traceback.
        with pytest.raises(TaskFailed) as caught:
            sc.parallelize([1], 1).map(hoard).count()
        assert str(caught.value).startswith("MemoryError: ")
        assert "spark.executor.memory" in str(caught.value)
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6

    def test_that_outlives_the_task_ends_its_executor_by_name(self, start: Any) -> None:
        sc = start(spark__executor__memory="64m")

        def hoard(x: int) -> int:
            while True:
                os.__dict__.setdefault("hoard", []).append([x])

        with pytest.raises((TaskFailed, ExecutorDied)) as caught:
            sc.parallelize([1], 1).map(hoard).count()
        assert "memory" in str(caught.value)
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6

    def test_leaves_room_for_the_next_task(self, start: Any) -> None:
        sc = start("local[1]", spark__executor__memory="96m")
        for _ in range(3):
            with pytest.raises(TaskFailed, match="MemoryError"):
                sc.parallelize([1], 1).map(lambda x: [bytes(1 << 20)] * 9 + [x] * 10**9).count()
            assert sc.parallelize(range(10**5), 1).map(lambda x: [x]).count() == 10**5


def test_replicated_rows_survive_an_executor(sc: SparkContext, marks: Marks) -> None:
    def compute(index: int, rows: Any) -> Any:
        marks.add(index)
        return rows

    rdd = sc.parallelize(range(4), 2).mapPartitionsWithIndex(compute)
    rdd.persist(StorageLevel.MEMORY_ONLY_2)
    assert rdd.sum() == 6
    kill_executors(sc)
    assert rdd.sum() == 6
    assert marks.counts() == {"0": 1, "1": 1}
