"""What runs at the moment: jobs, stages and their tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pyrite.notebook import table

if TYPE_CHECKING:
    from pyrite.driver.log.progress import Progress
    from pyrite.memory import MemoryReport

# There is nothing to connect to.
HOST, PORT = "127.0.0.1", 0


class SparkJobInfo(NamedTuple):
    """A job, its stages and whether it runs."""

    jobId: int
    stageIds: list[int]
    status: str

    def _repr_html_(self) -> str:
        stages = ", ".join(map(str, self.stageIds))
        return table(f"job {self.jobId}", [("status", self.status), ("stages", stages)])


class SparkStageInfo(NamedTuple):
    """A stage and the numbers of its tasks."""

    stageId: int
    currentAttemptId: int
    name: str
    numTasks: int
    numActiveTasks: int
    numCompletedTasks: int
    numFailedTasks: int

    def _repr_html_(self) -> str:
        return table(
            f"stage {self.stageId}: {self.name}",
            [
                ("tasks", self.numTasks),
                ("done", self.numCompletedTasks),
                ("running", self.numActiveTasks),
                ("failed", self.numFailedTasks),
            ],
        )


class SparkExecutorInfo(NamedTuple):
    """What runs and lies on a node, or with the driver; a node's pool counts as off the heap.

    Cached rows that executors hold live are not counted: only they know how large these are.
    """

    host: str
    port: int
    cacheSize: int
    numRunningTasks: int
    usedOnHeapStorageMemory: int
    usedOffHeapStorageMemory: int
    totalOnHeapStorageMemory: int
    totalOffHeapStorageMemory: int


class StatusTracker:
    """Answers what runs now, from the story."""

    def __init__(
        self, progress: Progress, memory: Callable[[], MemoryReport], executor_bytes: int = 0
    ) -> None:
        self._progress = progress
        self._memory = memory
        self._executor_bytes = executor_bytes

    def getJobIdsForGroup(self, jobGroup: str | None = None) -> list[int]:
        """The jobs of a group, known so far; of no group for None."""
        return [job.id for job in self._progress.jobs() if job.group == jobGroup]

    def getActiveStageIds(self) -> list[int]:
        """The stages whose tasks run."""
        return sorted(stage.id for stage in self._progress.stages() if stage.active)

    def getActiveJobsIds(self) -> list[int]:
        """The jobs that run."""
        return sorted(job.id for job in self._progress.jobs() if job.status == "RUNNING")

    def getJobInfo(self, jobId: int) -> SparkJobInfo | None:
        """A job by its number, or None where it is not known any more."""
        for job in self._progress.jobs():
            if job.id == jobId:
                return SparkJobInfo(job.id, self._progress.stage_ids(job), job.status)
        return None

    def getStageInfo(self, stageId: int) -> SparkStageInfo | None:
        """A stage by its number, or None where it is not known any more."""
        for stage in self._progress.stages():
            if stage.id == stageId:
                return SparkStageInfo(
                    stage.id, 0, stage.name, stage.total, stage.active, stage.done, stage.failed
                )
        return None

    def getExecutorInfos(self) -> list[SparkExecutorInfo]:
        """An entry for each node; before them one for the driver, where it is no node itself.

        >>> [info.numRunningTasks for info in sc.statusTracker().getExecutorInfos()]
        [0]
        """
        nodes = self._memory().nodes
        infos = [] if len(nodes) == 1 else [SparkExecutorInfo(HOST, PORT, *[0] * 6)]
        for node in nodes:
            executors, running = self._progress.executors(node.node)
            kept = sum(node.rdds.values())
            heap = self._executor_bytes * executors
            pool = node.used_bytes, heap, node.size_bytes
            infos.append(SparkExecutorInfo(HOST, PORT, kept, running, 0, *pool))
        return infos
