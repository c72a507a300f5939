"""Executors as Spark's REST API has them."""

from __future__ import annotations

from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import ExecutorState
from pyrite.ui.units import date_text, ms


def executor_info(run: RunModel, executor: ExecutorState, kept: dict[int, list[int]]) -> Any:
    """One executor; `kept` has the sizes of the live partitions by executor."""
    totals, measured = executor.totals, executor.totals.measured
    node = run.nodes.get(executor.node)
    live = kept.get(executor.id, [])
    return {
        "id": str(executor.id),
        "hostPort": f"{executor.host}:{executor.pid}",
        "isActive": executor.gone_s is None,
        "rddBlocks": len(live),
        "memoryUsed": sum(live),
        "diskUsed": 0,
        "totalCores": 1,
        "maxTasks": 1,
        "activeTasks": len(executor.running),
        "failedTasks": totals.failed + totals.lost,
        "completedTasks": totals.succeeded,
        "totalTasks": totals.started,
        "totalDuration": ms(executor.busy_s),
        "totalGCTime": ms(measured.gc_s),
        "totalInputBytes": measured.read_bytes,
        "totalShuffleRead": measured.shuffle_read_bytes,
        "totalShuffleWrite": measured.shuffle_written_bytes,
        "isExcluded": False,
        "maxMemory": node.pool_bytes if node else 0,
        "addTime": date_text(run, executor.joined_s),
        "removeTime": date_text(run, executor.gone_s),
        "removeReason": executor.reason or None,
        "executorLogs": {},
        "pyrite": {
            "node": executor.node,
            "host": executor.host,
            "pid": executor.pid,
            "output": list(executor.output),
            "victims": len(executor.victims),
            "running": [running_info(run, id) for id in executor.running],
            "measured": measured._asdict(),
        },
    }


def running_info(run: RunModel, attempt_id: int) -> dict[str, Any]:
    attempt = run.running[attempt_id]
    return {
        "task": attempt.id,
        "stage": attempt.stage,
        "partition": attempt.partitions[0],
        "s": round(attempt.duration_s(run.last_s), 3),
    }


def executor_list(run: RunModel, also_gone: bool) -> list[dict[str, Any]]:
    """The living executors, or all that there ever were."""
    kept: dict[int, list[int]] = {}
    for rdd in run.rdds.values():
        for part in rdd.kept.values():
            if not part.blocks:
                kept.setdefault(part.executor, []).append(part.bytes)
    return [
        executor_info(run, each, kept)
        for each in run.executors.values()
        if also_gone or each.gone_s is None
    ]
