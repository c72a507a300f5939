"""A stage in a story: its RDDs, with the operators and the calls that made them."""

from __future__ import annotations

from typing import Any

from pyrite.ids import RddId, ShuffleId
from pyrite.plan.program import (
    NarrowInput,
    PlanStep,
    Program,
    Shape,
    ShuffleInput,
    StageInput,
)
from pyrite.plan.stages import StageSpec
from pyrite.rdd import dependency
from pyrite.rdd.dependency import Same
from pyrite.story.plain import plain
from pyrite.story.records import Fields, StageMade

MAPPINGS = ("UnionSlice", "Groups", "Rows", "Columns")


def stage_made(at_s: float, stage: StageSpec, program: Program | None) -> StageMade:
    """A stage with its RDDs; where its program is not known, without their operators."""
    return StageMade(
        at_s,
        stage.id,
        stage.name,
        stage.partitions,
        tuple(parent.id for parent in stage.parents.values()),
        stage.writes,
        stage.barrier,
        stage.replayable,
        [
            {**rdd_told(step), "operators": [] if program is None else operators(program, place)}
            for place, step in enumerate(stage.shape.steps)
        ],
        stage.namespace,
    )


def stage_named(at_s: float, stage: StageSpec) -> StageMade:
    """A stage without its RDDs, which may be thousands."""
    parents = tuple(parent.id for parent in stage.parents.values())
    return StageMade(at_s, stage.id, stage.name, stage.partitions, parents, stage.writes)


def rdd_told(step: PlanStep) -> dict[str, Any]:
    """One RDD; an input is a shuffle, or the place of another RDD in the list."""
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
    told = {"id": step.rdd, "partitions": step.partitions, "inputs": inputs}
    return {**told, "keys": step.keys} if step.keys else told


def operators(program: Program, place: int) -> list[dict[str, Any]]:
    """The operators of one RDD, in the order in which they run."""
    calls = program.calls(place)
    found = []
    for number, op in enumerate(program.ops(place)):
        told: dict[str, Any] = {"operator": op.name}
        if number < len(calls):
            site, name, rdd = calls[number]
            told |= {"method": site.method, "name": name, "site": site.whole, "rdd": rdd}
        found.append(told)
    return found


def shape_of(stage: StageMade) -> Shape:
    """The shape that the stage had in the scheduler."""
    return Shape([step_of(each) for each in stage.rdds])


def step_of(rdd: Fields) -> PlanStep:
    inputs: list[StageInput] = []
    for each in rdd["inputs"]:
        if "shuffle" in each:
            inputs.append(ShuffleInput(ShuffleId(each["shuffle"])))
            continue
        fields = {k: v for k, v in each.items() if k not in ("place", "mapping")}
        kind = each.get("mapping")
        mapping = getattr(dependency, kind)(**fields) if kind in MAPPINGS else dependency.SAME
        inputs.append(NarrowInput(each["place"], mapping))
    id = rdd["id"]
    known = None if id is None else RddId(id)
    keys = tuple(rdd.get("keys", ()))
    return PlanStep(known, tuple(inputs), rdd["partitions"], keys=keys)
