"""Two runs side by side: jobs and stages that are alike, and how their numbers differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any, TypeVar

from pyrite.story.model import RunModel
from pyrite.story.parts import JobState, Measured, StageState

T = TypeVar("T")
MOST_ROWS = 500

# A number of a run: its name, its unit on the page, and where it is.
Number = tuple[str, str, Callable[[RunModel], float]]


def measure(name: str) -> Callable[[RunModel], float]:
    return lambda run: float(getattr(run.totals.measured, name))


NUMBERS: tuple[Number, ...] = (
    ("time", "s", lambda run: run.length_s),
    ("jobs", "", lambda run: len(run.jobs)),
    ("tasks", "", lambda run: run.totals.started),
    ("tasks failed or lost", "", lambda run: run.totals.failed + run.totals.lost),
    ("time in tasks", "s", measure("run_s")),
    ("processor time", "s", measure("cpu_s")),
    ("waiting for shuffles", "s", measure("fetch_wait_s")),
    ("garbage collection", "s", measure("gc_s")),
    ("rows read", "", measure("rows_read")),
    ("bytes read", "bytes", measure("read_bytes")),
    ("shuffle written", "bytes", measure("shuffle_written_bytes")),
    ("shuffle read, remote", "bytes", measure("shuffle_remote_bytes")),
    ("shuffle read, prefetched", "bytes", measure("shuffle_prefetched_bytes")),
    ("spilled", "bytes", measure("spilled_bytes")),
    ("highest memory of a task", "bytes", measure("peak_memory_bytes")),
)


def compare(left: RunModel, right: RunModel) -> dict[str, Any]:
    """What is alike in both runs, in the order of the program."""
    return {
        "numbers": [
            {"name": name, "unit": unit, "left": number(left), "right": number(right)}
            for name, unit, number in NUMBERS
        ],
        "jobs": [
            {"name": job_key(a or b), "left": job_side(left, a), "right": job_side(right, b)}
            for a, b in paired(list(left.jobs.values()), list(right.jobs.values()), job_key)
        ][:MOST_ROWS],
        "stages": [
            {"name": stage_key(a or b), "left": stage_side(left, a), "right": stage_side(right, b)}
            for a, b in paired(ran_stages(left), ran_stages(right), stage_key)
        ][:MOST_ROWS],
        "settings": settings_apart(left, right),
    }


def paired(
    left: Sequence[T], right: Sequence[T], key: Callable[[T | None], str]
) -> list[tuple[T | None, T | None]]:
    """Pairs of those with equal keys, in order; others stand alone."""
    matcher = SequenceMatcher(None, [key(each) for each in left], [key(each) for each in right])
    found: list[tuple[T | None, T | None]] = []
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            found += zip(left[a:a_end], right[b:b_end], strict=True)
        else:
            found += [(each, None) for each in left[a:a_end]]
            found += [(None, each) for each in right[b:b_end]]
    return found


def ran_stages(run: RunModel) -> list[StageState]:
    return [each for each in run.stages.values() if each.started_s is not None]


def job_key(job: JobState | None) -> str:
    return "" if job is None else f"{job.action} at {job.site.rpartition('/')[2]}"


def stage_key(stage: StageState | None) -> str:
    return "" if stage is None else stage.name


def job_side(run: RunModel, job: JobState | None) -> dict[str, Any] | None:
    if job is None:
        return None
    end_s = run.last_s if job.ended_s is None else job.ended_s
    return {"id": job.id, "s": end_s - job.began_s, "status": job.status, "tasks": job.done}


def stage_side(run: RunModel, stage: StageState | None) -> dict[str, Any] | None:
    if stage is None:
        return None
    measured: Measured = stage.totals.measured
    end_s = stage.ended_s if stage.ended and stage.ended_s is not None else run.last_s
    return {
        "id": stage.id,
        "s": end_s - (stage.started_s or end_s),
        "status": stage.status,
        "run_s": measured.run_s,
        "shuffle_read_bytes": measured.shuffle_read_bytes,
        "shuffle_written_bytes": measured.shuffle_written_bytes,
        "spilled_bytes": measured.spilled_bytes,
        "failed": stage.totals.failed + stage.totals.lost,
    }


def settings_apart(left: RunModel, right: RunModel) -> list[dict[str, Any]]:
    """Settings that differ; an application's id always does."""
    a = dict(left.header.settings) if left.header else {}
    b = dict(right.header.settings) if right.header else {}
    return [
        {"name": name, "left": a.get(name), "right": b.get(name)}
        for name in sorted({*a, *b} - {"spark.app.id"})
        if a.get(name) != b.get(name)
    ]
