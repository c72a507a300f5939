"""The model of a run: counts, sums, deaths and kept partitions, folded from records."""

from __future__ import annotations

from pyrite.story import records as rec
from pyrite.story.format import StoryHeader
from pyrite.story.model import MOST_SAMPLES, RunModel
from pyrite.story.parts import Totals


def begun(**options: int) -> RunModel:
    """A run of one job of two stages on two executors of two nodes."""
    run = RunModel(**options)
    for id, node in enumerate(("a", "b")):
        run.add(rec.NodeAdded(0.0, node, 100))
        run.add(rec.ExecutorAdded(0.0, id, node, "host", 10 + id))
    rdds = [{"id": 5, "partitions": 2, "inputs": [], "operators": [{"operator": "map"}]}]
    run.add(rec.StageMade(1.0, 0, "maps", 2, (), 7, rdds=rdds))
    rdds = [{"id": 6, "partitions": 2, "inputs": [{"shuffle": 7}], "operators": []}]
    run.add(rec.StageMade(1.0, 1, "reduces", 2, (0,), None, rdds=rdds))
    run.add(rec.JobBegan(1.0, 3, 1, 1, "collect"))
    return run


def start(run: RunModel, attempt: int, executor: int = 0, stage: int = 0, **more: object) -> None:
    run.add(rec.TaskStarted(2.0, attempt, executor, stage, (attempt,), 0, 3, **more))  # type: ignore[arg-type]


def test_what_was_measured_is_added_up_by_stage_executor_and_run() -> None:
    run = begun()
    for attempt in (0, 1):
        start(run, attempt, executor=attempt)
        run.add(
            rec.TaskEnded(
                3.0, attempt, rec.SUCCEEDED, (40,), 0, 40, run_s=0.5, rows_read=3,
                peak_memory_bytes=10 + attempt,
            )
        )  # fmt: skip
    measured = run.stages[0].totals.measured
    assert (measured.run_s, measured.rows_read, measured.peak_memory_bytes) == (1.0, 6, 11)
    assert run.totals.measured == measured
    assert run.executors[0].totals.measured.rows_read == 3
    assert run.executors[0].busy_s == 1.0
    shuffle = run.shuffles[7]
    assert (shuffle.writer, list(shuffle.readers), shuffle.parts) == (0, [1], 2)
    assert (shuffle.outputs, shuffle.written_bytes) == (2, 80)
    assert run.stages[0].status == "ACTIVE"
    run.add(rec.StageEnded(3.0, 0))
    assert run.stages[0].status == "COMPLETE"
    assert run.stages[1].total == 1
    assert run.stage_ids(run.jobs[3]) == [0, 1]


def test_a_lost_node_takes_its_executors_and_their_tasks_along() -> None:
    run = begun()
    start(run, 0)
    start(run, 1, executor=1)
    run.add(rec.RddKept(2.0, 5, None, "Memory"))
    assert (run.rdds[5].level, run.rdds[5].partitions) == ("Memory", 2)
    block = {"node": "a", "segment": "s", "offset": 0, "bytes": 9, "medium": "memory"}
    stored = {"rdd": 5, "partition": 0, "bytes": 9, "blocks": [block]}
    live = {"rdd": 5, "partition": 1, "bytes": 9, "blocks": []}
    run.add(rec.PartitionsKept(2.5, 0, [stored, live]))
    assert {each.place for each in run.rdds[5].kept.values()} == {"live", "memory"}
    run.add(rec.NodeGone(3.0, "a", "it crashed"))
    assert (run.stages[0].active, run.stages[0].failed, run.totals.lost) == (1, 1, 1)
    assert run.jobs[3].active == 1
    assert (run.executors[0].gone_s, run.executors[0].victims) == (3.0, [0])
    assert run.rdds[5].kept == {}
    assert run.happenings[-1].sentence == (
        "a was lost with 1 executor: it crashed; with it task 0/0"
    )
    # Late words of it count nothing.
    run.add(rec.TaskEnded(4.0, 0, rec.SUCCEEDED))
    assert (run.stages[0].done, run.totals.succeeded) == (0, 0)
    run.add(rec.NodeAdded(5.0, "a", 100))
    assert run.nodes["a"].gone_s is None
    assert run.happenings[-1].sentence == "a came back with an empty pool"


def test_pieces_of_a_reducer_are_no_partitions() -> None:
    run = begun()
    piece = {"place": 0, "shuffle": 7, "maps": [0, 1], "blocks": 0}
    start(run, 0, stage=1, divided=piece)
    assert run.stages[1].active == 0
    run.add(rec.TaskEnded(3.0, 0, rec.SUCCEEDED, (5,)))
    assert (run.stages[1].done, run.stages[1].totals.succeeded) == (0, 1)


def test_a_cancelled_task_is_not_a_failed_one() -> None:
    run = begun()
    for attempt, outcome in enumerate((rec.CANCELLED, rec.RAISED)):
        start(run, attempt)
        run.add(rec.TaskEnded(3.0, attempt, outcome))
    job, stage = run.jobs[3], run.stages[0]
    assert (job.cancelled, job.failed, job.active) == (1, 1, 0)
    assert (stage.cancelled, stage.failed, stage.totals.cancelled) == (1, 1, 1)


def test_a_recovery_is_told_from_its_beginning_to_its_end() -> None:
    run = begun()
    for attempt in (0, 1):
        start(run, attempt, executor=attempt)
        run.add(rec.TaskEnded(3.0, attempt, rec.SUCCEEDED, (40,), 0, 40))
    run.add(rec.StageEnded(3.0, 0))
    run.add(rec.NodeGone(4.0, "b", "no word from it"))
    start(run, 2)
    run.add(rec.TaskEnded(5.0, 2, rec.SUCCEEDED, (40,), 0, 40))
    run.add(rec.StageEnded(5.0, 0))
    assert [each.sentence for each in run.happenings] == [
        "b was lost with 1 executor: no word from it",
        "stage 0 (maps) runs again for map outputs that were lost",
        "stage 0 (maps) has ended again, after 1 task",
    ]


def test_a_simulated_run_begins_at_zero() -> None:
    run = RunModel()
    assert run.length_s == 0.0
    run.add(rec.NodeAdded(0.0, "a", 100))
    run.add(rec.ApplicationEnded(6.5))
    assert run.length_s == 6.5


def test_a_run_begins_with_its_application() -> None:
    header = StoryHeader("local-1", "sales", "0.1", "3.11", "here", 17, 1e9, 100.0, "local[2]", {})
    run = RunModel(header)
    run.add(rec.NodeAdded(100.7, "a", 100))
    run.add(rec.ApplicationEnded(103.0))
    assert run.length_s == 3.0
    assert run.wall_s(100.0) == 1e9


def test_nothing_runs_once_the_application_has_ended() -> None:
    run = begun()
    start(run, 0)
    run.add(rec.ApplicationEnded(4.0))
    assert run.running == {}
    job, stage, executor = run.jobs[3], run.stages[0], run.executors[0]
    assert (job.active, stage.active, dict(executor.running)) == (0, 0, {})
    assert (stage.attempts[0].outcome, stage.attempts[0].ended_s) == (rec.CANCELLED, 4.0)
    assert run.totals.failed == 0


def test_a_cancellation_says_what_was_cancelled() -> None:
    run = RunModel()
    nobody = {"reason": "no longer wanted", "job": None, "group": None, "tag": None}
    for named in ({"job": 3}, {"group": "nightly"}, {"tag": "trial"}, {}):
        run.add(rec.Told(1.0, "CancelRequested", {**nobody, **named}))
    assert [each.sentence for each in run.happenings] == [
        "job 3: cancelled, no longer wanted",
        "group nightly: cancelled, no longer wanted",
        "tag trial: cancelled, no longer wanted",
        "all jobs: cancelled, no longer wanted",
    ]


def test_errors_are_told_with_their_task() -> None:
    run = begun()
    start(run, 0)
    run.add(rec.TaskError(3.0, 0, "KeyError", "KeyError", "Traceback ..."))
    run.add(rec.TaskEnded(3.0, 0, rec.RAISED))
    start(run, 1)
    run.add(rec.TaskError(4.0, 1, "FetchFailed", "gone", shuffle=7, lost=[3, 4]))
    run.add(rec.TaskEnded(4.0, 1, rec.FETCH_FAILED))
    assert [each.error for each in run.errors] == ["KeyError", "FetchFailed"]
    assert run.stages[0].attempts[0].error is run.errors[0]
    assert [each.sentence for each in run.happenings] == [
        "stage 0, partition 0 raised KeyError on executor 0",
        "stage 0, partition 1 could not read 2 map outputs of shuffle 7",
    ]


def test_a_driver_s_model_stays_small() -> None:
    run = begun(remembered=10)
    for number in range(1000):
        run.add(rec.StageMade(1.0, 10 + number, "s", 1, (9 + number,) if number else ()))
        run.add(rec.JobBegan(1.0, 10 + number, 10 + number, 1))
        start(run, number, stage=10 + number)
        run.add(rec.TaskError(2.0, number, "E", "e"))
        run.add(rec.TaskEnded(3.0, number, rec.RAISED))
        run.add(rec.ExecutorAdded(3.0, 100 + number, "a"))
        run.add(rec.ExecutorGone(3.0, 100 + number, "killed"))
        run.add(rec.PoolSampled(3.0, "a", 1, number))
        run.add(rec.JobEnded(3.0, 10 + number, "E"))
    sizes = map(len, (run.jobs, run.stages, run.errors, run.happenings, run.executors, run.rdds))
    assert all(size <= 10 for size in sizes)
    assert not run.running and not run.nodes["a"].pool
    assert not run.stages[1009].attempts
    assert run.totals.failed == 1000 and run.jobs_failed == 1000
    # Ancestors are known, even those whose counts are forgotten.
    assert run.stage_ids(run.jobs[1009]) == list(range(10, 1010))


def test_samples_of_pools_are_thinned_out() -> None:
    run = begun()
    for number in range(10 * MOST_SAMPLES):
        run.add(rec.PoolSampled(float(number), "a", 100, number))
    pool = run.nodes["a"].pool
    assert len(pool) <= MOST_SAMPLES
    assert pool[-1].used_bytes == 10 * MOST_SAMPLES - 1


def test_totals_begin_with_nothing() -> None:
    assert not any(Totals().measured)
