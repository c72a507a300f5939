"""Stages as Spark's REST API has them."""

from __future__ import annotations

from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import Measured, StageState
from pyrite.ui.units import date_text, ms, since_start_s


def status_of(run: RunModel, stage: StageState) -> str:
    """A stage that no job ran, though a job that needed it has ended, was skipped."""
    if stage.started_s is not None:
        return stage.status
    needed = [job for job in run.jobs.values() if stage.id in run.stage_ids(job)]
    return "SKIPPED" if needed and all(job.ended_s is not None for job in needed) else "PENDING"


def statuses(run: RunModel) -> dict[int, str]:
    """What became of each stage; jobs are walked once."""
    open_stages = {
        id for job in run.jobs.values() if job.ended_s is None for id in run.stage_ids(job)
    }
    return {
        stage.id: stage.status
        if stage.started_s is not None
        else ("PENDING" if stage.id in open_stages else "SKIPPED")
        for stage in run.stages.values()
    }


def stage_info(run: RunModel, stage: StageState, status: str) -> dict[str, Any]:
    """One stage, with the sums of what was measured of its attempts."""
    totals, measured = stage.totals, stage.totals.measured
    jobs = [run.jobs[id] for id in stage.jobs if id in run.jobs]
    failures = [each.error for each in stage.attempts[-500:] if each.error is not None]
    reason = failures[-1].message if status == "FAILED" and failures else None
    return {
        "status": status,
        "stageId": stage.id,
        "attemptId": 0,
        "numTasks": stage.total,
        "numActiveTasks": stage.active,
        "numCompleteTasks": stage.done,
        "numFailedTasks": totals.failed + totals.lost,
        "numKilledTasks": totals.cancelled,
        "numCompletedIndices": stage.done,
        "submissionTime": date_text(run, stage.started_s),
        "firstTaskLaunchedTime": date_text(run, stage.started_s),
        "completionTime": date_text(run, stage.ended_s if stage.ended else None),
        "failureReason": reason,
        **sums(measured),
        "name": stage.name,
        "description": next((job.description for job in jobs if job.description), None),
        "details": "\n".join(sites(stage)),
        "schedulingPool": jobs[0].pool if jobs else "default",
        "rddIds": [rdd["id"] for rdd in stage.rdds if rdd["id"] is not None],
        "accumulatorUpdates": [],
        "killedTasksSummary": {},
        "pyrite": {
            "began_s": since_start_s(run, stage.started_s),
            "ended_s": since_start_s(run, stage.ended_s if stage.ended else None),
            "jobs": list(stage.jobs),
            "parents": list(stage.parents),
            "writes_shuffle": stage.writes,
            "reads_shuffles": stage.shuffles,
            "barrier": stage.barrier,
            "replayable": stage.replayable,
            "attempts": totals.started,
            "lost": totals.lost,
            "row_machine": list(stage.traced),
            "measured": measured._asdict(),
        },
    }


def sums(measured: Measured) -> dict[str, int]:
    return {
        "executorDeserializeTime": ms(measured.deserialize_s),
        "executorDeserializeCpuTime": 0,
        "executorRunTime": ms(measured.run_s),
        "executorCpuTime": round(measured.cpu_s * 1e9),
        "resultSize": measured.result_bytes,
        "jvmGcTime": ms(measured.gc_s),
        "resultSerializationTime": 0,
        "memoryBytesSpilled": measured.spilled_bytes,
        "diskBytesSpilled": measured.spilled_bytes,
        "peakExecutionMemory": measured.peak_memory_bytes,
        "inputBytes": measured.read_bytes,
        "inputRecords": measured.rows_read,
        "outputBytes": measured.written_bytes,
        "outputRecords": measured.rows_written,
        "shuffleFetchWaitTime": ms(measured.fetch_wait_s),
        "shuffleRemoteBytesRead": measured.shuffle_remote_bytes,
        "shuffleLocalBytesRead": measured.shuffle_local_bytes + measured.shuffle_prefetched_bytes,
        "shuffleReadBytes": measured.shuffle_read_bytes,
        "shuffleWriteBytes": measured.shuffle_written_bytes,
    }


def sites(stage: StageState) -> list[str]:
    """Where the program says what the stage does, the last operator first."""
    found = [
        f"{each.get('method') or each['operator']} at {each['site']}"
        for rdd in stage.rdds
        for each in rdd["operators"]
        if each.get("site")
    ]
    return list(dict.fromkeys(reversed(found)))


def stage_list(run: RunModel, status: list[str] | None = None) -> list[tuple[StageState, str]]:
    """Stages and what became of them, the newest first."""
    known = statuses(run)
    found = reversed(list(run.stages.values()))
    return [
        (each, known[each.id]) for each in found if not status or known[each.id].lower() in status
    ]
