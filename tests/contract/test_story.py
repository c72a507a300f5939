"""The story of real runs: from before the first node to the end, without rows, and true."""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
import resource
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from marks import Marks, wait_until
from programs import descendants, start_program

from pyrite import SparkContext, StorageLevel
from pyrite.blocks.codec import decode
from pyrite.cli import main
from pyrite.errors import TaskFailed
from pyrite.ids import ShuffleId
from pyrite.story import records as rec
from pyrite.story.model import RunModel
from pyrite.story.read import StoryReader

Start = Callable[..., SparkContext]
Output = pytest.CaptureFixture[str]

LOCAL_CLUSTER = "local-cluster[2,1,256m]"
MASTERS = ["local[2]", LOCAL_CLUSTER, "sim[seed=3,nodes=2,executors=1,faults=0]"]


def model_of(path: str | Path) -> RunModel:
    with StoryReader(path) as reader:
        run = RunModel(reader.header)
        run.add_all(reader.records())
    return run


def records(path: str | Path) -> list[rec.Record]:
    with StoryReader(path) as reader:
        return list(reader.records())


def wait_for_executors(sc: SparkContext, count: int) -> None:
    wait_until(lambda: len(sc._engine.scheduler.fleet) == count, "executors")


@pytest.mark.parametrize("master", MASTERS)
def test_it_begins_before_the_first_node_and_tells_the_end(
    start: Start, tmp_path: Path, master: str
) -> None:
    sc = start(master, spark__eventLog__enabled=True, spark__eventLog__dir=tmp_path)
    assert sc.parallelize(range(10), 4).map(lambda x: (x % 3, x)).reduceByKey(max, 2).count() == 3
    sc.stop()
    [path] = tmp_path.iterdir()
    told = records(path)
    assert isinstance(told[0], rec.NodeAdded)
    assert isinstance(told[-1], rec.ApplicationEnded)
    run = model_of(path)
    nodes = {each.node for each in told if isinstance(each, rec.ExecutorAdded)}
    assert nodes <= run.nodes.keys() and nodes
    [job] = run.jobs.values()
    assert (job.action, job.status) == ("count", "SUCCEEDED")
    assert f"{os.path.basename(__file__)}:" in job.site and os.sep in job.site
    maps, reduces = run.stages.values()
    assert (maps.done, reduces.done) == (4, 2)
    assert maps.totals.measured.rows_read == 10
    operators = [each["method"] for rdd in maps.rdds for each in rdd["operators"]]
    assert operators[:2] == ["parallelize", "map"]
    assert not run.running
    if not master.startswith("sim"):
        assert all(each.pid and each.host for each in run.executors.values())


@pytest.mark.parametrize("master", MASTERS)
def test_bytes_are_those_of_the_pools(start: Start, tmp_path: Path, master: str) -> None:
    path = tmp_path / "run.story"
    sc = start(master, pyrite__story__file=path, pyrite__shuffle__tiny=0)
    if not master.startswith("sim"):
        wait_for_executors(sc, 2)
    pairs = sc.parallelize(range(2000), 4).map(lambda x: (x, "v" * 50)).partitionBy(4)
    assert pairs.count() == 2000
    kept = sc.parallelize(range(1000), 4).map(str).persist(StorageLevel.OFF_HEAP)
    assert (kept.count(), kept.count()) == (1000, 1000)
    report = sc.memory()
    outputs = sc._engine.scheduler.outputs.get(ShuffleId(0))
    assert outputs is not None
    written = sum(ref.length for ref in outputs.snapshot().refs)
    sc.stop()
    run = model_of(path)
    maps, reduces = run.stages[0].totals.measured, run.stages[1].totals.measured
    assert maps.shuffle_written_bytes == written
    assert run.shuffles[0].written_bytes == written
    # Headers of map outputs are read, but are no one's part.
    assert 0.9 * written < reduces.shuffle_read_bytes <= written
    assert (maps.rows_written, reduces.rows_read) == (2000, 2000)
    if master == "local[2]":
        assert reduces.shuffle_remote_bytes == reduces.shuffle_prefetched_bytes == 0
    else:
        assert reduces.shuffle_remote_bytes + reduces.shuffle_prefetched_bytes > 0
    hits = report.hits
    last = run.stages[max(run.stages)].totals.measured
    found = (last.kept_live, last.kept_pool, last.kept_remote, last.kept_disk)
    assert found == (hits.live, hits.pool, hits.remote, hits.disk)
    assert sum(found) == 4 and last.rows_read == 1000
    sampled = [state for node in run.nodes.values() for state in node.pool if state.rdds]
    assert sampled
    assert sum(sum(node.pool[-1].rdds.values()) for node in run.nodes.values() if node.pool) == (
        sum(sum(node.rdds.values()) for node in report.nodes)
    )


@pytest.mark.parametrize("master", ["local[1]", "local-cluster[1,1,256m]"])
def test_seconds_are_those_of_the_process(start: Start, tmp_path: Path, master: str) -> None:
    def work(index: int) -> tuple[float, float]:
        before = resource.getrusage(resource.RUSAGE_SELF)
        began_s = time.perf_counter()
        total = 0
        while resource.getrusage(resource.RUSAGE_SELF).ru_utime - before.ru_utime < 0.3:
            total += sum(range(1000))
        after = resource.getrusage(resource.RUSAGE_SELF)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used_s, time.perf_counter() - began_s

    path = tmp_path / "run.story"
    sc = start(master, pyrite__story__file=path)
    spent = sc.parallelize(range(3), 3).map(work).collect()
    sc.stop()
    [stage] = model_of(path).stages.values()
    told = {each.partitions[0]: each.measured for each in stage.attempts}
    for index, (cpu_s, wall_s) in enumerate(spent):
        # The rest of the task comes on top.
        assert cpu_s - 0.02 <= told[index].cpu_s <= cpu_s + 1.0
        assert wall_s - 0.001 <= told[index].run_s <= stage.attempts[index].duration_s(0.0) + 0.001
        assert told[index].peak_memory_bytes > 1 << 20


def test_the_loading_of_functions_is_no_work(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    sc = start("local[1]", pyrite__story__file=path)
    slow = SlowToLoad()
    assert sc.parallelize(range(2), 1).map(lambda row: row + slow.one).sum() == 3
    sc.stop()
    measured = model_of(path).totals.measured
    assert measured.deserialize_s >= SlowToLoad.CPU_S
    assert measured.cpu_s < SlowToLoad.CPU_S


class SlowToLoad:
    """Takes the processor for a while, wherever it is unpickled."""

    CPU_S = 0.5
    one = 1

    def __setstate__(self, state: Any) -> None:
        began_s = time.process_time()
        while time.process_time() - began_s < self.CPU_S:
            pass

    def __getstate__(self) -> Any:
        return {"one": 1}


def test_simulated_seconds_are_those_of_the_virtual_clock(start: Start, tmp_path: Path) -> None:
    """They fit into the attempts of the story, whatever this machine took for them."""
    path = tmp_path / "run.story"
    sc = start("sim[seed=3,nodes=2,executors=1,faults=0]", pyrite__story__file=path)
    pairs = sc.parallelize(range(100), 4).map(lambda x: (sum(range(20_000)), x))
    assert pairs.reduceByKey(max, 2).count() == 1
    sc.stop()
    run = model_of(path)
    attempts = [each for stage in run.stages.values() for each in stage.attempts]
    assert len(attempts) == 6
    for each in attempts:
        measured = each.measured
        assert 0 < measured.run_s <= each.duration_s(0.0) + 1e-6
        assert 0 <= measured.fetch_wait_s <= measured.run_s
        assert measured.cpu_s <= measured.run_s + 1e-6
    assert sum(each.measured.run_s for each in attempts) == pytest.approx(run.totals.measured.run_s)


def test_files_are_measured(start: Start, tmp_path: Path) -> None:
    source, path = tmp_path / "in.txt", tmp_path / "run.story"
    source.write_text("".join(f"line {n}\n" for n in range(5000)))
    sc = start(pyrite__story__file=path)
    lines = sc.textFile(str(source), 2)
    lines.map(str.upper).saveAsTextFile(str(tmp_path / "out"))
    sc.stop()
    [stage] = model_of(path).stages.values()
    measured = stage.totals.measured
    size = source.stat().st_size
    # Each split reads on to the end of a line.
    assert size <= measured.read_bytes < size + 100_000
    assert measured.written_bytes == size
    assert (measured.rows_read, measured.rows_written) == (5000, 5000)


def fail(row: int) -> Any:
    if row == 7:
        try:
            {}[f"user-{row + 10}"]
        except KeyError as error:
            raise ValueError(f"secret-{row * 6}") from error
    return row


@pytest.mark.parametrize("master", MASTERS)
def test_no_value_of_a_row_is_in_it(start: Start, tmp_path: Path, master: str) -> None:
    path = tmp_path / "run.story"
    sc = start(master, pyrite__story__file=path, spark__task__maxFailures=1)
    with pytest.raises(TaskFailed, match="secret-42") as caught:
        sc.parallelize(range(10), 2).map(fail).map(lambda x: f"secret row {x}").collect()
    # What the user gets is whole.
    assert "user-17" in str(caught.value)
    sc.parallelize(["a secret row"], 1).map(lambda x: (x, x)).groupByKey().collect()
    sc.stop()
    text = "\n".join(json.dumps([rec.kind_of(each), rec.fields_of(each)]) for each in records(path))
    # Lines of code are there, what they made is not.
    assert not [each for each in ("secret-42", "user-17", "a secret row") if each in text]
    failure = model_of(path).errors[0]
    assert failure.error == "ValueError"
    assert "KeyError" in failure.traceback and "in fail" in failure.traceback
    assert os.path.basename(__file__) in failure.traceback


def test_values_are_there_if_they_are_wanted(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    sc = start(pyrite__story__file=path, pyrite__story__values=True)
    with pytest.raises(TaskFailed):
        sc.parallelize(range(10), 2).map(fail).collect()
    sc.stop()
    run = model_of(path)
    assert run.errors[0].message == "ValueError: secret-42"
    assert "user-17" in run.errors[0].traceback
    assert "secret-42" in run.jobs[0].message


def test_secrets_of_settings_are_blank(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    sc = start(pyrite__story__file=path, spark__my__password="hunter2", spark__other="seen")
    sc.stop()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings = model_of(path).header.settings  # type: ignore[union-attr]
    assert settings["spark.my.password"] == "*********(redacted)"
    assert settings["spark.other"] == "seen"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark__some__apiKey", "hunter2"),
        ("spark__some__credentials", "hunter2"),
        ("spark__executorEnv__MYSQL_PWD", "hunter2"),
        ("spark__executorEnv__RAY_AUTH_TOKEN", "hunter2"),
        ("spark__ssl__keyPassphrase", "hunter2"),
        ("spark__database", "postgresql://me:hunter2@host/sales"),
        ("spark__certificate", "-----BEGIN PRIVATE KEY-----hunter2"),
    ],
)
def test_what_looks_like_a_secret_is_blank(
    start: Start, tmp_path: Path, name: str, value: str
) -> None:
    path = tmp_path / "run.story"
    start("sim", pyrite__story__file=path, **{name: value, "spark__home": "https://host/a"}).stop()
    settings = model_of(path).header.settings  # type: ignore[union-attr]
    assert settings[name.replace("__", ".")] == "*********(redacted)"
    assert settings["spark.home"] == "https://host/a"


def test_literals_of_the_program_are_not_in_it(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    sc = start(pyrite__story__file=path)
    with pytest.raises(TaskFailed, match="Lovelace"):
        sc.parallelize(["Ada Lovelace"], 1).map(lambda row: {}["Lovelace 1815"]).collect()
    sc.stop()
    run = model_of(path)
    told = json.dumps([rec.fields_of(each) for each in records(path)])
    assert "Lovelace" not in told and "1815" not in told
    assert "sc.parallelize(['" in run.errors[0].traceback.replace('"', "'")


def test_a_death_is_told_with_its_cause_and_its_victims(
    start: Start, tmp_path: Path, marks: Marks
) -> None:
    folder, path = marks.folder, tmp_path / "run.story"

    def die(index: int, rows: Any) -> Any:
        import ctypes

        if index == 1 and Marks(folder).first("death"):
            ctypes.string_at(0)
        return rows

    sc = start(pyrite__story__file=path)
    assert sc.parallelize(range(4), 2).mapPartitionsWithIndex(die).count() == 4
    sc.stop()
    run = model_of(path)
    [dead] = [each for each in run.executors.values() if each.gone_s is not None]
    assert "SIGSEGV" in dead.reason
    [victim] = dead.victims
    [attempt] = [each for each in run.stages[0].attempts if each.id == victim]
    assert (list(attempt.partitions), attempt.outcome) == ([1], "lost")
    assert dead.output[0].startswith("Fatal Python error: Segmentation fault")
    assert any("in die" in line for line in dead.output)
    assert any("was lost: killed by SIGSEGV; with it task 0/1" in each.sentence
               for each in run.happenings)  # fmt: skip


def test_a_failing_disk_ends_the_story_and_not_the_job(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    path = tmp_path / "run.story"
    sc = start(pyrite__story__file=path)
    os.close(sc._chronicle.writer.fd)  # type: ignore[union-attr]
    sc._chronicle.writer.fd = os.open("/dev/full", os.O_WRONLY)  # type: ignore[union-attr]
    for _ in range(3):
        assert sc.parallelize(range(100), 10).count() == 100
        sc._chronicle.writer.flush()  # type: ignore[union-attr]
    sc.stop()
    assert [each.message for each in caplog.records if "story" in each.message]
    assert len([each for each in caplog.records if "story" in each.message]) == 1
    with StoryReader(path) as reader:
        assert reader.header.name == "contract"


def test_a_full_disk_at_the_start_is_said_and_does_not_end_the_job(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def full(fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pyrite.story.write.write_all", full)
    sc = start(pyrite__story__file=tmp_path / "run.story", spark__ui__enabled=True)
    assert sc.uiWebUrl is None
    assert sc.parallelize(range(100), 10).count() == 100
    sc.stop()
    [said] = [each.message for each in caplog.records if "story" in each.message]
    assert "No space left on device" in said and "runs without it" in said
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_refused(no_context: None, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    from pyrite import SparkConf

    conf = SparkConf(False).setMaster("local[1]").setAppName("no")
    with pytest.raises(ValueError, match="no story can be written there"):
        SparkContext(conf=conf.set("pyrite.story.file", str(tmp_path / "file" / "run.story")))


def test_a_simulated_seed_has_the_same_bytes_each_time(start: Start, tmp_path: Path) -> None:
    stories = []
    for number in range(2):
        path = tmp_path / f"run-{number}.story"
        sc = start("sim[seed=5,nodes=3,executors=2,faults=4]", pyrite__story__file=path)
        pairs = sc.parallelize(range(200), 8).map(lambda x: (x % 7, x)).reduceByKey(max, 4)
        assert pairs.count() == 7
        sc.stop()
        stories.append(path.read_bytes())
    assert stories[0] == stories[1]


KILLED = """
from pyrite import SparkConf, SparkContext

conf = SparkConf(False).setMaster("local[1]").setAppName("killed")
conf.set("pyrite.story.file", {path!r}).set("spark.ui.showConsoleProgress", "false")
sc = SparkContext(conf=conf)
print("ready", flush=True)
while True:
    sc.parallelize(range(40), 8).map(lambda x: (x % 3, x)).reduceByKey(max, 2).collect()
    print("a job", flush=True)
"""


def kill_when(path: Path, is_time: Callable[[int], bool]) -> RunModel | None:
    """The story of a driver that was killed, by the lines that it had printed; None if it had not
    begun one."""
    with start_program(KILLED.format(path=str(path))) as driver:
        assert driver.stdout is not None
        lines = 0
        while not is_time(lines):
            assert driver.stdout.readline()
            lines += 1
        kin = descendants(driver.pid)
        driver.kill()
        driver.communicate()
    for each in kin:
        wait_until(lambda each=each: not each.is_running(), "an executor's end")
    return model_of(path) if path.exists() else None


def test_the_story_of_a_killed_driver_opens(tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    told: list[int] = []

    def has_jobs(lines: int) -> bool:
        if lines % 20 == 0 and path.exists():
            told.append(len(model_of(path).jobs))
        return bool(told and told[-1])

    run = kill_when(path, has_jobs)
    assert run is not None and run.ended_s is None
    assert len(run.jobs) >= told[-1]


FEW, MANY = 5, 25


@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.long) for each in range(1, 9))]
)
def test_stories_of_drivers_killed_at_random_moments_open(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    opened = 0
    for number in range(MANY if seed else FEW):
        # Many die before the first frame, or with it.
        jobs = int(dice.expovariate(1 / 40))
        run = kill_when(tmp_path / f"{number}.story", lambda lines, jobs=jobs: lines >= jobs)
        opened += run is not None
    assert opened


STUCK = """
import itertools
from pyrite import SparkConf, SparkContext


def endless(row):
    import numpy

    numbers = numpy.zeros(10)
    print("begun", flush=True)
    return numpy.fromiter(itertools.repeat(0), dtype=int)  # never ends, and never lets go


conf = SparkConf(False).setMaster("local[2]").setAppName("stuck")
conf.set("pyrite.story.file", {path!r}).set("spark.ui.showConsoleProgress", "false")
sc = SparkContext(conf=conf)
sc.parallelize([1], 1).map(endless).count()
"""


def test_stacks_name_the_line_of_a_loop_inside_numpy(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "run.story"
    with start_program(STUCK.format(path=str(path))) as driver:
        try:
            assert driver.stderr is not None
            # Executors print to the errors.
            assert "begun" in driver.stderr.readline()
            wait_until(lambda: path.exists() and model_of(path).running, "the task in the story")
            assert main(["stacks", str(path)]) == 0
            by_file = capsys.readouterr().out
            assert main(["stacks", str(driver.pid)]) == 0
            by_process = capsys.readouterr().out
            assert main(["top", str(path), "--once"]) == 0
            assert "0/0 for" in capsys.readouterr().out
        finally:
            kin = descendants(driver.pid)
            driver.kill()
            driver.communicate()
    for each in kin:
        wait_until(lambda each=each: not each.is_running(), "an executor's end")
    assert "stage 0" in by_file and "partition 0" in by_file
    assert "<string>:11, in endless" in by_file
    assert "in endless" in by_process


def test_notebooks_show_a_context_and_an_rdd_as_tables(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    sc = start(pyrite__story__file=path)
    text = sc._repr_html_()
    assert "<td>none</td>" in text and str(path) in text and "local[2]" in text
    rows = sc.parallelize(["<b>"], 3).map(str).setName("<i>").cache()
    assert "<th>partitions</th><td>3</td>" in rows._repr_html_()
    assert "&lt;i&gt;" in rows._repr_html_() and "<i>" not in rows._repr_html_()


@pytest.mark.parametrize("master", MASTERS)
def test_with_code_it_holds_what_tasks_are_run_again_from(
    start: Start, tmp_path: Path, master: str
) -> None:
    path, added = tmp_path / "run.story", tmp_path / "added.txt"
    added.write_text("hello")
    sc = start(master, pyrite__story__file=path, pyrite__story__code=True)
    sc.addFile(str(added))
    names = sc.broadcast({3: "three"})
    rows = sc.parallelize([3, 4], 2).map(lambda x: names.value.get(x))
    assert rows.collect() == ["three", None]
    assert rows.count() == 2
    with pytest.raises(TaskFailed) as caught:
        sc.parallelize(range(10), 2).map(fail).collect()
    sc.stop()
    assert str(caught.value).endswith(
        f"Run it again here under a debugger: pyrite replay {path} --task 2/1"
    )
    with StoryReader(path) as reader:
        told = list(reader.records())
        first, second, _ = [each for each in told if isinstance(each, rec.StageCode)]
        layout = pickle.loads(reader.blob(first.layout))
        assert [step.partitions for step in layout.steps] == [2, 2]
        links = [pickle.loads(reader.blob(each)) for each in first.links]
        # Rows are told once, for whoever reads them.
        [slices], [again] = first.slices, second.slices
        assert slices["blob"] == again["blob"]
        source = links[slices["link"]][0][slices["number"]]
        parts = pickle.loads(reader.blob(slices["blob"]))
        source.slices = {index: pickle.loads(each) for index, each in parts.items()}
        assert [list(source.compute(index, [], None)) for index in range(2)] == [[3], [4]]
        [broadcast] = [each for each in told if isinstance(each, rec.BroadcastTold)]
        assert broadcast.blob is not None and first.broadcasts == [broadcast.broadcast]
        assert decode(memoryview(reader.blob(broadcast.blob)))[0] == {3: "three"}
        [file] = [each for each in told if isinstance(each, rec.FileTold)]
        assert file.blob is not None
        assert (file.name, reader.blob(file.blob)) == ("added.txt", b"hello")


def test_what_is_too_large_is_named_and_files_are_told(start: Start, tmp_path: Path) -> None:
    path, source = tmp_path / "run.story", tmp_path / "in.txt"
    source.write_text("a line\n")
    sc = start(pyrite__story__file=path, pyrite__story__code=True, pyrite__story__codeLimit="1k")
    large = sc.broadcast("x" * 10_000)
    sc.parallelize(["y" * 10_000], 1).map(lambda x: x + large.value).count()
    sc.textFile(str(source)).count()
    sc.stop()
    told = records(path)
    code = [each for each in told if isinstance(each, rec.StageCode)]
    assert code[0].missing == ["the partitions of parallelize"] and not code[0].slices
    [broadcast] = [each for each in told if isinstance(each, rec.BroadcastTold)]
    assert broadcast.blob is None and broadcast.bytes > 10_000
    [inputs] = [each for each in told if isinstance(each, rec.InputsTold)]
    [file] = inputs.files
    assert (file["bytes"], file["changed_s"]) == (7, source.stat().st_mtime)
