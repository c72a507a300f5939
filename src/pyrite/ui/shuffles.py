"""Shuffles: predicted and true sizes, and how their parts came to the reducers."""

from __future__ import annotations

from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import Measured, ShuffleState, StageState

# A shuffle with more parts is shown in groups of neighbours.
MOST_BARS = 200


def shuffle_list(run: RunModel) -> list[dict[str, Any]]:
    """All shuffles, the newest first."""
    return [shuffle_info(run, each) for each in reversed(list(run.shuffles.values()))]


def shuffle_info(run: RunModel, shuffle: ShuffleState, whole: bool = False) -> dict[str, Any]:
    readers = [run.stages[id] for id in shuffle.readers if id in run.stages]
    ran = [each for each in readers if each.started_s is not None]
    read = [each.totals.measured for each in ran]
    foreseen = shuffle.foreseen
    writer = run.stages.get(shuffle.writer) if shuffle.writer is not None else None
    info: dict[str, Any] = {
        "id": shuffle.id,
        "writer": shuffle.writer,
        "name": writer.name if writer else "",
        "readers": list(shuffle.readers),
        # Several shuffles that one stage reads are measured together.
        "shared_with": sorted({id for each in ran for id in each.shuffles} - {shuffle.id}),
        "maps": writer.partitions if writer else 0,
        "parts": shuffle.parts,
        "outputs": shuffle.outputs,
        "written_bytes": shuffle.written_bytes,
        "read": read_bytes(read),
        "fetch_wait_s": sum(each.fetch_wait_s for each in read),
        "dropped": shuffle.dropped_s is not None,
        "heaviest": heaviest(ran),
        "foreseen": None,
    }
    if foreseen is not None:
        info["foreseen"] = {
            name: foreseen[name]
            for name in ("how", "seen", "maps", "mean_error", "total_error", "heaviest_error")
        }
        if whole:
            info["foreseen"]["parts"] = grouped(foreseen["predicted_bytes"], foreseen["true_bytes"])
    return info


def read_bytes(read: list[Measured]) -> dict[str, int]:
    return {
        "local": sum(each.shuffle_local_bytes for each in read),
        "remote": sum(each.shuffle_remote_bytes for each in read),
        "prefetched": sum(each.shuffle_prefetched_bytes for each in read),
    }


def heaviest(readers: list[StageState]) -> dict[str, Any] | None:
    """The attempt that read the most, beside the mean."""
    attempts = [each for stage in readers for each in stage.attempts if each.measured.run_s]
    if not attempts:
        return None
    sizes = [each.measured.shuffle_read_bytes for each in attempts]
    most = max(range(len(sizes)), key=sizes.__getitem__)
    return {
        "stage": attempts[most].stage,
        "partition": attempts[most].partitions[0],
        "bytes": sizes[most],
        "mean_bytes": sum(sizes) / len(sizes),
    }


def grouped(predicted: list[int], true: list[int]) -> list[dict[str, Any]]:
    """Predicted and true bytes by part, or by groups of parts."""
    step = -(-len(true) // MOST_BARS) or 1
    return [
        {
            "first": start,
            "last": min(start + step, len(true)) - 1,
            "predicted": sum(predicted[start : start + step]),
            "true": sum(true[start : start + step]),
        }
        for start in range(0, len(true), step)
    ]
