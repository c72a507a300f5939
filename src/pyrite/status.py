"""What runs at the moment: jobs, stages and their tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyrite.driver.log.progress import StageCounts


class SparkJobInfo(NamedTuple):
    """A job, its stages and whether it runs."""

    jobId: int
    stageIds: list[int]
    status: str


class SparkStageInfo(NamedTuple):
    """A stage and the numbers of its tasks."""

    stageId: int
    currentAttemptId: int
    name: str
    numTasks: int
    numActiveTasks: int
    numCompletedTasks: int
    numFailedTasks: int


class StatusTracker:
    """Answers what runs now, from the story."""

    def __init__(self, tally: StageCounts) -> None:
        self._tally = tally

    def getJobIdsForGroup(self, jobGroup: str | None = None) -> list[int]:
        """The jobs of a group, known so far; of no group for None."""
        return [job.id for job in self._tally.jobs() if job.group == jobGroup]

    def getActiveStageIds(self) -> list[int]:
        """The stages whose tasks run."""
        return sorted(stage.id for stage in self._tally.stages() if stage.active)

    def getActiveJobsIds(self) -> list[int]:
        """The jobs that run."""
        return sorted(job.id for job in self._tally.jobs() if job.status == "RUNNING")

    def getJobInfo(self, jobId: int) -> SparkJobInfo | None:
        """A job by its number, or None where it is not known any more."""
        for job in self._tally.jobs():
            if job.id == jobId:
                return SparkJobInfo(job.id, job.stage_ids(), job.status)
        return None

    def getStageInfo(self, stageId: int) -> SparkStageInfo | None:
        """A stage by its number, or None where it is not known any more."""
        for stage in self._tally.stages():
            if stage.id == stageId:
                return SparkStageInfo(
                    stage.id, 0, stage.name, stage.total, stage.active, stage.done, stage.failed
                )
        return None
