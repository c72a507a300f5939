"""A context's life: one at a time, private, and gone without a trace however it ends."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from marks import Marks, wait_until
from programs import alive, descendants, run_program, start_program

from pyrite import SparkConf, SparkContext, StorageLevel
from pyrite.cluster.local.forkserverprocess import ForkServerProcess
from pyrite.errors import ContextStopped, PyriteError

Start = Callable[..., SparkContext]


def folders_of(sc: SparkContext) -> list[str]:
    return list(sc._engine.cluster.folders[:2])


class TestOneAtATime:
    def test_a_second_context_is_refused_as_pyspark_does(self, start: Start) -> None:
        sc = start()
        with pytest.raises(ValueError, match="Cannot run multiple SparkContexts at once") as caught:
            SparkContext("local[1]", "second")
        assert "app=contract, master=local[2]" in str(caught.value)
        assert "created at adapters.py:" in str(caught.value)
        assert sc.parallelize([1, 2]).sum() == 3

    def test_from_another_thread_too(self, start: Start) -> None:
        start()
        caught: list[Exception] = []

        def make() -> None:
            try:
                SparkContext("local[1]", "second")
            except ValueError as error:
                caught.append(error)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        assert len(caught) == 1

    def test_another_may_follow(self, start: Start) -> None:
        start().stop()
        assert start("local[1]").parallelize([1, 2]).sum() == 3

    def test_get_or_create(self, no_context: None) -> None:
        conf = SparkConf(False).setMaster("local[1]").setAppName("made")
        made = SparkContext.getOrCreate(conf)
        assert made.appName == "made"
        assert SparkContext.getOrCreate() is made
        made.stop()
        other = SparkContext.getOrCreate(conf)
        assert other is not made
        assert other.parallelize([1]).count() == 1

    def test_with_statement(self, no_context: None) -> None:
        with SparkContext("local[1]", "with") as sc:
            folders = folders_of(sc)
            assert sc.parallelize([1, 2]).sum() == 3
        assert SparkContext._active_spark_context is None
        assert not any(map(os.path.exists, folders))

    def test_with_statement_left_by_an_exception(self, no_context: None) -> None:
        with pytest.raises(KeyError), SparkContext("local[1]", "with") as sc:
            folders = folders_of(sc)
            raise KeyError("mine")
        assert not any(map(os.path.exists, folders))


class TestRefusedStarts:
    """A context that does not start leaves nothing behind and is not in the way."""

    @pytest.fixture(autouse=True)
    def startable_afterwards(self, no_context: None) -> Any:
        yield
        with SparkContext("local[1]", "after") as sc:
            assert sc.parallelize([1]).count() == 1

    @pytest.mark.parametrize(
        "master", ["yarn", "spark://host:7077", "local[0]", "local[x]", "local[2", ""]
    )
    def test_unknown_master(self, master: str) -> None:
        if master == "":
            with pytest.raises(PyriteError, match="local"):
                SparkContext(" ", "x")
            return
        with pytest.raises(PyriteError, match="local") as caught:
            SparkContext(master, "x")
        assert repr(master) in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("spark.executor.memory", "lots"),
            ("spark.executor.memory", "1k"),
            ("spark.network.timeout", "0s"),
            ("spark.task.maxFailures", "often"),
            ("spark.speculation", "maybe"),
            ("spark.scheduler.mode", "UNFAIR"),
            ("spark.locality.wait", "soon"),
        ],
    )
    def test_bad_value(self, name: str, value: str) -> None:
        with pytest.raises(ValueError, match="expected") as caught:
            SparkContext(conf=SparkConf(False).setMaster("local[1]").set(name, value))
        assert name in str(caught.value)
        assert value in str(caught.value)

    def test_unknown_setting_of_ours(self) -> None:
        with pytest.raises(ValueError, match=r"did you mean pyrite\.pool\.memory"):
            SparkContext(conf=SparkConf(False).setMaster("local").set("pyrite.pool.memroy", "1g"))

    def test_missing_allocation_file(self) -> None:
        conf = SparkConf(False).setMaster("local[1]")
        conf.set("spark.scheduler.mode", "FAIR")
        conf.set("spark.scheduler.allocation.file", "/nowhere/pools.xml")
        with pytest.raises(PyriteError, match=r"pools\.xml"):
            SparkContext(conf=conf)

    def test_unusable_local_dir(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.touch()
        conf = SparkConf(False).setMaster("local[1]").set("spark.local.dir", str(file))
        with pytest.raises(PyriteError, match=r"spark\.local\.dir"):
            SparkContext(conf=conf)

    @pytest.mark.parametrize("name", ["spark.files", "spark.submit.pyFiles", "spark.eventLog.dir"])
    def test_a_file_that_is_not_there(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "file").touch()
        conf = SparkConf(False).setMaster("local[1]").set("spark.eventLog.enabled", "true")
        conf.set("spark.eventLog.dir", str(tmp_path)).set(name, str(tmp_path / "file" / "in"))
        before = len(alive(descendants(os.getpid())))
        with pytest.raises((PyriteError, OSError), match="file/in"):
            SparkContext(conf=conf)
        assert len(alive(descendants(os.getpid()))) == before
        assert SparkContext._active_spark_context is None

    def test_local_dir_that_others_can_enter(self, tmp_path: Path) -> None:
        home = tmp_path / f"pyrite-{os.getuid()}"
        home.mkdir()
        home.chmod(0o755)
        conf = SparkConf(False).setMaster("local[1]").set("spark.local.dir", str(tmp_path))
        with pytest.raises(PyriteError, match="0700"):
            SparkContext(conf=conf)


USES: dict[str, Callable[[SparkContext, Any], Any]] = {
    "parallelize": lambda sc, rdd: sc.parallelize([1]),
    "range": lambda sc, rdd: sc.range(3),
    "emptyRDD": lambda sc, rdd: sc.emptyRDD().collect(),
    "textFile": lambda sc, rdd: sc.textFile(__file__).count(),
    "union": lambda sc, rdd: sc.union([rdd, rdd]).count(),
    "broadcast": lambda sc, rdd: sc.broadcast([1]),
    "collect": lambda sc, rdd: rdd.collect(),
    "count": lambda sc, rdd: rdd.map(str).count(),
    "take": lambda sc, rdd: rdd.take(1),
    "first": lambda sc, rdd: rdd.first(),
    "toLocalIterator": lambda sc, rdd: list(rdd.toLocalIterator()),
    "countApprox": lambda sc, rdd: rdd.countApprox(1000),
    "save": lambda sc, rdd: rdd.saveAsTextFile("/nowhere/output"),
    "reduceByKey": lambda sc, rdd: rdd.keyBy(str).reduceByKey(max).collect(),
    "sortBy": lambda sc, rdd: rdd.sortBy(str).collect(),
    "runJob": lambda sc, rdd: sc.runJob(rdd, list),
    "addFile": lambda sc, rdd: sc.addFile(__file__),
    "addPyFile": lambda sc, rdd: sc.addPyFile(__file__),
    "addArchive": lambda sc, rdd: sc.addArchive(__file__),
    "setCheckpointDir": lambda sc, rdd: sc.setCheckpointDir("/nowhere"),
    "cancelAllJobs": lambda sc, rdd: sc.cancelAllJobs(),
    "cancelJobGroup": lambda sc, rdd: sc.cancelJobGroup("group"),
}


@pytest.fixture(scope="module")
def stopped(shared_context: Any) -> tuple[SparkContext, Any]:
    """A context that was stopped, and an RDD of it."""
    sc = shared_context.get()
    rdd = sc.parallelize([1, 2, 3], 2)
    shared_context.stop()
    return sc, rdd


class TestStop:
    @pytest.mark.parametrize("use", USES)
    def test_use_afterwards(self, stopped: tuple[SparkContext, Any], use: str) -> None:
        with pytest.raises(ContextStopped, match="stopped: make a new one"):
            USES[use](*stopped)

    def test_harmless_uses_afterwards(self, stopped: tuple[SparkContext, Any]) -> None:
        sc, rdd = stopped
        sc.stop()
        rdd.cache().unpersist()
        assert rdd.map(str).getNumPartitions() == 2
        assert sc.appName == "contract"
        assert "appName=contract" in repr(sc)
        assert sc.statusTracker().getActiveJobsIds() == []

    def test_during_a_job(self, start: Start, marks: Marks) -> None:
        sc = start()

        def work(x: int) -> None:
            marks.add("started")
            marks.wait("never")

        outcome: list[BaseException] = []

        def run() -> None:
            try:
                sc.parallelize([1, 2], 2).foreach(work)
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        marks.wait("started", 2)
        folders = folders_of(sc)
        sc.stop()
        thread.join(60)
        assert [type(each) for each in outcome] == [ContextStopped]
        assert not any(map(os.path.exists, folders))

    def test_while_many_threads_start_jobs_and_broadcasts(self, start: Start) -> None:
        sc = start()
        begun = threading.Barrier(5)
        ended: list[str] = []

        def work(number: int) -> None:
            begun.wait()
            try:
                while True:
                    if number % 2:
                        sc.broadcast(bytes(20 << 20))
                    else:
                        sc.parallelize(range(100), 2).map(str).count()
            except ContextStopped:
                ended.append("stopped")

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        wait_until(lambda: sc._engine.scheduler.attempts._next > 20)
        sc.stop()
        for thread in threads:
            thread.join(60)
        assert ended == ["stopped"] * 4

    def test_with_an_iterator_half_read(self, start: Start) -> None:
        sc = start()
        rows = sc.parallelize(range(10), 5).toLocalIterator(prefetchPartitions=True)
        assert next(rows) == 0
        sc.stop()
        with pytest.raises(ContextStopped):
            list(rows)


class TestForks:
    def test_the_child_is_told_and_the_parent_goes_on(self, sc: SparkContext) -> None:
        rdd = sc.parallelize(range(10), 2).map(lambda x: x + 1).cache()
        assert rdd.sum() == 55
        rows = rdd.toLocalIterator(prefetchPartitions=True)
        next(rows)

        def uses() -> str:
            problems = []
            for name, use in USES.items():
                try:
                    use(sc, rdd)
                    problems.append(f"{name} works")
                except ContextStopped as error:
                    if "a fork of it" not in str(error):
                        problems.append(f"{name}: {error}")
            sc.stop()
            return "; ".join(problems)

        assert in_fork(uses) == ""
        assert rdd.sum() == 55
        assert len(list(rows)) == 9

    def test_an_ending_child_tears_nothing_down(self, sc: SparkContext) -> None:
        rdd = sc.parallelize(range(10), 2).map(lambda x: x + 1)
        pid = os.fork()
        if pid == 0:
            # As sys.exit would, up to the test runner: exit handlers and finalizers.
            import atexit

            del rdd
            gc.collect()
            atexit._run_exitfuncs()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert rdd.sum() == 55
        assert all(map(os.path.isdir, folders_of(sc)))

    def test_the_child_may_have_a_context_of_its_own(self, sc: SparkContext) -> None:
        def use() -> str:
            with SparkContext("local[1]", "child") as own:
                return str(own.parallelize([1, 2]).map(lambda x: x).sum())

        assert in_fork(use) == "3"
        assert sc.parallelize([1, 2]).sum() == 3

    def test_of_multiprocessing(self, sc: SparkContext) -> None:
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()

        def use() -> None:
            try:
                sc.parallelize([1]).count()
            except ContextStopped as error:
                queue.put(str(error))

        process = context.Process(target=use)
        process.start()
        assert "a fork of it" in queue.get()
        process.join()
        assert process.exitcode == 0

    def test_a_living_child_does_not_keep_executors(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sc = start()
        assert sc.parallelize([1, 2], 2).map(lambda x: x).count() == 2
        fork_server = sc._engine.cluster.driver.fork_server.process
        # A slow machine may need longer than it is given before it is killed.
        close = ForkServerProcess.close
        monkeypatch.setattr(
            ForkServerProcess, "close", lambda fork_server, timeout_s: close(fork_server, 60.0)
        )
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
        try:
            sc.stop()
            # Ended by itself: it heard that its driver is gone.
            assert fork_server.returncode == 0
        finally:
            os.close(write)
            os.close(read)
            os.waitpid(pid, 0)


def in_fork(action: Callable[[], str]) -> str:
    """Runs an action in a fork of this process; gives what it says."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, action().encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


class TestScratch:
    def test_is_private(self, start: Start, tmp_path: Path) -> None:
        sc = start(spark__local__dir=tmp_path)
        rdd = sc.parallelize(range(1000), 2).persist(StorageLevel.DISK_ONLY)
        rdd.count()
        held = sc.broadcast(bytes(1 << 20))
        assert held.value
        for folder in folders_of(sc):
            for each in (folder, os.path.dirname(folder)):
                assert stat.S_IMODE(os.stat(each).st_mode) == 0o700
            for name in os.listdir(folder):
                assert stat.S_IMODE(os.stat(f"{folder}/{name}").st_mode) & 0o077 == 0
        assert folders_of(sc)[1].startswith(str(tmp_path))

    def test_is_gone_after_stop(self, start: Start) -> None:
        sc = start()
        rdd = sc.parallelize(range(1000), 2).keyBy(str).partitionBy(2)
        rdd.persist(StorageLevel.DISK_ONLY).count()
        folders = folders_of(sc)
        assert all(map(os.path.isdir, folders))
        sc.stop()
        assert not any(map(os.path.exists, folders))

    def test_is_gone_after_the_end_of_a_program_without_stop(self) -> None:
        check_ends_clean("print(sc.parallelize(range(4), 2).sum())", 0)

    def test_is_gone_after_an_exception(self) -> None:
        check_ends_clean("raise SystemError('mine')", 1)

    def test_is_gone_after_an_exception_in_a_task(self) -> None:
        check_ends_clean("sc.parallelize([1]).map(lambda x: 1 / 0).collect()", 1)

    def test_is_gone_after_sigkill_of_the_driver(self) -> None:
        check_killed(signal.SIGKILL)

    def test_is_gone_after_sigterm_of_the_driver(self) -> None:
        check_killed(signal.SIGTERM)

    def test_left_behind_is_swept_at_the_next_start(self, start: Start, tmp_path: Path) -> None:
        with start_program(PROGRAM.format(body=WAIT_BODY, dir=str(tmp_path))) as process:
            assert process.stdout is not None
            folders = process.stdout.readline().split()
            processes = [*descendants(process.pid), psutil.Process(process.pid)]
            # All at once, so that nobody is left to clean up.
            for each in sorted(processes, key=lambda p: p.pid):
                each.suspend()
            for each in processes:
                each.kill()
        wait_until(lambda: not alive(processes), "the processes' ends")
        assert all(map(os.path.isdir, folders))
        sc = start(spark__local__dir=tmp_path)
        assert not any(map(os.path.exists, folders))
        assert all(map(os.path.isdir, folders_of(sc)))

    def test_of_a_living_context_is_not_swept(self, sc: SparkContext) -> None:
        result = run_program(PROGRAM.format(body="pass", dir=""))
        assert result.returncode == 0, result.stderr
        assert all(map(os.path.isdir, folders_of(sc)))


PROGRAM = """
import sys, pyrite
conf = pyrite.SparkConf().setMaster("local[2]").setAppName("program")
if {dir!r}:
    conf.set("spark.local.dir", {dir!r})
sc = pyrite.SparkContext(conf=conf)
cached = sc.parallelize(range(1000), 2).keyBy(str).partitionBy(2)
cached.persist(pyrite.StorageLevel.DISK_ONLY).count()
print(*sc._engine.cluster.folders[:2], flush=True)
{body}
"""
WAIT_BODY = "sys.stdin.read()\nimport threading; threading.Event().wait()"


def check_ends_clean(body: str, code: int) -> None:
    result = run_program(PROGRAM.format(body=body, dir=""))
    assert result.returncode == code, result.stderr
    folders = result.stdout.split("\n")[0].split()
    assert len(folders) == 2
    assert not any(map(os.path.exists, folders))


def check_killed(number: signal.Signals) -> None:
    with start_program(PROGRAM.format(body=WAIT_BODY, dir="")) as process:
        assert process.stdout is not None
        folders = process.stdout.readline().split()
        wait_until(lambda: len(descendants(process.pid)) >= 3, "fork server and executors")
        processes = descendants(process.pid)
        process.send_signal(number)
        process.wait(60)
    wait_until(lambda: not alive(processes), "the end of fork server and executors")
    wait_until(lambda: not any(map(os.path.exists, folders)), "the removal of the folders")


def test_many_contexts_leave_nothing(no_context: None) -> None:
    def footprint() -> tuple[int, int, int]:
        gc.collect()
        process = psutil.Process()
        return process.num_fds(), threading.active_count(), len(alive(descendants(os.getpid())))

    def use_one() -> list[str]:
        with SparkContext("local[2]", "one of many") as sc:
            rdd = sc.parallelize(range(100), 2).map(lambda x: (x % 3, x)).reduceByKey(max).cache()
            assert rdd.count() == 3
            return folders_of(sc)

    use_one()
    before = footprint()
    folders = [folder for _ in range(20) for folder in use_one()]
    assert footprint() == before
    assert not any(map(os.path.exists, folders))
    assert SparkContext._active_spark_context is None


def test_an_engine_that_fails_can_be_stopped(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyrite.errors import EngineError

    sc = start()
    monkeypatch.setattr(threading, "excepthook", lambda args: None)

    def fail(*_: Any) -> Any:
        raise LookupError("a bug")

    monkeypatch.setattr(sc._engine.scheduler, "handle", fail)
    with pytest.raises(EngineError, match="LookupError: a bug"):
        sc.parallelize([1]).count()
    with pytest.raises(EngineError, match="stop"):
        sc.parallelize([1])
    folders = folders_of(sc)
    sc.stop()
    assert not any(map(os.path.exists, folders))
    assert SparkContext._active_spark_context is None
    assert sys.exc_info() == (None, None, None)


def test_contexts_of_the_same_millisecond_have_ids_of_their_own(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1234.567)
    ids = []
    for _ in range(2):
        sc = start("local[1]")
        ids.append(sc.applicationId)
        sc.stop()
    assert all(id.startswith("local-1234567-") for id in ids) and ids[0] != ids[1]
