"""Parses the lines of a story file, their RDDs and sizes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pyrite.errors import UserError
from pyrite.ids import RddId, ShuffleId
from pyrite.plan.program import NarrowInput, PlanStep, ShuffleInput, StageInput
from pyrite.rdd import dependency

Line = dict[str, Any]

HOW_TO_MAKE = "run the program with spark.eventLog.enabled=true; spark.eventLog.dir is its folder"
MAPPINGS = ("UnionSlice", "Groups", "Rows", "Columns")


class BadStory(UserError):
    """The file is no story, or nothing can be learnt from it."""


def story_lines(path: str | os.PathLike[str]) -> Iterator[Line]:
    try:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                try:
                    line = json.loads(text)
                except ValueError:
                    if not text.endswith("\n"):
                        # The run was killed while it wrote its last line.
                        return
                    raise BadStory(
                        f"{str(path)!r}, line {number} is no JSON, so this is no story: "
                        f"{HOW_TO_MAKE}"
                    ) from None
                if not isinstance(line, dict) or not {"at_s", "event", "commands"} <= line.keys():
                    raise BadStory(f"{str(path)!r}, line {number} is no event: {HOW_TO_MAKE}")
                yield line
    except UnicodeDecodeError:
        raise BadStory(f"{str(path)!r} is no text, so this is no story: {HOW_TO_MAKE}") from None
    except OSError as error:
        raise BadStory(
            f"the story {str(path)!r} can't be read: {error.strerror}. {HOW_TO_MAKE[0].upper()}"
            f"{HOW_TO_MAKE[1:]}"
        ) from None


def node_of(rdd: Line) -> PlanStep:
    """Decodes an RDD of a stage."""
    inputs: list[StageInput] = []
    for each in rdd["inputs"]:
        if "shuffle" in each:
            inputs.append(ShuffleInput(ShuffleId(each["shuffle"])))
            continue
        fields = {k: v for k, v in each.items() if k not in ("place", "mapping")}
        kind = each.get("mapping")
        mapping = getattr(dependency, kind)(**fields) if kind in MAPPINGS else dependency.SAME
        inputs.append(NarrowInput(each["place"], mapping))
    return PlanStep(RddId(rdd["id"]), tuple(inputs), rdd["partitions"])


def size_of(value: Any) -> float:
    """The bytes of a result, or of a block, which is written as the fields of its ref."""
    match value:
        case {"bytes": size}:
            return float(size)
        case [_, _, _, length, _]:
            return float(length)
        case _:
            return 0.0


def made_bytes(event: Line) -> list[float]:
    """The bytes that a task produced for each of its partitions."""
    return [size_of(output or result) for result, output, *_ in event["made"]]
