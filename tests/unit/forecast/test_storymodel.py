"""What a story tells about a workload, and what is no story."""

import json
from pathlib import Path
from typing import Any

import pytest
from storytelling import Told, records_of, write_story

from pyrite import SparkConf, SparkContext
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.storymodel import read_story
from pyrite.forecast.workload import (
    JobModel,
    KeptModel,
    StageModel,
    Workload,
    scaled,
    two_stages,
    uneven,
)
from pyrite.ids import NamespaceId, RddId
from pyrite.plan.program import NarrowInput, PlanStep, ShuffleInput
from pyrite.rdd.dependency import SAME, Groups, UnionSlice
from pyrite.rent.stageloads import loads_of
from pyrite.schedule.events import NamespaceDropped, NamespaceMade, RddPersisted, RddReported
from pyrite.story.format import HEADLINE, BadStory
from pyrite.story.records import JobEnded, TaskEnded, TaskStarted, kind_of
from pyrite.story.stages import rdd_told, step_of

MODEL = CostModel()
KIND = NodeKind(2, latency_s=0.0)


def told_by(workload: Workload, folder: Path, *kinds: NodeKind) -> tuple[Path, float]:
    """The story of a simulated run, written as that of a real one is, and how long it took."""
    file = Told(folder / "run.story")
    outcome = simulate(workload, kinds or [KIND], MODEL, listeners=[file.record])
    file.close()
    assert outcome.errors == ()
    return file.path, outcome.seconds


def kept_workload(place: str) -> Workload:
    nodes = PlanStep(RddId(7), (), 4), PlanStep(RddId(8), (NarrowInput(0, SAME),), 4)
    stages = {id: StageModel(id, [0.5 * (id > 0)] * 4, steps=nodes) for id in (0, 1)}
    jobs = (
        JobModel(0, 0, before=(RddPersisted(RddId(7)),)),
        JobModel(1, 1, after=(0,), gap_s=0.25),
    )
    sizes = dict.fromkeys(range(4), 1e6)
    return Workload(stages, jobs, {7: KeptModel(7, dict.fromkeys(range(4), 3.0), sizes, place)})


def test_the_story_of_a_simulated_run_gives_its_workload_back(tmp_path: Path) -> None:
    original = two_stages(uneven(6, 1.0, 0.5, 1), uneven(4, 1.0, 0.5, 2), 1e6)
    path, seconds = told_by(original, tmp_path)
    told = read_story(path, MODEL)
    assert told.executors == 2
    assert told.seconds == pytest.approx(seconds, abs=0.001)
    first, second = told.workload.stages.values()
    assert (first.writes, second.parents) == (0, (0,))
    # A story's times have six digits, and the driver's other work gets into them.
    assert first.cpu_s == pytest.approx(original.stages[0].cpu_s, abs=0.002)
    assert second.cpu_s == pytest.approx(original.stages[1].cpu_s, abs=0.002)
    assert first.output_bytes == [1e6] * 6
    again = simulate(told.workload, [KIND], MODEL)
    assert again.seconds == pytest.approx(seconds, rel=0.001)


def test_tiny_reducers_that_ran_as_one_task_are_told_apart(tmp_path: Path) -> None:
    original = two_stages([0.5] * 2, [0.002] * 200, 1e5)
    path, seconds = told_by(original, tmp_path)
    assert len([each for each in records_of(path) if isinstance(each, TaskStarted)]) < 100
    told = read_story(path, MODEL)
    assert told.workload.jobs[0].partitions == tuple(range(200))
    cpu_s = told.workload.stages[1].cpu_s
    assert len(cpu_s) == 200 and sum(cpu_s) == pytest.approx(0.4, rel=0.1)
    assert simulate(told.workload, [KIND], MODEL).seconds == pytest.approx(seconds, rel=0.05)
    assert loads_of(told.workload).stages[1].tasks[0].own_s == pytest.approx(0.002, rel=0.5)


@pytest.mark.parametrize("place", ["live", "pool", "disk"])
def test_what_making_kept_rows_took_is_told_apart_from_using_them(
    tmp_path: Path, place: str
) -> None:
    path, seconds = told_by(kept_workload(place), tmp_path)
    told = read_story(path, MODEL)
    kept = told.workload.kept[7]
    assert kept.place == place
    assert kept.making_s == pytest.approx(dict.fromkeys(range(4), 3.0), rel=0.01)
    assert told.workload.stages[0].cpu_s == pytest.approx([0.0] * 4, abs=0.01)
    assert told.workload.stages[1].cpu_s == pytest.approx([0.5] * 4, abs=0.01)
    assert simulate(told.workload, [KIND], MODEL).seconds == pytest.approx(seconds, rel=0.01)


def collection_workload() -> Workload:
    """Two datasets of a namespace with groups are loaded, then read together."""
    space = NamespaceId(0)
    loads = [PlanStep(RddId(id), (), 8) for id in range(2)]
    both = PlanStep(None, (NarrowInput(0, SAME), NarrowInput(1, SAME)), 8)
    steps = [(loads[0],), (loads[1],), (*loads, both)]
    stages = {
        id: StageModel(id, [0.25 * (id == 2)] * 8, steps=each, namespace=0)
        for id, each in enumerate(steps)
    }
    made = NamespaceMade(space, "hours", 8, 4, True)
    jobs = (
        JobModel(0, 0, before=(made, RddPersisted(RddId(0), space))),
        JobModel(1, 1, after=(0,), before=(RddPersisted(RddId(1), space),)),
        JobModel(2, 2, after=(1,), before=(RddReported(RddId(1)),)),
        JobModel(3, 2, after=(2,), before=(NamespaceDropped(space),)),
    )
    sizes = dict.fromkeys(range(8), 4e6)
    kept = {id: KeptModel(id, dict.fromkeys(range(8), 1.0), sizes) for id in range(2)}
    return Workload(stages, jobs, kept)


def test_namespaces_their_groups_and_their_members_are_told(tmp_path: Path) -> None:
    original = collection_workload()
    path, seconds = told_by(original, tmp_path, KIND, KIND)
    told = read_story(path, MODEL).workload
    assert [stage.namespace for stage in told.stages.values()] == [0, 0, 0]
    assert [job.before for job in told.jobs] == [job.before for job in original.jobs]
    again = simulate(told, [KIND] * 2, MODEL)
    # Of 8 partitions in groups: 4 tasks for each dataset, and less when groups have merged.
    assert again.tally.launched == simulate(original, [KIND] * 2, MODEL).tally.launched < 4 * 8
    assert again.seconds == pytest.approx(seconds, rel=0.01)
    twice = scaled(told, 2)
    assert twice.jobs[0].before[0] == NamespaceMade(NamespaceId(0), "hours", 16, 8, True)
    assert simulate(twice, [KIND] * 4, MODEL).errors == ()


def test_what_came_before_a_job_that_failed_holds_for_the_next(tmp_path: Path) -> None:
    path, _ = told_by(collection_workload(), tmp_path)
    told = records_of(path)
    first = next(each for each in told if isinstance(each, JobEnded))
    write_story(path, [each._replace(error="TaskFailed") if each is first else each
                       for each in told])  # fmt: skip
    jobs = read_story(path, MODEL).workload.jobs
    assert [len(job.before) for job in jobs] == [3, 1, 1]
    assert isinstance(jobs[0].before[0], NamespaceMade)


@pytest.mark.parametrize("place", ["live", "pool", "disk"])
def test_the_size_of_rows_cached_from_a_source_is_told(tmp_path: Path, place: str) -> None:
    told = read_story(told_by(kept_workload(place), tmp_path)[0], MODEL).workload
    assert told.kept[7].size_bytes == dict.fromkeys(range(4), 1e6)
    assert told.notes == ()


def test_jobs_keep_their_order_their_pauses_and_their_company(tmp_path: Path) -> None:
    stages = {id: StageModel(id, [1.0]) for id in range(4)}
    jobs = (
        JobModel(0, 0),
        JobModel(1, 1, gap_s=0.5),
        JobModel(2, 2, after=(0, 1), gap_s=2.0),
        JobModel(3, 3, after=(2,), gap_s=0.25),
    )
    path, _ = told_by(Workload(stages, jobs), tmp_path)
    told = read_story(path, MODEL).workload.jobs
    assert [job.after for job in told] == [(), (), (0, 1), (2,)]
    assert [job.gap_s for job in told] == pytest.approx([0.0, 0.5, 2.0, 0.25], abs=0.001)


def test_mappings_between_partitions_are_told() -> None:
    inputs = (
        NarrowInput(0, SAME),
        NarrowInput(1, UnionSlice(2, 3)),
        NarrowInput(2, Groups([0, 2, 5])),
        ShuffleInput(4),  # type: ignore[arg-type]
    )
    again = step_of(json.loads(json.dumps(rdd_told(PlanStep(RddId(9), inputs, 5)))))
    assert (again.rdd, again.partitions) == (9, 5)
    assert [each.mapping.parents(1) for each in again.inputs[:1]] == [(1,)]  # type: ignore[union-attr]
    assert [*again.inputs[1].mapping.parents(4)] == [2]  # type: ignore[union-attr]
    assert [*again.inputs[2].mapping.parents(1)] == [2, 3, 4]  # type: ignore[union-attr]
    assert again.inputs[3] == ShuffleInput(4)  # type: ignore[arg-type]


def test_without_the_tasks_of_a_stage_nothing_is_known_of_what_they_take(tmp_path: Path) -> None:
    path, _ = told_by(two_stages([1.0] * 4, [1.0] * 4, 10.0), tmp_path)
    told = records_of(path)
    first = {each.attempt for each in told if isinstance(each, TaskStarted) and each.stage == 0}
    write_story(
        path,
        (
            each
            for each in told
            if not isinstance(each, TaskStarted | TaskEnded) or each.attempt not in first
        ),
    )
    assert "no tasks of 1 stages (maps...)" in read_story(path, MODEL).workload.notes[0]


def test_a_story_whose_last_frame_was_cut_off_is_read(tmp_path: Path) -> None:
    path, _ = told_by(two_stages([1.0], [1.0], 10.0), tmp_path)
    path.write_bytes(path.read_bytes() + b"r\x07\x00")
    assert len(read_story(path, MODEL).workload.jobs) == 1


def test_jobs_that_failed_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    stages = {0: StageModel(0, [1.0]), 1: StageModel(1, [1.0])}
    path, _ = told_by(Workload(stages, (JobModel(0, 0), JobModel(1, 1, after=(0,)))), tmp_path)
    told = records_of(path)
    ends = [each for each in told if isinstance(each, JobEnded)]
    write_story(path, [each._replace(error="TaskFailed") if each is ends[1] else each
                       for each in told])  # fmt: skip
    workload = read_story(path, MODEL).workload
    assert [job.id for job in workload.jobs] == [0]
    assert "1 jobs that failed" in workload.notes[0]


@pytest.mark.parametrize(
    ("content", "blame"),
    [
        (b"", "is no story"),
        (b"# A readme\n", "is no story"),
        (b"pyrite story 99\n", "a story of format 99"),
        (HEADLINE, "ends before its header"),
        (HEADLINE + bytes(20), "damaged at byte 15"),
    ],
)
def test_what_is_no_story_is_refused(tmp_path: Path, content: bytes, blame: str) -> None:
    path = tmp_path / "odd.story"
    path.write_bytes(content)
    with pytest.raises(BadStory, match=blame):
        read_story(path, MODEL)


def test_a_missing_story_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BadStory, match=r"No such file.*spark\.eventLog\.enabled=true"):
        read_story(tmp_path / "none.story", MODEL)


def test_the_story_of_a_real_run_is_understood(tmp_path: Path) -> None:
    conf = SparkConf().setMaster("local[2]").set("spark.eventLog.enabled", "true")
    sc = SparkContext(conf=conf.set("spark.eventLog.dir", str(tmp_path)))
    try:
        pairs = sc.range(1000, numSlices=6).map(keyed).reduceByKey(max, 3).cache()
        assert pairs.count() == 10
        assert len(pairs.union(sc.parallelize([(1, 1)], 1)).coalesce(2).collect()) == 11
        assert len(pairs.take(1)) == 1
    finally:
        sc.stop()
    [path] = tmp_path.iterdir()
    told = read_story(path, MODEL)
    tasks = [stage.tasks for stage in told.workload.stages.values()]
    assert tasks == [6, 3, 2, 3]
    assert [len(job.partitions) for job in told.workload.jobs] == [3, 2, 1]
    assert told.executors == 2
    outcome: Any = simulate(told.workload, [KIND] * 2, MODEL)
    # The shuffle is read once: from then on its reducers' rows are kept.
    assert outcome.tally.launched == 6 + 3 + 2 + 1
    assert outcome.errors == ()


def keyed(number: int) -> tuple[int, int]:
    return number % 10, number


def test_pieces_of_a_reducer_are_its_work(tmp_path: Path) -> None:
    def skewed(number: int) -> list[tuple[int, bytes]]:
        return [(7 if each % 5 else each, bytes(80)) for each in range(4000)]

    conf = SparkConf(False).setMaster("local-cluster[2,1,256m]").setAppName("pieces")
    conf.setAll(
        {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": str(tmp_path),
            "pyrite.shuffle.divide": "10k",
            "pyrite.shuffle.small": "0",
        }.items()
    )
    with SparkContext(conf=conf) as sc:
        for _ in range(1000):
            # One executor alone divides nothing.
            if len(sc._engine.scheduler.fleet) == 2:
                break
            sc.range(2).count()
        pairs = sc.parallelize(range(6), 6).flatMap(skewed)
        assert len(pairs.sortByKey(numPartitions=3).collect()) == 24_000
    [path] = tmp_path.iterdir()
    assert "ReducerDivided" in map(kind_of, records_of(path))
    told = read_story(str(path), MODEL)
    last = told.workload.stages[max(told.workload.stages)]
    # As many tasks as partitions: pieces are none of their own.
    assert len(last.cpu_s) == 3 and all(each >= 0 for each in last.cpu_s)
    assert simulate(told.workload, [NodeKind(1), NodeKind(1)], MODEL).errors == ()
