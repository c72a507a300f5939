"""The counts counts jobs, stages and tasks from the story alone."""

from pyrite.driver.log.progress import REMEMBERED, StageCounts
from pyrite.ids import AttemptId, ExecutorId, JobId, StageId
from pyrite.plan.program import Shape
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.timer import SpeculationCheck
from pyrite.status import StatusTracker

STAGE = StageSpec(StageId(4), "map at x.py:1", 3, Shape([]), {})


def launch(attempt: int) -> do.LaunchTask:
    return do.LaunchTask(AttemptId(attempt), ExecutorId(0), StageId(4), (attempt,), 0, JobId(7))


def test_numbers_follow_the_tasks() -> None:
    counts = StageCounts(lambda _: STAGE)
    status = StatusTracker(counts)
    job = JobSpec(JobId(7), STAGE, (0, 1), group="g")
    counts.record(0.0, ev.JobSubmitted(job), [launch(0), launch(1)])
    assert status.getActiveJobsIds() == [7] and status.getJobIdsForGroup("g") == [7]
    assert status.getActiveStageIds() == [4]
    counts.record(1.0, ev.TaskSucceeded(AttemptId(0), (ev.TaskOutput(b""),)), [])
    counts.record(1.0, ev.TaskRaised(AttemptId(1), ev.Failure("E", "e")), [launch(2)])
    info = status.getStageInfo(4)
    assert info is not None
    assert (info.numTasks, info.numActiveTasks) == (2, 1)
    assert (info.numCompletedTasks, info.numFailedTasks) == (1, 1)
    finish = [do.ForgetStage(StageId(4)), do.FinishJob(JobId(7))]
    counts.record(2.0, ev.TaskSucceeded(AttemptId(2), (ev.TaskOutput(b""),)), list(finish))
    assert status.getActiveStageIds() == [] and status.getActiveJobsIds() == []
    assert status.getJobInfo(7) == (7, [4], "SUCCEEDED")
    assert status.getJobInfo(8) is None and status.getStageInfo(8) is None


def test_partitions_of_one_task_count_each() -> None:
    counts = StageCounts(lambda _: STAGE)
    status = StatusTracker(counts)
    job = JobSpec(JobId(7), STAGE, (0, 1, 2))
    counts.record(0.0, ev.JobSubmitted(job), [launch(0)._replace(partitions=(0, 1, 2))])
    info = status.getStageInfo(4)
    assert info is not None and info.numActiveTasks == 3
    alone = [launch(each) for each in (1, 2)]
    counts.record(1.0, ev.TaskRaised(AttemptId(0), ev.Failure("E", "e")), list(alone))
    info = status.getStageInfo(4)
    assert info is not None and (info.numActiveTasks, info.numFailedTasks) == (2, 1)
    group = launch(3)._replace(partitions=(3, 1, 2))
    counts.record(2.0, ev.TimerFired(SpeculationCheck()), [group])
    counts.record(
        3.0,
        ev.TaskSucceeded(AttemptId(3), (ev.TaskOutput(b""), *(ev.TaskOutput(), ev.TaskOutput()))),
        [],
    )
    info = status.getStageInfo(4)
    assert info is not None and (info.numActiveTasks, info.numCompletedTasks) == (2, 3)


def test_only_the_last_jobs_are_remembered() -> None:
    counts = StageCounts(lambda _: STAGE)
    for id in range(REMEMBERED + 10):
        counts.record(0.0, ev.JobSubmitted(JobSpec(JobId(id), STAGE, ())), [])
    assert len(counts.jobs()) == REMEMBERED
