"""The journal: what was written whole is restored, and nothing else is taken for it."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from pyrite import SparkConf, SparkContext
from pyrite.driver.log import journal as journal_module
from pyrite.driver.log.journal import HEADLINE, Journal, plain, restore, whole
from pyrite.driver.log.records import BadJournal, StageRecorder
from pyrite.ids import AttemptId, BlockRef, ExecutorId, JobId, NodeId, RddId, ShuffleId, StageId
from pyrite.metrics import NO_METRICS, TaskMetrics
from pyrite.place.predict import Sample
from pyrite.plan.program import PlanStep, Shape, ShuffleInput
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command, LaunchTask
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler
from pyrite.settings import BadSetting

NODE = NodeId("node-0")


class Driver:
    """A scheduler with two executors, and its journal."""

    def __init__(self, folder: Path, most_events: int = 1000) -> None:
        self.scheduler = Scheduler(Rules(max_failures=4))
        self.now_s = 0.0
        self.path = folder / "app.journal"
        self.journal = Journal(str(folder), "app", self.scheduler, most_events)
        self.tell(ev.NodeJoined(NODE, 1 << 20))
        self.tell(ev.ExecutorJoined(ExecutorId(0), NODE))
        self.tell(ev.ExecutorJoined(ExecutorId(1), NODE))

    def tell(self, event: ev.Event) -> list[Command]:
        self.now_s += 1.0
        commands = self.scheduler.handle(event, self.now_s)
        self.journal.record(self.now_s, event, commands)
        return commands

    def submit(self, stage: StageSpec) -> list[AttemptId]:
        """Gives the attempts that are launched."""
        job = JobSpec(JobId(stage.id), stage, tuple(range(stage.partitions)))
        return [each.attempt for each in self.tell(ev.JobSubmitted(job)) if is_launch(each)]


def is_launch(command: Command) -> bool:
    return isinstance(command, LaunchTask)


def make_stage(id: int, *parents: StageSpec, writes: bool = False) -> StageSpec:
    shuffles = {each.writes: each for each in parents if each.writes is not None}
    node = PlanStep(RddId(id), tuple(map(ShuffleInput, shuffles)), 2)
    shuffle = ShuffleId(id) if writes else None
    return StageSpec(StageId(id), f"stage {id}", 2, Shape([node]), shuffles, shuffle)


def ref(number: int) -> BlockRef:
    return BlockRef(NODE, f"e0-{number}", 0, 8, "disk")


def test_running_jobs_and_their_outputs_are_restored(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    maps = make_stage(0, writes=True)
    first, second = driver.submit(make_stage(1, maps))
    driver.tell(ev.TaskSucceeded(first, (ev.TaskOutput(output=ref(0)),)))
    scheduler, at_s = restore(str(tmp_path / "app.journal"))
    assert at_s == driver.now_s
    assert scheduler.outputs._shuffles[ShuffleId(0)].refs == [ref(0), None]
    assert list(scheduler.attempts._attempts) == [second]
    answer = scheduler.handle(ev.TaskSucceeded(second, (ev.TaskOutput(output=ref(1)),)), at_s + 1)
    assert [each.stage for each in answer if is_launch(each)] == [1, 1]


def test_stages_of_a_restored_job_are_the_same_objects(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    maps = make_stage(0, writes=True)
    left, right = make_stage(1, maps, writes=True), make_stage(2, maps, writes=True)
    driver.submit(make_stage(3, left, right))
    scheduler, _ = restore(str(tmp_path / "app.journal"))
    parents = scheduler.jobs._jobs[JobId(3)].spec.stage.parents
    assert parents[ShuffleId(1)].parents[ShuffleId(0)] is parents[ShuffleId(2)].parents[0]
    assert scheduler.stages._runs[StageId(0)].spec is parents[ShuffleId(1)].parents[ShuffleId(0)]


def test_the_sample_of_a_stage_is_restored(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    samples = (Sample(10, 4, [(0, 4)]), Sample(20, 4, [(0, 1), (1, 3)]))
    maps = replace(make_stage(0, writes=True), samples=samples, routing="range")
    driver.submit(make_stage(1, maps))
    found = restore(str(tmp_path / "app.journal"))[0].stages._runs[StageId(0)].spec
    assert found.samples == samples and found.routing == "range"


def test_thousands_of_stages_are_told_once(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    last = make_stage(0, writes=True)
    for id in range(1, 1500):
        last = make_stage(id, last, writes=True)
    driver.submit(make_stage(1500, last))
    before = driver.path.stat().st_size
    driver.submit(make_stage(1501, last))
    assert driver.path.stat().st_size - before < 1000
    Journal(str(tmp_path), "again", driver.scheduler).close(keep=True)
    for name in ("app", "again"):
        scheduler, _ = restore(str(tmp_path / f"{name}.journal"))
        assert len(scheduler.stages._runs) == len(driver.scheduler.stages._runs) == 1502


def test_a_stage_that_no_beginning_tells_is_told_again() -> None:
    maps = make_stage(0, writes=True)
    teller = StageRecorder()
    first, second = (teller.frames(make_stage(id, maps)) for id in (1, 2))
    assert b"stage 0" in first and b"stage 0" not in second
    assert b"stage 0" in StageRecorder().frames(make_stage(3, maps))


def test_it_begins_anew_when_it_is_long(tmp_path: Path) -> None:
    driver = Driver(tmp_path, most_events=50)
    sizes = []
    for number in range(1_000):
        driver.tell(ev.MemoryAsked(number))
        sizes.append(driver.path.stat().st_size)
        assert restore(str(tmp_path / "app.journal"))[1] == driver.now_s
    assert max(sizes) < 3 * driver.journal.begun_bytes + 50 * 100
    assert sum(after < before for before, after in pairwise(sizes)) > 3
    assert [each.name for each in tmp_path.iterdir()] == ["app.journal"]


def test_a_torn_tail_is_passed_over(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    attempt, _ = driver.submit(make_stage(0))
    whole = driver.path.read_bytes()
    driver.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(),)))
    longer = driver.path.read_bytes()
    for length in range(len(whole), len(longer)):
        driver.path.write_bytes(longer[:length])
        scheduler, at_s = restore(str(tmp_path / "app.journal"))
        assert at_s == driver.now_s - 1
        assert attempt in scheduler.attempts._attempts


def test_one_that_ends_in_its_beginning_is_refused(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    driver.path.write_bytes(driver.path.read_bytes()[: len(HEADLINE) + 20])
    with pytest.raises(BadJournal, match="ends before it tells anything"):
        restore(str(tmp_path / "app.journal"))


def test_any_changed_byte_is_refused_with_its_place(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    start = driver.path.stat().st_size
    driver.submit(make_stage(0))
    end = driver.path.stat().st_size
    driver.tell(ev.MemoryAsked(0))
    data = driver.path.read_bytes()
    dice = Random(5)
    for place in range(start, end):
        changed = bytes([data[place] ^ dice.randrange(1, 256)])
        driver.path.write_bytes(data[:place] + changed + data[place + 1 :])
        with pytest.raises(BadJournal, match="damaged: the record at byte") as caught:
            restore(str(tmp_path / "app.journal"))
        assert start <= int(str(caught.value).partition("at byte ")[2].split()[0]) <= place


@pytest.mark.parametrize(
    ("headline", "problem"),
    [
        (HEADLINE.replace(b"Pyrite ", b"Pyrite 9."), "was written by Pyrite 9."),
        (HEADLINE.replace(b"Python ", b"Python 9."), "on Python 9.*restore it with the versions"),
        (b"something else", "is not a journal"),
    ],
)
def test_what_another_version_wrote_is_refused(
    tmp_path: Path, headline: bytes, problem: str
) -> None:
    driver = Driver(tmp_path)
    driver.path.write_bytes(headline + driver.path.read_bytes()[len(HEADLINE) :])
    with pytest.raises(BadJournal, match=problem):
        restore(str(tmp_path / "app.journal"))


def test_nobody_else_may_read_or_have_written_it(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "journals")
    assert stat.S_IMODE(driver.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(driver.path.parent.stat().st_mode) == 0o700
    driver.path.chmod(0o620)
    with pytest.raises(BadJournal, match="written by another user"):
        restore(str(driver.path))


def test_a_crash_while_it_begins_anew_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(tmp_path)
    whole = driver.path.read_bytes()
    (tmp_path / "app.journal.new").write_bytes(whole[:50])
    assert restore(str(tmp_path / "app.journal"))[1] == driver.now_s

    def die(old: str, new: str) -> None:
        assert driver.path.read_bytes() == whole
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        Journal(str(tmp_path), "app", driver.scheduler)
    assert restore(str(tmp_path / "app.journal"))[1] == driver.now_s


def test_one_that_cannot_be_written_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Driver(tmp_path)

    def fail(file: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module, "write_all", fail)
    # A context that has set its level may have run before.
    caplog.set_level("WARNING", "pyrite")
    driver.tell(ev.MemoryAsked(0))
    driver.tell(ev.MemoryAsked(1))
    assert caplog.text.count("goes on without it") == 1
    assert not list(tmp_path.iterdir())


def test_each_field_of_an_event_is_told() -> None:
    block = ref(7)
    news = ev.KeptNews(found=(1, 0, 0, 0))
    more = (ev.TaskOutput(b"rows", block, b"updates", b"sizes", ("sum: in C",)),)
    event = ev.TaskSucceeded(
        AttemptId(1),
        (ev.TaskOutput(b"rows", block, b"updates", b"sizes", ("sum: in C",)), *more),
        news,
        TaskMetrics(run_s=1.0),
    )
    for each in (event, *event.made):
        assert all(
            value != each._field_defaults.get(name) for name, value in each._asdict().items()
        )
    # What was measured is for the story alone.
    assert whole(*plain(event, [])) == event._replace(metrics=NO_METRICS)
    assert whole(
        *plain(ev.TaskSucceeded(AttemptId(1), (ev.TaskOutput(),)), [])
    ) == ev.TaskSucceeded(AttemptId(1), (ev.TaskOutput(),))


def test_what_was_delivered_is_not_in_it(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    first, second = driver.submit(make_stage(0))
    driver.tell(
        ev.TaskSucceeded(first, (ev.TaskOutput(b"secret rows", accumulators=b"secret sum"),))
    )
    driver.tell(ev.TaskRaised(second, ev.Failure("KeyError", "'user'", error=b"secret error")))
    assert b"secret" not in driver.path.read_bytes()
    assert list(restore(str(tmp_path / "app.journal"))[0].jobs._jobs[JobId(0)].unfinished) == [1]


def test_what_a_barrier_still_holds_is_in_it(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    first, second = driver.submit(replace(make_stage(0), barrier=True))
    driver.tell(ev.TaskSucceeded(first, (ev.TaskOutput(b"of the first"),)))
    scheduler, at_s = restore(str(tmp_path / "app.journal"))
    event = ev.TaskSucceeded(second, (ev.TaskOutput(b"of the second"),))
    lost = driver.tell(event)
    assert scheduler.handle(event, at_s + 1) == lost
    assert b"of the second" not in driver.path.read_bytes()


def test_it_is_there_while_the_driver_is(tmp_path: Path) -> None:
    conf = SparkConf(False).setMaster("sim[seed=1]").set("pyrite.journal.dir", str(tmp_path))
    with SparkContext(conf=conf) as sc:
        pairs = sc.parallelize([(n % 3, n) for n in range(12)], 4).reduceByKey(int.__add__)
        assert pairs.count() == 3
        (file,) = tmp_path.iterdir()
        assert file.name == f"{sc.applicationId}.journal"
        scheduler, _ = restore(str(file))
        assert [each.complete for each in scheduler.outputs._shuffles.values()] == [True]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    conf = SparkConf(False).setMaster("local[1]")
    conf.set("pyrite.journal.dir", str(tmp_path / "file" / "journals"))
    with pytest.raises(BadSetting, match=r"journal\.dir.*no journal can be written there"):
        SparkContext(conf=conf)
