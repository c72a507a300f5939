"""Jobs as Spark's REST API has them."""

from __future__ import annotations

from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import JobState, StageState
from pyrite.ui.units import date_text, since_start_s

SKIPPED = "SKIPPED"


def stage_status(run: RunModel, job: JobState, stage: StageState) -> str:
    """What became of a stage in a job: a stage of an ended job that ran nothing was skipped."""
    if stage.id in job.ran:
        return stage.status
    return SKIPPED if job.ended_s is not None or stage.ended else "PENDING"


def job_info(run: RunModel, job: JobState) -> dict[str, Any]:
    """One job; times are dates, and seconds since the run's first record under `pyrite`."""
    ids = run.stage_ids(job)
    stages = [run.stages[id] for id in ids if id in run.stages]
    statuses = [stage_status(run, job, each) for each in stages]
    skipped = [each for each, status in zip(stages, statuses, strict=True) if status == SKIPPED]
    wanted = sum(each.total for each in stages)
    return {
        "jobId": job.id,
        "name": f"{job.action} at {job.site}",
        "description": job.description or None,
        "submissionTime": date_text(run, job.began_s),
        "completionTime": date_text(run, job.ended_s),
        "stageIds": ids,
        "jobGroup": job.group,
        "jobTags": list(job.tags),
        "status": job.status,
        "numTasks": wanted,
        "numActiveTasks": job.active,
        "numCompletedTasks": job.done,
        "numSkippedTasks": sum(each.total for each in skipped),
        "numFailedTasks": job.failed,
        "numKilledTasks": job.cancelled,
        "numCompletedIndices": job.done,
        "numActiveStages": statuses.count("ACTIVE"),
        "numCompletedStages": statuses.count("COMPLETE"),
        "numSkippedStages": len(skipped),
        "numFailedStages": statuses.count("FAILED"),
        "killedTasksSummary": {},
        "pyrite": {
            "began_s": since_start_s(run, job.began_s),
            "ended_s": since_start_s(run, job.ended_s),
            "action": job.action,
            "site": job.site,
            "pool": job.pool,
            "error": job.error,
            "message": job.message,
        },
    }


def job_list(run: RunModel, status: list[str] | None = None) -> list[JobState]:
    """Jobs, the newest first, as Spark lists them."""
    found = reversed(list(run.jobs.values()))
    return [job for job in found if not status or job.status.lower() in status]
