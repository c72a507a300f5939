"""Jobs side by side: whose turn it is, what is cancelled, and what need not run at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from marks import Marks, wait_until
from programs import start_program
from test_deaths import executor_pids

from pyrite import BarrierTaskContext, InheritableThread, SparkContext, TaskContext
from pyrite.errors import JobCancelled, StageAborted, TaskFailed
from pyrite.ids import StageId
from pyrite.schedule.events import JobSubmitted

Start = Callable[..., SparkContext]


class Background:
    """An action that runs in a thread of its own."""

    def __init__(self, action: Callable[[], Any], kind: type = threading.Thread) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.action = action
        self.thread = kind(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = self.action()
        except BaseException as error:
            self.error = error

    def join(self) -> Any:
        self.thread.join(100)
        assert not self.thread.is_alive(), "the action does not end"
        if self.error is not None:
            raise self.error
        return self.result


def stages_run(sc: SparkContext, action: Callable[[], Any]) -> int:
    """How many stages launch tasks for an action."""
    before = {stage.id for stage in sc._progress.stages()}
    action()
    return len({stage.id for stage in sc._progress.stages()} - before)


def marking(marks: Marks, index: int, rows: Any) -> Any:
    marks.add(index)
    return rows


class TestSideBySide:
    def test_many_threads_get_their_own_answers(self, sc: SparkContext) -> None:
        def work(number: int) -> list[Any]:
            rdd = sc.parallelize(range(200), 4).map(lambda x: (x % 5, x * number))
            return [sorted(rdd.reduceByKey(lambda a, b: a + b).collect()) for _ in range(5)]

        jobs = [Background(lambda n=n: work(n)) for n in range(8)]
        for number, job in enumerate(jobs):
            expected = [(k, number * sum(range(k, 200, 5))) for k in range(5)]
            assert job.join() == [expected] * 5

    def test_a_shuffle_wanted_by_several_jobs_is_made_once(
        self, sc: SparkContext, marks: Marks
    ) -> None:
        from functools import partial

        rdd = sc.parallelize(range(100), 4).mapPartitionsWithIndex(partial(marking, marks))
        summed = rdd.keyBy(lambda x: x % 3).reduceByKey(lambda a, b: a + b)
        jobs = [Background(lambda: sorted(summed.collect())) for _ in range(4)]
        answers = [job.join() for job in jobs]
        assert answers == [answers[0]] * 4
        assert marks.counts() == {str(i): 1 for i in range(4)}

    def test_one_failing_job_leaves_the_others_alone(self, sc: SparkContext, marks: Marks) -> None:
        def wait(x: int) -> int:
            marks.wait("go")
            return x

        slow = Background(lambda: sc.parallelize([1], 1).map(wait).collect())
        with pytest.raises(TaskFailed):
            sc.parallelize([1], 1).map(lambda x: 1 / 0).collect()
        marks.add("go")
        assert slow.join() == [1]

    def test_two_jobs_that_fail_in_one_shared_stage(self, sc: SparkContext, marks: Marks) -> None:
        def fail(x: int) -> tuple[int, int]:
            marks.wait("go")
            raise ValueError("shared")

        rdd = sc.parallelize([1, 2], 2).map(fail).reduceByKey(max)
        jobs = [Background(rdd.collect) for _ in range(2)]
        wait_until(lambda: len(sc.statusTracker().getActiveJobsIds()) >= 2)
        marks.add("go")
        for job in jobs:
            with pytest.raises(TaskFailed, match="shared"):
                job.join()

    def test_an_abandoned_iterator_may_be_collected_anywhere(
        self, sc: SparkContext, marks: Marks
    ) -> None:
        """The collector runs in any thread, also in the engine's own: it must not wait there."""

        def hold(index: int, rows: Any) -> Any:
            if index == 1:
                marks.add("held")
                marks.wait("never")
            return rows

        rdd = sc.parallelize(range(4), 2).mapPartitionsWithIndex(hold)
        held = [rdd.toLocalIterator(prefetchPartitions=True)]
        assert next(held[0]) == 0
        marks.wait("held")
        drop = lambda *_: held.clear()  # noqa: E731
        sc._engine.story.listeners.append(drop)
        assert Background(sc.parallelize([1], 1).count).join() == 1
        sc._engine.story.listeners.remove(drop)
        assert held == []
        wait_until(lambda: not sc._engine.waiters.by_job, "the end of the iterator's jobs")


class TestOrder:
    """One executor, so that the order of tasks is the order of jobs."""

    def order_of(self, sc: SparkContext, marks: Marks, pools: list[str], tasks: int) -> list[str]:
        """The pools in the order in which their tasks ran, after all jobs have been submitted."""
        order = sc.accumulator([], ListParam())

        def hold(x: int) -> None:
            marks.add("held")
            marks.wait("go")

        def work(pool: str) -> Any:
            sc.setLocalProperty("spark.scheduler.pool", pool)
            name = pool

            def note(x: int) -> None:
                order.add([(marks.count("turn"), name)])
                marks.add("turn")

            return sc.parallelize(range(tasks), tasks).foreach(note)

        first = Background(lambda: sc.parallelize([1], 1).foreach(hold))
        marks.wait("held")
        jobs = []
        for number, pool in enumerate(pools):
            jobs.append(Background(lambda pool=pool: work(pool)))
            wait_until(lambda n=number: len(sc._engine.scheduler.jobs._jobs) >= n + 2)
        marks.add("go")
        first.join()
        for job in jobs:
            job.join()
        return [pool for _, pool in sorted(order.value)]

    def test_fifo(self, start: Start, marks: Marks) -> None:
        order = self.order_of(start("local[1]"), marks, ["a", "b", "c"], 4)
        assert order == ["a"] * 4 + ["b"] * 4 + ["c"] * 4

    def test_fair_takes_turns(self, start: Start, marks: Marks) -> None:
        sc = start("local[1]", spark__scheduler__mode="FAIR")
        order = self.order_of(sc, marks, ["a", "b"], 6)
        # With one executor nothing runs when a turn is given, so shares are equal and names decide;
        # neither pool waits for the other to end.
        assert sorted(order) == ["a"] * 6 + ["b"] * 6

    def test_fair_honours_weights_and_minimum_shares(
        self, start: Start, marks: Marks, tmp_path: Path
    ) -> None:
        pools = tmp_path / "pools.xml"
        pools.write_text(
            "<allocations>"
            "<pool name='heavy'><weight>3</weight><minShare>0</minShare></pool>"
            "<pool name='light'><weight>1</weight></pool>"
            "<pool name='first'><minShare>2</minShare></pool>"
            "</allocations>"
        )
        sc = start(
            "local[4]", spark__scheduler__mode="FAIR", spark__scheduler__allocation__file=pools
        )
        running = self.held_shares(sc, marks, ["light", "heavy"])
        assert running == {"heavy": 3, "light": 1}

    def test_fair_gives_a_minimum_share_first(
        self, start: Start, marks: Marks, tmp_path: Path
    ) -> None:
        pools = tmp_path / "pools.xml"
        pools.write_text(
            "<allocations>"
            "<pool name='first'><minShare>3</minShare></pool>"
            "<pool name='heavy'><weight>100</weight></pool>"
            "</allocations>"
        )
        sc = start(
            "local[4]", spark__scheduler__mode="FAIR", spark__scheduler__allocation__file=pools
        )
        running = self.held_shares(sc, marks, ["heavy", "first"])
        assert running == {"first": 3, "heavy": 1}

    def held_shares(self, sc: SparkContext, marks: Marks, pools: list[str]) -> dict[str, int]:
        """How the four executors are shared when all pools have waited for them."""
        executors = 4

        def hold(x: int) -> None:
            marks.add("held")
            marks.wait("go")

        def take(x: int) -> None:
            marks.add(TaskContext.get().getLocalProperty("spark.scheduler.pool"))
            marks.wait("end")

        def work(pool: str) -> None:
            sc.setLocalProperty("spark.scheduler.pool", pool)
            sc.parallelize(range(20), 20).foreach(take)

        first = Background(lambda: sc.parallelize(range(executors), executors).foreach(hold))
        marks.wait("held", executors)
        jobs = []
        for number, pool in enumerate(pools):
            jobs.append(Background(lambda pool=pool: work(pool)))
            wait_until(lambda n=number: len(sc._engine.scheduler.jobs._jobs) >= n + 2)
        marks.add("go")
        first.join()
        wait_until(lambda: sum(map(marks.count, pools)) == executors)
        found = {pool: marks.count(pool) for pool in pools}
        marks.add("end")
        for job in jobs:
            job.join()
        return found


class ListParam:
    """Accumulates lists."""

    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, left: list[Any], right: list[Any]) -> list[Any]:
        return left + right


def sleep(marks: Marks) -> None:
    marks.wait("never")


def compute(marks: Marks) -> None:
    total = 0
    while True:
        total += sum(range(1000))


def ignore(marks: Marks) -> None:
    while True:
        try:
            marks.add("ignoring")
            marks.wait("never")
        except BaseException:
            continue


WAYS: dict[str, Callable[[SparkContext], None]] = {
    "group": lambda sc: sc.cancelJobGroup("mine"),
    "tag": lambda sc: sc.cancelJobsWithTag("tagged"),
    "all": lambda sc: sc.cancelAllJobs(),
}


class TestCancel:
    @pytest.fixture
    def cancellable(self, start: Start) -> SparkContext:
        """Its executors have as long as a slow machine needs: none is replaced for being late."""
        return start(pyrite__cancel__grace="60s")

    def begin(self, sc: SparkContext, marks: Marks, body: Callable[[Marks], None]) -> Background:
        def work(x: int) -> None:
            marks.add("started")
            body(marks)

        def job() -> None:
            sc.setJobGroup("mine", "work to cancel")
            sc.addJobTag("tagged")
            sc.parallelize(range(2), 2).foreach(work)

        found = Background(job)
        marks.wait("started", 2)
        return found

    @pytest.mark.parametrize("way", WAYS)
    def test_ends_the_job_and_keeps_the_executors(
        self, cancellable: SparkContext, marks: Marks, way: str
    ) -> None:
        sc = cancellable
        job = self.begin(sc, marks, sleep)
        before = executor_pids(sc)
        WAYS[way](sc)
        with pytest.raises(JobCancelled, match="cancelled"):
            job.join()
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6
        assert executor_pids(sc) == before

    def test_interrupts_a_busy_loop(self, cancellable: SparkContext, marks: Marks) -> None:
        sc = cancellable
        job = self.begin(sc, marks, compute)
        before = executor_pids(sc)
        sc.cancelJobGroup("mine")
        with pytest.raises(JobCancelled):
            job.join()
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6
        assert executor_pids(sc) == before

    def test_replaces_executors_whose_tasks_ignore_it(self, start: Start, marks: Marks) -> None:
        sc = start(pyrite__cancel__grace="300ms")
        job = self.begin(sc, marks, ignore)
        marks.wait("ignoring", 2)
        before = executor_pids(sc)
        sc.cancelJobGroup("mine")
        with pytest.raises(JobCancelled):
            job.join()
        assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6
        wait_until(lambda: not set(executor_pids(sc)) & set(before), "new executors")

    def test_of_another_group_changes_nothing(
        self, cancellable: SparkContext, marks: Marks
    ) -> None:
        sc = cancellable

        def wait(marks: Marks) -> None:
            marks.wait("go")

        job = self.begin(sc, marks, wait)
        sc.cancelJobGroup("other")
        sc.cancelJobsWithTag("other")
        marks.add("go")
        job.join()

    def test_of_future_jobs(self, cancellable: SparkContext) -> None:
        sc = cancellable
        sc.cancelJobGroupAndFutureJobs("doomed")
        sc.setJobGroup("doomed", "")
        with pytest.raises(JobCancelled, match="doomed"):
            sc.parallelize([1]).count()
        sc.setJobGroup("fine", "")
        assert sc.parallelize([1]).count() == 1

    def test_while_the_map_side_is_written(self, cancellable: SparkContext, marks: Marks) -> None:
        """The pool is asked for room at the moment of the cancellation, again and again."""
        sc = cancellable

        def rows(index: int, source: Any) -> Iterator[Any]:
            marks.add("started")
            while True:
                yield index, bytes(1 << 16)

        for _ in range(3):
            marks.clear()
            rdd = sc.parallelize(range(2), 2).mapPartitionsWithIndex(rows)
            big = rdd.mapPartitions(lambda it: ((0, next(it)) for _ in range(10**9)))
            sc.setJobGroup("mine", "")
            job = Background(big.partitionBy(2).count, InheritableThread)
            marks.wait("started", 2)
            sc.cancelJobGroup("mine")
            with pytest.raises(JobCancelled):
                job.join()
            assert sc.parallelize(range(4), 4).map(lambda x: x).sum() == 6

    def test_races_with_the_end_of_tasks(self, sc: SparkContext) -> None:
        for number in range(40):
            group = f"race {number}"

            def run(group: str = group) -> int:
                sc.setJobGroup(group, "")
                return sc.parallelize(range(100), 8).map(lambda x: (x % 3, x)).groupByKey().count()

            job = Background(run)
            if number % 2:
                wait_until(
                    lambda g=group: sc.statusTracker().getJobIdsForGroup(g), "the job's start"
                )
            sc.cancelJobGroup(group)
            try:
                assert job.join() == 3
            except JobCancelled:
                continue


CTRL_C = """
import pyrite, sys
from marks import Marks
marks = Marks({folder!r})
sc = pyrite.SparkContext("local[2]", "interrupted")
sc.parallelize(range(2), 2).count()
def work(x):
    marks.add("started")
    marks.wait("never")
for _ in range(2):
    try:
        sc.parallelize(range(2), 2).foreach(work)
    except KeyboardInterrupt:
        marks.add("interrupted")
        print("interrupted", sc.parallelize(range(4), 2).map(lambda x: x).sum(), flush=True)
print("active", sc.statusTracker().getActiveJobsIds())
"""


def test_ctrl_c_cancels_the_job_and_keeps_the_context(marks: Marks) -> None:
    with start_program(CTRL_C.format(folder=marks.folder), start_new_session=True) as process:
        for times in (1, 2):
            marks.wait("started", 2 * times)
            process.send_signal(signal.SIGINT)
            wait_until(lambda n=times: marks.count("interrupted") == n or process.poll())
        out, err = process.communicate(timeout=60)
    assert out == "interrupted 6\ninterrupted 6\nactive []\n", err
    assert process.returncode == 0


@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_while_the_job_is_submitted(
    start: Start, marks: Marks, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    sc = start()
    post = sc._engine.cluster.post

    def interrupted(event: Any) -> None:
        interrupts = isinstance(event, JobSubmitted) and marks.first("submitted")
        if interrupts and moment == "before":
            signal.raise_signal(signal.SIGINT)
        post(event)
        if interrupts and moment == "after":
            marks.wait("started", 2)
            signal.raise_signal(signal.SIGINT)

    def work(x: int) -> None:
        marks.add("started")
        marks.wait("never")

    monkeypatch.setattr(sc._engine.cluster, "post", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sc.parallelize(range(2), 2).foreach(work)
    assert sc.statusTracker().getActiveJobsIds() == []
    assert not sc._engine.waiters.by_job and not sc._engine.stages.flags
    assert sc.parallelize(range(4), 2).map(lambda x: x).sum() == 6


class TestSpeculation:
    def test_the_copy_of_a_straggler_wins(self, start: Start, marks: Marks) -> None:
        sc = start(
            spark__speculation="true",
            spark__speculation__quantile="0.5",
            spark__speculation__multiplier="1.5",
            spark__speculation__interval="20ms",
            spark__speculation__minTaskRuntime="50ms",
            pyrite__cancel__grace="300ms",
        )
        seen = sc.accumulator(0)

        def work(x: int) -> int:
            seen.add(1)
            if x == 3 and marks.first("straggler"):
                marks.wait("never")
            return x

        assert sc.parallelize(range(4), 4).map(work).collect() == [0, 1, 2, 3]
        assert seen.value == 4
        # Also for the map side of a shuffle.
        marks.clear()
        rdd = sc.parallelize(range(4), 4).map(work).keyBy(lambda x: x % 2).reduceByKey(max)
        assert sorted(rdd.collect()) == [(0, 2), (1, 3)]
        assert seen.value == 8


class TestExclusion:
    def test_a_failing_executor_gets_the_task_no_more(self, start: Start, marks: Marks) -> None:
        import os

        sc = start("local[2,4]", spark__excludeOnFailure__enabled="true")

        def work(x: int) -> int:
            if marks.first("bad"):
                marks.add(f"bad {os.getpid()}")
            if marks.count(f"bad {os.getpid()}"):
                marks.add("failure")
                raise OSError("a bad disk")
            return x

        assert sc.parallelize([5], 1).map(work).collect() == [5]
        assert marks.count("failure") == 1

    def test_without_any_left_the_job_ends(self, start: Start, marks: Marks) -> None:
        sc = start("local[2,9]", spark__excludeOnFailure__enabled="true")

        def work(x: int) -> int:
            marks.add("try")
            raise OSError("a bad disk")

        with pytest.raises((StageAborted, TaskFailed), match="excluded") as caught:
            sc.parallelize([5], 1).map(work).collect()
        assert marks.count("try") == 2
        assert "a bad disk" in str(caught.value) or "log" in str(caught.value)


class TestOnlyWhatIsNeeded:
    @pytest.fixture
    def rdd(self, sc: SparkContext, marks: Marks) -> Any:
        from functools import partial

        return sc.parallelize(range(40), 8).mapPartitionsWithIndex(partial(marking, marks))

    def test_first(self, rdd: Any, marks: Marks) -> None:
        assert rdd.first() == 0
        assert marks.counts() == {"0": 1}

    def test_take(self, rdd: Any, marks: Marks) -> None:
        assert rdd.take(5) == [0, 1, 2, 3, 4]
        assert marks.counts() == {"0": 1}

    def test_is_empty(self, rdd: Any, marks: Marks) -> None:
        assert not rdd.isEmpty()
        assert marks.counts() == {"0": 1}

    def test_run_job_on_some_partitions(self, sc: SparkContext, rdd: Any, marks: Marks) -> None:
        assert sc.runJob(rdd, list, [2, 5]) == [*range(10, 15), *range(25, 30)]
        assert marks.counts() == {"2": 1, "5": 1}

    def test_to_local_iterator(self, rdd: Any, marks: Marks) -> None:
        rows = rdd.toLocalIterator()
        assert [next(rows) for _ in range(6)] == [0, 1, 2, 3, 4, 5]
        assert marks.counts() == {"0": 1, "1": 1}

    def test_lookup_with_a_partitioner(self, sc: SparkContext, marks: Marks) -> None:
        from functools import partial

        placed = sc.parallelize(range(40), 4).keyBy(lambda x: x % 8).partitionBy(8)
        rdd = placed.mapPartitionsWithIndex(partial(marking, marks), preservesPartitioning=True)
        assert rdd.lookup(3) == [3, 11, 19, 27, 35]
        assert marks.counts() == {"3": 1}

    def test_a_made_shuffle_is_not_made_again(
        self, sc: SparkContext, rdd: Any, marks: Marks
    ) -> None:
        summed = rdd.keyBy(lambda x: x % 3).reduceByKey(lambda a, b: a + b, 2)
        assert stages_run(sc, summed.collect) == 2
        assert stages_run(sc, summed.count) == 1
        assert stages_run(sc, summed.mapValues(str).collect) == 1
        assert marks.counts() == {str(i): 1 for i in range(8)}

    def test_a_cleaned_shuffle_is_made_again(
        self, sc: SparkContext, rdd: Any, marks: Marks
    ) -> None:
        summed = rdd.keyBy(lambda x: x % 3).reduceByKey(lambda a, b: a + b, 2)
        summed.count()
        summed.cleanShuffleDependencies()
        assert sorted(summed.keys().collect()) == [0, 1, 2]
        assert marks.counts() == {str(i): 2 for i in range(8)}

    def test_cached_rows_hide_a_cleaned_shuffle(
        self, sc: SparkContext, rdd: Any, marks: Marks
    ) -> None:
        summed = rdd.keyBy(lambda x: x % 3).reduceByKey(lambda a, b: a + b, 2).cache()
        summed.count()
        summed.cleanShuffleDependencies()
        assert stages_run(sc, summed.map(str).count) == 1
        assert marks.counts() == {str(i): 1 for i in range(8)}

    def test_a_co_partitioned_join_is_narrow(self, sc: SparkContext) -> None:
        left = sc.parallelize(range(40), 4).keyBy(lambda x: x % 8).partitionBy(4).cache()
        right = sc.parallelize(range(8), 2).keyBy(lambda x: x).partitionBy(4).cache()
        assert left.count() + right.count() == 48
        joined = left.join(right, 4)
        assert stages_run(sc, joined.count) == 1
        assert joined.count() == 40
        assert joined.getNumPartitions() == 4
        assert stages_run(sc, left.cogroup(right, numPartitions=4).count) == 1
        other = sc.parallelize(range(8), 2).keyBy(lambda x: x)
        assert stages_run(sc, left.join(other, 4).count) == 2

    def test_a_reduce_over_its_own_partitioner_is_narrow(self, sc: SparkContext) -> None:
        placed = sc.parallelize(range(40), 4).keyBy(lambda x: x % 8).partitionBy(4)
        placed.count()
        assert stages_run(sc, placed.reduceByKey(max, 4).count) == 1


class TestFlags:
    def test_local_properties_reach_the_task(self, sc: SparkContext) -> None:
        sc.setLocalProperty("who", "me")
        rdd = sc.parallelize([1, 2], 2)
        assert rdd.map(lambda x: TaskContext.get().getLocalProperty("who")).collect() == ["me"] * 2
        sc.setLocalProperty("who", None)
        assert rdd.map(lambda x: TaskContext.get().getLocalProperty("who")).collect() == [None] * 2

    def test_of_one_thread_are_not_those_of_another(self, sc: SparkContext) -> None:
        sc.setLocalProperty("who", "main")
        sc.addJobTag("main")
        read = lambda: (sc.getLocalProperty("who"), sc.getJobTags())  # noqa: E731
        assert Background(read).join() == (None, set())
        assert Background(read, InheritableThread).join() == ("main", {"main"})

    def test_an_inheritable_thread_runs_its_jobs_with_them(self, sc: SparkContext) -> None:
        sc.setLocalProperty("who", "main")

        def run() -> list[Any]:
            rdd = sc.parallelize([1], 1)
            return rdd.map(lambda x: TaskContext.get().getLocalProperty("who")).collect()

        job = Background(run, InheritableThread)
        sc.setLocalProperty("who", "changed")
        assert job.join() == ["main"]

    def test_task_context(self, sc: SparkContext) -> None:
        def describe(x: int) -> tuple[int, int]:
            task = TaskContext.get()
            assert task is not None
            return task.partitionId(), task.attemptNumber()

        assert TaskContext.get() is None
        assert sc.parallelize(range(3), 3).map(describe).collect() == [(0, 0), (1, 0), (2, 0)]

    def test_attempt_numbers_count_up(self, start: Start) -> None:
        sc = start("local[1,3]")

        def third(x: int) -> int:
            task = TaskContext.get()
            assert task is not None
            if task.attemptNumber() < 2:
                raise OSError("not yet")
            return task.attemptNumber()

        assert sc.parallelize([1], 1).map(third).collect() == [2]


class TestBarrier:
    def test_all_gather(self, sc: SparkContext) -> None:
        def meet(rows: Any) -> Iterator[list[str]]:
            task = BarrierTaskContext.get()
            task.barrier()
            first = task.allGather(f"task {task.partitionId()}")
            second = task.allGather(str(sum(rows)))
            yield [*first, *second, str(len(task.getTaskInfos()))]

        rdd = sc.parallelize(range(4), 2).barrier().mapPartitions(meet)
        expected = ["task 0", "task 1", "1", "5", "2"]
        for _ in range(3):
            assert rdd.collect() == [expected, expected]

    def test_too_wide_is_refused(self, sc: SparkContext) -> None:
        rdd = sc.parallelize(range(3), 3).barrier().mapPartitions(list)
        with pytest.raises(StageAborted, match=r"3 tasks .* 2 executors"):
            rdd.collect()

    def test_a_death_starts_all_tasks_again(self, sc: SparkContext, marks: Marks) -> None:
        import os

        def meet(rows: Any) -> Iterator[list[str]]:
            task = BarrierTaskContext.get()
            marks.add(task.partitionId())
            first = task.allGather("a")
            if task.partitionId() == 1 and marks.first("death"):
                os._exit(1)
            yield [*first, *task.allGather(f"b{task.partitionId()}")]

        rdd = sc.parallelize(range(2), 2).barrier().mapPartitions(meet)
        assert rdd.collect() == [["a", "a", "b0", "b1"]] * 2
        assert marks.count(0) == marks.count(1) == 2

    def test_a_failure_ends_the_others_wait(self, sc: SparkContext) -> None:
        def meet(rows: Any) -> Iterator[int]:
            task = BarrierTaskContext.get()
            if task.partitionId() == 1:
                raise ValueError("never comes")
            task.barrier()
            yield 1

        rdd = sc.parallelize(range(2), 2).barrier().mapPartitions(meet)
        with pytest.raises(TaskFailed, match="never comes"):
            rdd.collect()


class TestStatus:
    def test_tracker_tells_of_running_jobs(self, sc: SparkContext, marks: Marks) -> None:
        def work(x: int) -> int:
            if x > 0:
                marks.add("started")
                marks.wait("go")
            return x

        def run() -> list[int]:
            sc.setJobGroup("tracked", "")
            return sc.parallelize(range(3), 3).map(work).collect()

        tracker = sc.statusTracker()
        job = Background(run)
        marks.wait("started", 2)
        [job_id] = tracker.getJobIdsForGroup("tracked")
        assert job_id in tracker.getActiveJobsIds()
        info = tracker.getJobInfo(job_id)
        assert info is not None and info.status == "RUNNING"
        [stage_id] = info.stageIds
        assert stage_id in tracker.getActiveStageIds()
        stage = tracker.getStageInfo(stage_id)
        assert stage is not None
        assert (stage.numTasks, stage.numActiveTasks, stage.numCompletedTasks) == (3, 2, 1)
        marks.add("go")
        assert job.join() == [0, 1, 2]
        info = tracker.getJobInfo(job_id)
        assert info is not None and info.status == "SUCCEEDED"
        assert tracker.getActiveJobsIds() == []
        assert tracker.getActiveStageIds() == []

    def test_tracker_counts_failures_and_deaths(self, sc: SparkContext, marks: Marks) -> None:
        import os

        def die_once(x: int) -> int:
            if marks.first("death"):
                os._exit(1)
            return x

        sc.setJobGroup("deadly", "")
        sc.parallelize([1], 1).map(die_once).collect()
        [job_id] = sc.statusTracker().getJobIdsForGroup("deadly")
        info = sc.statusTracker().getJobInfo(job_id)
        assert info is not None
        stage = sc.statusTracker().getStageInfo(info.stageIds[0])
        assert stage is not None
        assert (stage.numActiveTasks, stage.numCompletedTasks, stage.numFailedTasks) == (0, 1, 1)

    def test_unknown_ids(self, sc: SparkContext) -> None:
        tracker = sc.statusTracker()
        assert tracker.getJobInfo(10**9) is None
        assert tracker.getStageInfo(StageId(10**9)) is None
        assert tracker.getJobIdsForGroup("nobody") == []


def test_tasks_do_not_share_what_a_function_captures(sc: SparkContext) -> None:
    seen: list[int] = []

    def position(row: int) -> int:
        seen.append(row)
        return len(seen)

    assert sc.parallelize(range(8), 4).map(position).collect() == [1, 2] * 4
