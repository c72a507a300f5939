"""A run as an account that one reads: what happened when, and what each stage did."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyrite.memory import bytes_text
from pyrite.story.happenings import counted, places
from pyrite.story.model import RunModel
from pyrite.story.parts import (
    Happening,
    JobState,
    Measured,
    StageState,
    TaskAttempt,
    TaskFailure,
)
from pyrite.story.records import SUCCEEDED

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
# So many of a stage's slowest tasks are named.
SLOWEST = 5


def introduction(run: RunModel, now_s: float) -> list[str]:
    """Which run it is, and how it went until now."""
    lines = []
    header = run.header
    if header is not None:
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(header.wall_s))
        lines.append(
            f"{header.name} ({header.application}) on {header.host}, master {header.master}, "
            f"Pyrite {header.pyrite}, Python {header.python}, began {began} UTC"
        )
    totals = run.totals
    failed = f", {totals.failed + totals.lost} failed" if totals.failed + totals.lost else ""
    jobs = f"{counted(len(run.jobs), 'job')} ({run.jobs_failed} failed)"
    stages = [each for each in run.stages.values() if each.started_s is not None]
    lines.append(
        f"{seconds_text(now_s - (run.first_s or 0.0))}: {jobs}, "
        f"{counted(len(stages), 'stage')}, {counted(totals.started, 'task')}{failed}"
    )
    return lines


def ending(run: RunModel) -> str:
    """How far the story goes."""
    if run.ended_s is not None:
        return "the application ended"
    return "the story ends here: the application still runs, or was killed"


def happenings(run: RunModel) -> list[Happening]:
    """All that is worth a line, in order."""
    found = [*run.happenings, *_arrivals(run)]
    for job in run.jobs.values():
        found += _job_lines(job)
    for stage in run.stages.values():
        if stage.ended_s is not None and stage.started_s is not None:
            about = {"stage": stage.id, "jobs": list(stage.jobs)}
            sentence = f"stage {stage.id} ({stage.name}) ended: {stage_text(stage)}"
            found.append(Happening(stage.ended_s, sentence, about))
    return sorted(found, key=lambda each: each.at_s)


def _arrivals(run: RunModel) -> Iterator[Happening]:
    for node in run.nodes.values():
        pool = f"a pool of {bytes_text(node.pool_bytes)}"
        only = ", for storage only" if node.storage_only else ""
        yield Happening(node.joined_s, f"{node.id} joined with {pool}{only}", {"node": node.id})
    for each in run.executors.values():
        where = f"{each.node} ({each.host}, pid {each.pid})"
        about = {"executor": each.id, "node": each.node}
        yield Happening(each.joined_s, f"executor {each.id} joined on {where}", about)


def _job_lines(job: JobState) -> Iterator[Happening]:
    about = {"job": job.id}
    described = f" ({job.description})" if job.description else ""
    where = f" at {job.site}" if job.site else ""
    wanted = counted(job.partitions, "partition")
    sentence = f"job {job.id}{described} began: {job.action or 'a job'}{where}, {wanted}"
    yield Happening(job.began_s, sentence, about)
    if job.ended_s is not None and job.error is None:
        took = seconds_text(job.ended_s - job.began_s)
        yield Happening(job.ended_s, f"job {job.id} succeeded after {took}", about)


def stage_text(stage: StageState) -> str:
    """What the tasks of a stage did, in a line."""
    done = [each for each in stage.attempts if each.outcome == SUCCEEDED]
    measured = stage.totals.measured
    runs = sorted(each.measured.run_s for each in done)
    facts = [counted(stage.totals.started, "task")]
    if runs:
        facts.append(
            f"{seconds_text(sum(runs))} of work (median {seconds_text(runs[len(runs) // 2])}, "
            f"slowest {seconds_text(runs[-1])})"
        )
    for text, size in (
        ("read", measured.read_bytes),
        ("shuffle read", measured.shuffle_read_bytes),
        ("shuffle written", measured.shuffle_written_bytes),
        ("results", measured.result_bytes),
        ("written", measured.written_bytes),
        ("spilled", measured.spilled_bytes),
    ):
        if size:
            facts.append(f"{text} {bytes_text(size)}")
    if measured.rows_read or measured.rows_written:
        facts.append(f"{rows_text(measured.rows_read)} in, {measured.rows_written:,} out")
    if failed := stage.totals.failed + stage.totals.lost:
        facts.append(f"{failed} failed")
    return ", ".join(facts)


# A stage by itself

Column = tuple[str, Callable[[Measured], float], Callable[[float], str]]


def seconds_text(seconds: float) -> str:
    """A duration to read.

    >>> seconds_text(0.00123), seconds_text(2.5), seconds_text(200)
    ('1.2 ms', '2.5 s', '3 min 20 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.2g} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def rows_text(rows: float) -> str:
    return f"{rows:,.0f} row{'' if rows == 1 else 's'}"


def count_text(rows: float) -> str:
    return f"{rows:,.0f}"


COLUMNS: Sequence[Column] = (
    ("run", lambda it: it.run_s, seconds_text),
    ("processor", lambda it: it.cpu_s, seconds_text),
    ("deserialize", lambda it: it.deserialize_s, seconds_text),
    ("fetch wait", lambda it: it.fetch_wait_s, seconds_text),
    ("gc", lambda it: it.gc_s, seconds_text),
    ("rows read", lambda it: it.rows_read, count_text),
    ("rows written", lambda it: it.rows_written, count_text),
    ("read", lambda it: it.read_bytes, bytes_text),
    ("shuffle read", lambda it: it.shuffle_read_bytes, bytes_text),
    ("shuffle written", lambda it: it.shuffle_written_bytes, bytes_text),
    ("spilled", lambda it: it.spilled_bytes, bytes_text),
    ("result", lambda it: it.result_bytes, bytes_text),
    ("peak memory", lambda it: it.peak_memory_bytes, bytes_text),
)


def stage_details(stage: StageState) -> list[str]:
    """A stage's operators, the quantiles of its tasks, and the slowest of them."""
    lines = [f"stage {stage.id}: {stage.name}, {stage_text(stage)}"]
    for rdd in stage.rdds:
        name = "" if rdd["id"] is None else f"RDD {rdd['id']}: "
        lines += [f"  {name}{operator_text(each)}" for each in rdd["operators"]]
    done = [each for each in stage.attempts if each.outcome == SUCCEEDED]
    if done:
        lines += ["", *quantile_table([each.measured for each in done])]
        lines += ["", "slowest:"]
        slowest = sorted(done, key=lambda each: -each.measured.run_s)[:SLOWEST]
        lines += [f"  {attempt_text(each)}" for each in slowest]
    return lines


def operator_text(operator: Mapping[str, Any]) -> str:
    name = f" {operator['name']!r}" if operator.get("name") else ""
    site = f" at {operator['site']}" if operator.get("site") else ""
    return f"{operator.get('method') or operator['operator']}{name}{site}"


def attempt_text(attempt: TaskAttempt) -> str:
    again = f" (try {attempt.number + 1})" if attempt.number else ""
    return (
        f"partition {places(attempt.partitions)}{again} on executor {attempt.executor}: "
        f"{seconds_text(attempt.measured.run_s)}, {rows_text(attempt.measured.rows_read)}"
    )


def quantile_table(measured: Sequence[Measured]) -> list[str]:
    """The quantiles of what was measured; without what is always zero."""
    heads = ["", "least", "25 %", "median", "75 %", "most"]
    rows = [heads]
    for name, value, text in COLUMNS:
        values = sorted(map(value, measured))
        if values[-1]:
            last = len(values) - 1
            rows.append([name, *(text(values[round(share * last)]) for share in QUANTILES)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def replay_command(run: RunModel, failure: TaskFailure, path: str) -> str | None:
    """The command that runs a failed task again; None without code in the story."""
    if run.header is None or not run.header.code or failure.error == "FetchFailed":
        return None
    task = f"{failure.stage}/{failure.partitions[0]}"
    return f"pyrite replay {shlex.quote(path)} --task {task}"


def failure_text(failure: TaskFailure, command: str | None = None) -> list[str]:
    """A failed task: the user's traceback first, the command that runs it again last."""
    where = f"stage {failure.stage}, partition {places(failure.partitions)}"
    lines = failure.traceback.rstrip().splitlines() or failure.message.splitlines()
    lines.append(f"{where}, executor {failure.executor}, attempt {failure.attempt}")
    return lines if command is None else [*lines, f"Run it again under a debugger: {command}"]
