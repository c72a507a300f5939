"""A run in Chrome's trace format, which Perfetto opens: a track for each executor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyrite.story.happenings import places
from pyrite.story.model import RunModel
from pyrite.story.parts import StageState, TaskAttempt

MICROS = 1e6
# The process of jobs; nodes have the next numbers.
JOBS = 1


def trace_events(run: RunModel) -> Iterator[dict[str, Any]]:
    """The events of a run, times in microseconds from its begin."""
    zero_s = run.first_s or 0.0
    nodes = {name: JOBS + 1 + place for place, name in enumerate(run.nodes)}
    yield _named("process_name", JOBS, 0, "jobs")
    for name, process in nodes.items():
        yield _named("process_name", process, 0, name)
    for executor in run.executors.values():
        title = f"executor {executor.id} (pid {executor.pid})"
        yield _named("thread_name", nodes.get(executor.node, JOBS), executor.id + 1, title)
    for job in run.jobs.values():
        end_s = run.last_s if job.ended_s is None else job.ended_s
        about = {"action": job.action, "site": job.site, "error": job.error}
        times = (job.began_s - zero_s) * MICROS, (end_s - job.began_s) * MICROS
        yield _span(f"job {job.id}: {job.action}", JOBS, job.id + 1, times, about)
    for stage in run.stages.values():
        for attempt in stage.attempts:
            home = run.executors.get(attempt.executor)
            process = JOBS if home is None else nodes.get(home.node, JOBS)
            yield _task(run, stage, attempt, process, zero_s)
    for node in run.nodes.values():
        for sample in node.pool:
            yield {
                "ph": "C",
                "name": "pool",
                "pid": nodes[node.id],
                "ts": (sample.at_s - zero_s) * MICROS,
                "args": {"used_bytes": sample.used_bytes, "lent_bytes": sample.lent_bytes},
            }
    for happening in run.happenings:
        yield {
            "ph": "i",
            "s": "g",
            "name": happening.sentence,
            "pid": JOBS,
            "tid": 0,
            "ts": (happening.at_s - zero_s) * MICROS,
        }


def _task(
    run: RunModel, stage: StageState, attempt: TaskAttempt, process: int, zero_s: float
) -> dict[str, Any]:
    about = {
        "stage": stage.name,
        "attempt": attempt.id,
        "outcome": attempt.outcome,
        **{name: value for name, value in attempt.measured._asdict().items() if value},
    }
    times = (attempt.started_s - zero_s) * MICROS, attempt.duration_s(run.last_s) * MICROS
    name = f"{stage.id}/{places(attempt.partitions)}"
    return _span(name, process, attempt.executor + 1, times, about)


def _span(
    name: str, process: int, track: int, times: tuple[float, float], about: dict[str, Any]
) -> dict[str, Any]:
    start, length = times
    span = {"ph": "X", "name": name, "pid": process, "tid": track, "ts": round(start, 3)}
    return {**span, "dur": round(length, 3), "args": about}


def _named(kind: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": track, "args": {"name": name}}
