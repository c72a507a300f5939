"""Pictures of what depends on what: the stages of a job, and the lineage of an RDD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrite.story.model import RunModel
from pyrite.story.parts import JobState, StageState
from pyrite.ui.jobs import stage_status

# More boxes than these are no picture.
MOST_STAGES = 80
MOST_RDDS = 150


def job_graph(run: RunModel, job: JobState) -> dict[str, Any]:
    """The stages of a job, from the last one back, and the shuffles between them."""
    ids = run.stage_ids(job)
    shown = ids[-MOST_STAGES:]
    stages = [run.stages[id] for id in shown if id in run.stages]
    known = {stage.id for stage in stages}
    edges = [
        {"from": parent, "to": stage.id, "shuffle": run.stages[parent].writes, "bytes": written}
        for stage in stages
        for parent in stage.parents
        if parent in known
        for written in [run.stages[parent].totals.measured.shuffle_written_bytes]
    ]
    nodes = [stage_box(run, stage, stage_status(run, job, stage)) for stage in stages]
    return {"nodes": nodes, "edges": edges, "left_out": len(ids) - len(stages)}


def stage_box(run: RunModel, stage: StageState, status: str) -> dict[str, Any]:
    measured = stage.totals.measured
    found = measured.kept_live + measured.kept_pool + measured.kept_remote + measured.kept_disk
    return {
        "id": stage.id,
        "name": stage.name,
        "status": status,
        "tasks": stage.total,
        "done": stage.done,
        "failed": stage.totals.failed + stage.totals.lost,
        "run_s": measured.run_s,
        "found_kept": found,
        "rdds": [rdd_box(run, rdd) for rdd in stage.rdds[-12:]],
        "more_rdds": max(0, len(stage.rdds) - 12),
    }


def rdd_box(run: RunModel, rdd: Mapping[str, Any]) -> dict[str, Any]:
    """An RDD with its operators; `level` while it is persisted."""
    known = run.rdds.get(rdd["id"]) if rdd["id"] is not None else None
    names = [each.get("name") for each in rdd["operators"] if each.get("name")]
    return {
        "id": rdd["id"],
        "name": names[-1] if names else None,
        "operators": [
            {
                "method": each.get("method") or each["operator"],
                "name": each.get("name"),
                "site": each.get("site", ""),
            }
            for each in rdd["operators"]
        ],
        "partitions": rdd["partitions"],
        "level": known.level if known else None,
        "kept": len(known.kept) if known else 0,
    }


# An RDD in a stage, by its place in the stage's program.
Step = tuple[int, int]


def rdd_lineage(run: RunModel, rdd_id: int) -> dict[str, Any]:
    """The lineage of an RDD that has an id."""
    found = place_of_rdd(run, rdd_id)
    return lineage(run, None) if found is None else operator_lineage(run, *found)


def operator_lineage(run: RunModel, step: Step, number: int) -> dict[str, Any]:
    """The lineage of an operator within a step: without the operators behind it."""
    told = lineage(run, step)
    rdd = at_step(run, step)[1]
    operators = rdd["operators"][: number + 1]
    if len(operators) < len(rdd["operators"]):
        cut = {**rdd, "id": operators[-1].get("rdd"), "operators": operators}
        box = next(each for each in told["nodes"] if each["key"] == told["start"])
        box.update(rdd_box(run, cut))
    return told


def lineage(run: RunModel, start: Step | None) -> dict[str, Any]:
    """Where the rows of a step come from, back to their sources."""
    keys: dict[Step, str] = {}
    nodes: dict[str, dict[str, Any]] = {}
    edges: dict[tuple[str, str], dict[str, Any]] = {}
    pending = [] if start is None else [start]
    while pending and len(nodes) < MOST_RDDS:
        step = pending.pop()
        key = key_of(run, step)
        if step in keys:
            continue
        keys[step] = key
        stage, rdd = at_step(run, step)
        known = nodes.setdefault(key, {"key": key, **rdd_box(run, rdd), "stages": []})
        known["stages"].append(stage.id)
        for parent, shuffle in parents_of(run, step):
            other = key_of(run, parent)
            if other != key:
                edges[other, key] = {"from": other, "to": key, "shuffle": shuffle}
            pending.append(parent)
    shown = [edge for edge in edges.values() if edge["from"] in nodes and edge["to"] in nodes]
    first = None if start is None else key_of(run, start)
    return {"start": first, "nodes": list(nodes.values()), "edges": shown, "cut": bool(pending)}


def place_of_rdd(run: RunModel, rdd_id: int) -> tuple[Step, int] | None:
    """The step that computes an RDD, and the number of its operator there."""
    for stage_id in run.rdds[rdd_id].stages:
        stage = run.stages.get(stage_id)
        for place, rdd in enumerate(stage.rdds if stage else ()):
            if rdd["id"] == rdd_id:
                return (stage_id, place), len(rdd["operators"]) - 1
            for number, operator in enumerate(rdd["operators"]):
                if operator.get("rdd") == rdd_id:
                    return (stage_id, place), number
    return None


def at_step(run: RunModel, step: Step) -> tuple[StageState, Mapping[str, Any]]:
    stage = run.stages[step[0]]
    return stage, stage.rdds[step[1]]


def key_of(run: RunModel, step: Step) -> str:
    """An RDD that has an id is one box, however many stages compute it."""
    id = at_step(run, step)[1]["id"]
    return f"rdd {id}" if id is not None else f"stage {step[0]}, step {step[1]}"


def parents_of(run: RunModel, step: Step) -> list[tuple[Step, int | None]]:
    """The RDDs that it reads, with the shuffle in between where there is one."""
    found: list[tuple[Step, int | None]] = []
    for each in at_step(run, step)[1]["inputs"]:
        if "shuffle" not in each:
            found.append(((step[0], each["place"]), None))
            continue
        writer = writer_of(run, each["shuffle"])
        if writer is not None and writer.rdds:
            found.append(((writer.id, len(writer.rdds) - 1), each["shuffle"]))
    return found


def writer_of(run: RunModel, shuffle_id: int) -> StageState | None:
    """The stage that writes a shuffle."""
    shuffle = run.shuffles.get(shuffle_id)
    return None if shuffle is None or shuffle.writer is None else run.stages.get(shuffle.writer)
