"""Progress counts jobs, stages and tasks from the story alone."""

from pyrite.driver.log.progress import Progress
from pyrite.ids import AttemptId, ExecutorId, JobId, NodeId, StageId
from pyrite.memory import MemoryReport, NodeMemory
from pyrite.plan.program import Shape
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.timer import SpeculationCheck
from pyrite.status import StatusTracker
from pyrite.story.model import REMEMBERED
from pyrite.story.tell import Teller

STAGE = StageSpec(StageId(4), "map at x.py:1", 3, Shape([]), {})


class Counts(Progress):
    """Progress that is told chapters."""

    def __init__(self) -> None:
        super().__init__()
        self.teller = Teller(lambda _: None, full=False)

    def record(self, now_s: float, event: ev.Event, commands: list[do.Command]) -> None:
        self.add(self.teller.tell(now_s, event, commands))


def launch(attempt: int) -> do.LaunchTask:
    return do.LaunchTask(AttemptId(attempt), ExecutorId(0), StageId(4), (attempt,), 0, JobId(7))


def test_numbers_follow_the_tasks() -> None:
    counts = Counts()
    status = StatusTracker(counts, lambda: MemoryReport(()))
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


def test_a_cancelled_task_does_not_count_as_failed() -> None:
    counts = Counts()
    status = StatusTracker(counts, lambda: MemoryReport(()))
    job = JobSpec(JobId(7), STAGE, (0, 1))
    counts.record(0.0, ev.JobSubmitted(job), [launch(0), launch(1)])
    counts.record(1.0, ev.TaskCancelled(AttemptId(0)), [])
    info = status.getStageInfo(4)
    assert info is not None
    assert (info.numActiveTasks, info.numFailedTasks) == (1, 0)


def test_partitions_of_one_task_count_each() -> None:
    counts = Counts()
    status = StatusTracker(counts, lambda: MemoryReport(()))
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
    counts = Counts()
    for id in range(REMEMBERED + 10):
        counts.record(0.0, ev.JobSubmitted(JobSpec(JobId(id), STAGE, ())), [])
    # Those that run are known, however many they are.
    assert len(counts.jobs()) == REMEMBERED + 10
    counts.record(1.0, ev.MemoryAsked(0), [do.FinishJob(each.id) for each in counts.jobs()])
    assert len(counts.jobs()) == REMEMBERED


def test_nodes_have_their_executors_and_running_tasks() -> None:
    counts = Counts()
    nodes = [NodeMemory(name, False, 100, 30, 0, 0, {1: 20}) for name in ("a", "b")]
    status = StatusTracker(counts, lambda: MemoryReport(tuple(nodes)), executor_bytes=5)
    counts.record(0.0, ev.ExecutorJoined(ExecutorId(0), NodeId("a")), [])
    counts.record(0.0, ev.ExecutorJoined(ExecutorId(1), NodeId("a")), [])
    counts.record(0.0, ev.JobSubmitted(JobSpec(JobId(7), STAGE, (0, 1))), [launch(0)])
    driver, one, other = status.getExecutorInfos()
    assert not any(driver[2:])
    assert (one.cacheSize, one.numRunningTasks, one.totalOnHeapStorageMemory) == (20, 1, 10)
    assert (one.usedOffHeapStorageMemory, one.totalOffHeapStorageMemory) == (30, 100)
    assert (other.numRunningTasks, other.totalOnHeapStorageMemory) == (0, 0)
    counts.record(1.0, ev.ExecutorLost(ExecutorId(0), "killed"), [])
    assert [each.numRunningTasks for each in status.getExecutorInfos()] == [0, 0, 0]


def test_tasks_of_a_lost_node_are_not_active_any_more() -> None:
    counts = Counts()
    status = StatusTracker(counts, lambda: MemoryReport(()))
    for id in (0, 1):
        counts.record(0.0, ev.ExecutorJoined(ExecutorId(id), NodeId("a")), [])
    launches = [launch(0), launch(1)._replace(executor=ExecutorId(1))]
    counts.record(0.0, ev.JobSubmitted(JobSpec(JobId(7), STAGE, (0, 1))), list(launches))
    counts.record(1.0, ev.NodeLost(NodeId("a"), "gone"), [])
    info = status.getStageInfo(4)
    assert info is not None
    assert (info.numActiveTasks, info.numFailedTasks) == (0, 2)
    # Late words of the lost executors count nothing.
    counts.record(2.0, ev.TaskSucceeded(AttemptId(0), (ev.TaskOutput(b""),)), [])
    info = status.getStageInfo(4)
    assert info is not None and (info.numActiveTasks, info.numCompletedTasks) == (0, 0)


def test_memory_does_not_grow_with_tasks() -> None:
    counts = Counts()
    counts.record(0.0, ev.ExecutorJoined(ExecutorId(0), NodeId("a")), [])
    counts.record(0.0, ev.JobSubmitted(JobSpec(JobId(7), STAGE, (0, 1))), [])
    for id in range(10_000):
        counts.record(1.0, ev.TimerFired(SpeculationCheck()), [launch(id)])
        counts.record(2.0, ev.TaskSucceeded(AttemptId(id), (ev.TaskOutput(b""),)), [])
    run = counts.run
    assert not run.running and not run.stages[4].attempts and not run.executors[0].running


def test_notebooks_show_a_running_job_and_its_stages_as_tables() -> None:
    counts = Counts()
    status = StatusTracker(counts, lambda: MemoryReport(()))
    counts.record(0.0, ev.JobSubmitted(JobSpec(JobId(7), STAGE, (0, 1))), [launch(0)])
    job, stage = status.getJobInfo(7), status.getStageInfo(4)
    assert job is not None and stage is not None
    assert "<caption>job 7</caption>" in job._repr_html_() and "RUNNING" in job._repr_html_()
    assert "<th>running</th><td>1</td>" in stage._repr_html_()
