"""Jobs and stages while they run."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrite.ids import AttemptId, JobId, Partition, ShuffleId
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule.ahead import Ahead
from pyrite.schedule.division import Division
from pyrite.schedule.events import Made
from pyrite.schedule.taskset import TaskSet


@dataclass(slots=True, eq=False)
class Job:
    """A job that has not ended."""

    spec: JobSpec
    unfinished: dict[int, None]
    stages: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class StageRun:
    """A stage that some job waits for; map stages are shared by all jobs that need them."""

    spec: StageSpec
    jobs: dict[JobId, None]
    pool: str
    missing: dict[ShuffleId, None] = field(default_factory=dict)
    tasks: TaskSet | None = None
    fetch_failures: dict[tuple[ShuffleId, int], int] = field(default_factory=dict)
    barrier: dict[AttemptId, str] = field(default_factory=dict)
    # Which tasks come upon which partitions of kept RDDs; None until somebody asks.
    readers: dict[Partition, list[int]] | None = None
    # Where its reducers go, and what is fetched for them, from the moment that it is foreseen.
    ahead: Ahead | None = None
    # Whether all reducers go where they go whatever they read; None until somebody asks.
    has_places: bool | None = None
    # Reducers whose work is done in pieces, and which piece is of which of them.
    divisions: dict[int, Division] = field(default_factory=dict)
    pieces: dict[int, int] = field(default_factory=dict)
    # Of a barrier stage: what the tasks made that succeeded, until all have.
    together: dict[int, Made] = field(default_factory=dict)

    @property
    def job(self) -> int:
        return next(iter(self.jobs))

    @property
    def stage(self) -> int:
        return self.spec.id

    @property
    def running_count(self) -> int:
        return 0 if self.tasks is None else self.tasks.count
