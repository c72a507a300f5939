"""The story on disk: a line of JSON per event, with the commands that answered it."""

from __future__ import annotations

import json
import os
from typing import Any

from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class StoryFile:
    """Writes what happens as it happens; rows never appear, only ids, sizes and places."""

    def __init__(self, folder: str, application: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, f"{application}.story")
        self.file = open(self.path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115

    def tell(self, now_s: float, event: Event, commands: list[Command]) -> None:
        line = {
            "at_s": round(now_s, 6),
            "event": named(event),
            "commands": [named(command) for command in commands],
        }
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def close(self) -> None:
        self.file.close()


def named(happening: Any) -> dict[str, Any]:
    """An event or command with its kind, its fields as plain values."""
    fields = {name: plain(value) for name, value in happening._asdict().items()}
    return {"kind": type(happening).__name__, **fields}


def plain(value: Any) -> Any:
    """A value as JSON has it; bytes by their number, stages and errors in short."""
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
        case Exception():
            return f"{type(value).__name__}: {value}"
        case tuple() | list() | set() | frozenset():
            return [plain(each) for each in value]
        case _:
            return repr(value)
