"""Active jobs and stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyrite.ids import AttemptId, JobId, Partition, ShuffleId, StageId, TaskKey
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule.division import DividedReducer
from pyrite.schedule.events import TaskOutput
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.taskset import TaskSet


@dataclass(slots=True, eq=False)
class Job:
    """A job that has not ended."""

    spec: JobSpec
    # The partitions whose results have not been delivered.
    unfinished: dict[int, None]
    stages: dict[StageId, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class StageRun:
    """A stage that some job waits for; map stages are shared by all jobs that need them."""

    spec: StageSpec
    jobs: dict[JobId, Job]
    pool: str
    # The shuffles that it reads and that are incomplete.
    missing: dict[ShuffleId, None] = field(default_factory=dict)
    tasks: TaskSet | None = None
    fetch_failures: dict[tuple[ShuffleId, int], int] = field(default_factory=dict)
    # The messages of tasks that wait at the barrier.
    barrier: dict[AttemptId, str] = field(default_factory=dict)
    # The tasks that depend on each kept partition; None until first needed.
    readers: dict[Partition, list[int]] | None = None
    # Its reducers' places and prefetched input, once sizes are predicted.
    plan: ReducePlan | None = None
    # Divided reducers, and the number of pieces so far.
    divisions: dict[int, DividedReducer] = field(default_factory=dict)
    pieces: int = 0
    # The groups of a collection's partitions, as they were when the stage started.
    groups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    # The outputs of a barrier stage's tasks, until all have succeeded.
    together: dict[TaskKey, TaskOutput] = field(default_factory=dict)

    @property
    def job(self) -> JobId:
        """The first of the jobs that wait for it."""
        return next(iter(self.jobs))

    @property
    def stage(self) -> StageId:
        return self.spec.id

    @property
    def running_count(self) -> int:
        return 0 if self.tasks is None else self.tasks.count


class Stages:
    """All stages that some job waits for."""

    def __init__(self, outputs: Outputs) -> None:
        self.outputs = outputs
        self._runs: dict[StageId, StageRun] = {}

    def __iter__(self) -> Iterator[StageRun]:
        return iter(self._runs.values())

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __contains__(self, run: StageRun) -> bool:
        return run.spec.id in self._runs

    def get(self, stage: StageId) -> StageRun | None:
        return self._runs.get(stage)

    def add(self, run: StageRun) -> None:
        self._runs[run.spec.id] = run

    def remove(self, run: StageRun) -> None:
        del self._runs[run.spec.id]

    def of(self, tasks: TaskSet | None) -> StageRun | None:
        """Returns the stage of these tasks, if it is still active."""
        return None if tasks is None else self._runs.get(tasks.stage)

    def waiting_for(self, shuffle: ShuffleId) -> list[StageRun]:
        """Returns the stages that wait for the shuffle."""
        return [run for run in self._runs.values() if shuffle in run.missing]

    def unfinished(self, run: StageRun) -> list[int]:
        """Returns the partitions that are still to be computed."""
        if run.spec.writes is None:
            return list(run.jobs[run.job].unfinished)
        return self.outputs.of(run.spec).missing()

    def is_unfinished(self, run: StageRun, index: int) -> bool:
        """Whether the partition is still to be computed."""
        if run.spec.writes is None:
            return index in run.jobs[run.job].unfinished
        return self.outputs.of(run.spec).refs[index] is None
