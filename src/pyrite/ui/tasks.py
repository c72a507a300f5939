"""Tasks as Spark's REST API has them: lists by pages, quantiles, and a stage's time line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import NOTHING, RUNNING, Measured, StageState, TaskAttempt
from pyrite.story.records import CANCELLED, SUCCEEDED
from pyrite.ui.units import date_text, ms, since_start_s

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# A stage with more attempts has its time line as shares of slots.
MOST_BARS = 600
SLOTS = 160
LANES = 40
# As `spark.speculation.multiplier` has it: a straggler took more than so many medians.
STRAGGLER = 1.5

STATUSES = {SUCCEEDED: "SUCCESS", CANCELLED: "KILLED", RUNNING: "RUNNING"}


def same(value: float) -> float:
    return value


def nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


# Where a quantile stands in Spark's summary, the measured numbers that add up to it, and its unit.
Metric = tuple[tuple[str, ...], tuple[str, ...], Callable[[float], float]]
SHUFFLE_READ = ("shuffle_local_bytes", "shuffle_remote_bytes", "shuffle_prefetched_bytes")
METRICS: tuple[Metric, ...] = (
    (("executorDeserializeTime",), ("deserialize_s",), ms),
    (("executorRunTime",), ("run_s",), ms),
    (("executorCpuTime",), ("cpu_s",), nanoseconds),
    (("resultSize",), ("result_bytes",), same),
    (("jvmGcTime",), ("gc_s",), ms),
    (("peakExecutionMemory",), ("peak_memory_bytes",), same),
    (("memoryBytesSpilled",), ("spilled_bytes",), same),
    (("diskBytesSpilled",), ("spilled_bytes",), same),
    (("inputMetrics", "bytesRead"), ("read_bytes",), same),
    (("inputMetrics", "recordsRead"), ("rows_read",), same),
    (("outputMetrics", "bytesWritten"), ("written_bytes",), same),
    (("outputMetrics", "recordsWritten"), ("rows_written",), same),
    (("shuffleReadMetrics", "readBytes"), SHUFFLE_READ, same),
    (("shuffleReadMetrics", "fetchWaitTime"), ("fetch_wait_s",), ms),
    (("shuffleReadMetrics", "remoteBytesRead"), ("shuffle_remote_bytes",), same),
    (("shuffleWriteMetrics", "writeBytes"), ("shuffle_written_bytes",), same),
)
ORDERS: dict[str, Callable[[TaskAttempt, float], Any]] = {
    "id": lambda it, now_s: it.id,
    "runtime": lambda it, now_s: it.duration_s(now_s),
    "index": lambda it, now_s: it.partitions[0],
    "executor": lambda it, now_s: it.executor,
    "rows": lambda it, now_s: it.measured.rows_read,
    "shuffleread": lambda it, now_s: it.measured.shuffle_read_bytes,
    "shufflewrite": lambda it, now_s: it.measured.shuffle_written_bytes,
    "memory": lambda it, now_s: it.measured.peak_memory_bytes,
}


def task_info(run: RunModel, attempt: TaskAttempt) -> dict[str, Any]:
    """One attempt."""
    measured = attempt.measured
    home = run.executors.get(attempt.executor)
    return {
        "taskId": attempt.id,
        "index": attempt.partitions[0],
        "attempt": attempt.number,
        "partitionId": attempt.partitions[0],
        "launchTime": date_text(run, attempt.started_s),
        "duration": ms(attempt.duration_s(run.last_s)),
        "executorId": str(attempt.executor),
        "host": home.host if home else "",
        "status": STATUSES.get(attempt.outcome, "FAILED"),
        "taskLocality": "ANY",
        "speculative": False,
        "accumulatorUpdates": [],
        "errorMessage": attempt.error.message if attempt.error else None,
        "taskMetrics": {
            "executorDeserializeTime": ms(measured.deserialize_s),
            "executorRunTime": ms(measured.run_s),
            "executorCpuTime": round(measured.cpu_s * 1e9),
            "resultSize": measured.result_bytes,
            "jvmGcTime": ms(measured.gc_s),
            "memoryBytesSpilled": measured.spilled_bytes,
            "diskBytesSpilled": measured.spilled_bytes,
            "peakExecutionMemory": measured.peak_memory_bytes,
            "inputMetrics": {"bytesRead": measured.read_bytes, "recordsRead": measured.rows_read},
            "outputMetrics": {
                "bytesWritten": measured.written_bytes,
                "recordsWritten": measured.rows_written,
            },
            "shuffleReadMetrics": {
                "fetchWaitTime": ms(measured.fetch_wait_s),
                "remoteBytesRead": measured.shuffle_remote_bytes,
                "localBytesRead": measured.shuffle_local_bytes + measured.shuffle_prefetched_bytes,
            },
            "shuffleWriteMetrics": {"bytesWritten": measured.shuffle_written_bytes},
        },
        "pyrite": {
            "node": home.node if home else "",
            "partitions": list(attempt.partitions),
            "outcome": attempt.outcome,
            "divided": attempt.divided is not None,
            "measured": measured._asdict(),
        },
    }


def task_page(
    run: RunModel,
    stage: StageState,
    offset: int = 0,
    length: int = 20,
    order: str = "id",
    status: Sequence[str] = (),
) -> tuple[list[TaskAttempt], int]:
    """A page of attempts in an order (`-runtime`: the slowest first), and how many there are."""
    key = ORDERS[order.lstrip("-").lower()]
    found = stage.attempts
    if status:
        found = [it for it in found if STATUSES.get(it.outcome, "FAILED").lower() in status]
    if order != "id":
        found = sorted(found, key=lambda it: key(it, run.last_s), reverse=order.startswith("-"))
    return found[offset : offset + length], len(found)


def task_summary(
    run: RunModel, stage: StageState, quantiles: Sequence[float] = QUANTILES
) -> dict[str, Any]:
    """Quantiles of the attempts that succeeded."""
    done = [each for each in stage.attempts if each.outcome == SUCCEEDED]
    summary: dict[str, Any] = {"quantiles": list(quantiles)}
    durations = sorted([each.duration_s(run.last_s) for each in done])
    summary["duration"] = [ms(each) for each in at_quantiles(durations, quantiles)]
    # Columns are sorted in C; only the quantiles are converted.
    found = list(zip(*(each.measured for each in done), strict=True)) or [()] * len(NOTHING)
    columns = dict(zip(Measured._fields, found, strict=True))
    for path, names, unit in METRICS:
        place = summary
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = [unit(each) for each in at_quantiles(added(columns, names), quantiles)]
    median_s = at_quantiles(durations, [0.5])[0]
    slow = len(durations) - bisect_right(durations, STRAGGLER * median_s)
    summary["pyrite"] = {"tasks": len(done), "stragglers": slow, "straggler_factor": STRAGGLER}
    return summary


def added(columns: Mapping[str, Sequence[float]], names: Sequence[str]) -> list[float]:
    """The sums of these columns, sorted; columns of nothing but zeros add nothing."""
    found = [column for name in names if any(column := columns.get(name, ()))]
    if not found:
        return []
    return sorted(found[0] if len(found) == 1 else map(sum, zip(*found, strict=True)))


def at_quantiles(ordered: Sequence[float], quantiles: Sequence[float]) -> list[float]:
    """The values at these places of a sorted list, as Spark takes them; zeros for no values.

    >>> at_quantiles([1, 2, 3, 4], [0.0, 0.5, 1.0])
    [1, 3, 4]
    """
    if not ordered:
        return [0 for _ in quantiles]
    return [ordered[min(int(each * len(ordered)), len(ordered) - 1)] for each in quantiles]


def stage_timeline(run: RunModel, stage: StageState) -> dict[str, Any]:
    """When each executor ran tasks of the stage: attempts as bars, or, where there are many, the
    share of each slot of time in which the executor was busy."""
    attempts = stage.attempts
    if not attempts:
        return {"from_s": 0.0, "to_s": 0.0, "lanes": [], "more_lanes": 0}
    from_s = min(each.started_s for each in attempts)
    to_s = max(run.last_s if each.ended_s is None else each.ended_s for each in attempts)
    by_executor: dict[int, list[TaskAttempt]] = {}
    for each in attempts:
        by_executor.setdefault(each.executor, []).append(each)
    lanes = []
    for id in sorted(by_executor)[:LANES]:
        home = run.executors.get(id)
        lane: dict[str, Any] = {"executor": id, "node": home.node if home else ""}
        if len(attempts) <= MOST_BARS:
            lane["bars"] = [bar(run, each, from_s) for each in by_executor[id]]
        else:
            lane["slots"] = busy_slots(by_executor[id], from_s, to_s, run.last_s)
            lane["failed"] = sum(
                each.outcome not in (SUCCEEDED, RUNNING, CANCELLED) for each in by_executor[id]
            )
        lanes.append(lane)
    return {
        "from_s": since_start_s(run, from_s),
        "to_s": since_start_s(run, to_s),
        "length_s": to_s - from_s,
        "lanes": lanes,
        "more_lanes": max(0, len(by_executor) - LANES),
    }


def bar(run: RunModel, attempt: TaskAttempt, from_s: float) -> dict[str, Any]:
    return {
        "task": attempt.id,
        "index": attempt.partitions[0],
        "at_s": round(attempt.started_s - from_s, 6),
        "s": round(attempt.duration_s(run.last_s), 6),
        "status": STATUSES.get(attempt.outcome, "FAILED"),
        "fetch_wait_s": attempt.measured.fetch_wait_s,
        "deserialize_s": attempt.measured.deserialize_s,
    }


def busy_slots(
    attempts: Sequence[TaskAttempt], from_s: float, to_s: float, now_s: float
) -> list[float]:
    """The share of each slot that the attempts take, at most 1."""
    slot_s = max((to_s - from_s) / SLOTS, 1e-9)
    busy_s = [0.0] * (SLOTS + 1)
    for each in attempts:
        start_s = each.started_s - from_s
        end_s = (now_s if each.ended_s is None else each.ended_s) - from_s
        first, last = int(start_s / slot_s), int(end_s / slot_s)
        if first == last:
            busy_s[first] += end_s - start_s
            continue
        busy_s[first] += (first + 1) * slot_s - start_s
        for slot in range(first + 1, last):
            busy_s[slot] += slot_s
        busy_s[last] += end_s - last * slot_s
    busy_s[SLOTS - 1] += busy_s.pop()
    return [round(min(1.0, each / slot_s), 3) for each in busy_s]
