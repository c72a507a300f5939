"""The story on disk: a line of JSON for each event, with the commands that answer it."""

from __future__ import annotations

import json
import os
from typing import Any

from pyrite.ids import StageId
from pyrite.plan.program import PlanStep, ShuffleInput
from pyrite.plan.stages import JobSpec, StageSpec, new_stages
from pyrite.rdd.dependency import Same
from pyrite.schedule.commands import Command, Snapshot
from pyrite.schedule.events import Event, JobSubmitted


class StoryFile:
    """Writes each event at once; without rows, only ids, sizes and places.

    The line of a submitted job also has all of its stages that were not written before.
    """

    def __init__(self, folder: str, application: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, f"{application}.story")
        self.file = open(self.path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115
        self.written: set[StageId] = set()

    def record(self, now_s: float, event: Event, commands: list[Command]) -> None:
        line: dict[str, Any] = {"at_s": round(now_s, 6), "event": named(event)}
        if isinstance(event, JobSubmitted):
            stages = new_stages(event.job.stage, self.written)
            self.written.update(each.id for each in stages)
            line["stages"] = [whole_stage(each) for each in stages]
        line["commands"] = [named(command) for command in commands]
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def close(self) -> None:
        self.file.close()


def named(record: Any) -> dict[str, Any]:
    """An event or command with its kind, and its fields as plain values."""
    fields = {name: plain(value) for name, value in record._asdict().items()}
    return {"kind": type(record).__name__, **fields}


def whole_stage(stage: StageSpec) -> dict[str, Any]:
    """All fields of a stage; `rdds` are in the order of its program."""
    return {
        **plain(stage),
        "barrier": stage.barrier,
        "replayable": stage.replayable,
        "rdds": [rdd(step) for step in stage.shape.steps],
    }


def rdd(step: PlanStep) -> dict[str, Any]:
    """One RDD of a stage; an input is a shuffle, or the index of another RDD in the list."""
    inputs: list[dict[str, Any]] = []
    for each in step.inputs:
        if isinstance(each, ShuffleInput):
            inputs.append({"shuffle": each.shuffle})
        elif isinstance(each.mapping, Same):
            inputs.append({"place": each.step})
        else:
            kind = type(each.mapping).__name__
            fields = {name: plain(value) for name, value in vars(each.mapping).items()}
            inputs.append({"place": each.step, "mapping": kind, **fields})
    return {"id": step.rdd, "partitions": step.partitions, "inputs": inputs}


def plain(value: Any) -> Any:
    """A value for JSON; bytes as their number; stages, snapshots and errors abbreviated."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return {"bytes": len(value)}
        case JobSpec():
            return {
                "id": value.id,
                "stage": plain(value.stage),
                "partitions": len(value.partitions),
                "group": value.group,
                "tags": sorted(value.tags),
                "pool": value.pool,
                "description": value.description,
            }
        case StageSpec():
            return {
                "id": value.id,
                "name": value.name,
                "partitions": value.partitions,
                "parents": [parent.id for parent in value.parents.values()],
                "writes": value.writes,
            }
        case Snapshot():
            # The outputs were written one by one, when their tasks succeeded.
            return {
                "shuffle": value.shuffle,
                "epoch": value.epoch,
                "outputs": len(value.refs),
                "bytes": sum(ref.length for ref in value.refs),
            }
        case Exception():
            return f"{type(value).__name__}: {value}"
        case tuple() | list() | range() | set() | frozenset():
            return [plain(each) for each in value]
        case _:
            return repr(value)
