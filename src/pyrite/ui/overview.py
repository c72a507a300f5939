"""What the first view of a run shows."""

from __future__ import annotations

from typing import Any

from pyrite.story.model import RunModel
from pyrite.ui.failures import failure_list, happening_list
from pyrite.ui.jobs import job_info, job_list
from pyrite.ui.stages import stage_info, statuses
from pyrite.ui.units import since_start_s

MOST_JOBS = 300
MOST_STAGES = 20
MOST_RDDS = 24
MOST_ERRORS = 5
MOST_EXECUTORS = 200
MOST_SENTENCES = 12


def overview(run: RunModel, path: str, rdds: list[dict[str, Any]]) -> dict[str, Any]:
    """Totals, the jobs on a time line, errors, named RDDs, and what happened last."""
    totals = run.totals
    known = statuses(run)
    active = [each for each in run.stages.values() if known[each.id] == "ACTIVE"]
    jobs = job_list(run)
    failures = failure_list(run, path)
    shown = [each for each in rdds if each["named"] or each["level"] is not None]
    return {
        "length_s": since_start_s(run, run.last_s) or 0.0,
        "ended": run.ended_s is not None,
        "tasks": {
            "started": totals.started,
            "running": len(run.running),
            "succeeded": totals.succeeded,
            "failed": totals.failed,
            "cancelled": totals.cancelled,
            "lost": totals.lost,
        },
        "measured": totals.measured._asdict(),
        "shuffle_read_bytes": totals.measured.shuffle_read_bytes,
        "jobs_total": len(run.jobs),
        "jobs_failed": run.jobs_failed,
        "jobs_running": sum(job.ended_s is None for job in jobs),
        "stages_total": sum(each.started_s is not None for each in run.stages.values()),
        "timeline": [job_info(run, each) for each in jobs[:MOST_JOBS]],
        "executors": executor_spans(run),
        "active_stages": [stage_info(run, each, "ACTIVE") for each in active[-MOST_STAGES:]],
        "errors": failures[:MOST_ERRORS],
        "errors_total": len(failures),
        "rdds": shown[:MOST_RDDS],
        "rdds_total": len(shown),
        "happenings": happening_list(run, MOST_SENTENCES),
        "happenings_total": len(run.happenings),
    }


def executor_spans(run: RunModel) -> dict[str, Any]:
    """When executors came and went."""
    all_of_them = list(run.executors.values())
    living = [each for each in all_of_them if each.gone_s is None]
    nodes = {each.node for each in living}
    return {
        "living": len(living),
        "nodes": len(nodes),
        "lost": [
            {
                "id": each.id,
                "node": each.node,
                "at_s": since_start_s(run, each.gone_s),
                "reason": each.reason,
            }
            for each in all_of_them
            if each.gone_s is not None
        ][-MOST_EXECUTORS:],
    }
