"""`pyrite story`: a run as an account that one reads, as JSON, or as a trace."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from typing import Any

from pyrite.errors import UserError
from pyrite.story.account import (
    ending,
    failure_text,
    happenings,
    introduction,
    replay_command,
    stage_details,
)
from pyrite.story.flame import flame_svg
from pyrite.story.format import BadStory, DamagedStory
from pyrite.story.model import RunModel
from pyrite.story.read import StoryReader
from pyrite.story.records import Record, TaskError, TaskStarted, fields_of, kind_of
from pyrite.story.trace import trace_events


def tell_story(chosen: argparse.Namespace) -> int:
    """Prints what was asked for; returns the exit code."""
    try:
        with StoryReader(chosen.file) as reader:
            if chosen.json:
                return print_json(reader, chosen)
            run = RunModel(reader.header)
            problem: DamagedStory | None = None
            try:
                run.add_all(reader.records())
            except DamagedStory as error:
                problem = error
            print_account(run, chosen)
            if chosen.trace:
                write_trace(run, chosen.trace)
            if chosen.flame:
                write_flame(run, chosen)
            if problem is not None:
                raise problem
    except UserError as error:
        print(f"pyrite story: {error}", file=sys.stderr)
        return 1
    return 0


def print_account(run: RunModel, chosen: argparse.Namespace) -> None:
    check_asked(run, chosen)
    if (chosen.trace and not (chosen.errors or asked(chosen))) or chosen.flame:
        return
    if chosen.errors:
        for failure in run.errors:
            if concerns(run, chosen, {"stage": failure.stage, "executor": failure.executor}):
                command = replay_command(run, failure, chosen.file)
                print("\n".join(failure_text(failure, command)), end="\n\n")
        return
    print("\n".join(introduction(run, run.last_s)), end="\n\n")
    first_s = run.first_s or 0.0
    for each in happenings(run):
        if concerns(run, chosen, each.about):
            print(f"{each.at_s - first_s:10.3f} s  {each.sentence}")
    if chosen.stage is not None:
        print("", *stage_details(run.stages[chosen.stage]), sep="\n")
    elif not asked(chosen):
        print(f"{run.last_s - first_s:10.3f} s  {ending(run)}")


def asked(chosen: argparse.Namespace) -> bool:
    """Whether only a part of the run was asked for."""
    return any(each is not None for each in (chosen.job, chosen.stage, chosen.node))


def check_asked(run: RunModel, chosen: argparse.Namespace) -> None:
    """Refuses a job, a stage or a node that the story does not have."""
    for name, wanted, there in (
        ("job", chosen.job, run.jobs),
        ("stage", chosen.stage, run.stages),
        ("node", chosen.node, run.nodes),
    ):
        if wanted is not None and wanted not in there:
            known = ", ".join(map(str, list(there)[:8])) or "none"
            more = ", ..." if len(there) > 8 else ""
            raise BadStory(f"the story has no {name} {wanted}: it has {known}{more}")


def concerns(run: RunModel, chosen: argparse.Namespace, about: Any) -> bool:
    """Whether a line is about what was asked for."""
    if chosen.job is not None:
        stages = run.jobs[chosen.job].ran
        in_job = about.get("job") == chosen.job or about.get("stage") in stages
        if not in_job or chosen.job not in about.get("jobs", [chosen.job]):
            return False
    if chosen.stage is not None and about.get("stage") != chosen.stage:
        return False
    if chosen.node is not None:
        executor = run.executors.get(about.get("executor", -1))
        node = about.get("node") or (None if executor is None else executor.node)
        return bool(node == chosen.node)
    return True


def print_json(reader: StoryReader, chosen: argparse.Namespace) -> int:
    """One object a line: the kind, the time, and the fields."""
    header = reader.header
    if not asked(chosen) and not chosen.errors:
        fields = {"kind": "StoryBegan", "at_s": header.clock_s, **header._asdict()}
        print(json.dumps(fields))
    run = RunModel(header)
    attempts: dict[int, TaskStarted] = {}
    for record in reader.records():
        run.add(record)
        if isinstance(record, TaskStarted):
            attempts[record.attempt] = record
        if chosen.errors and not isinstance(record, TaskError):
            continue
        if not asked(chosen) or matches(record, chosen, run, attempts):
            fields = {"kind": kind_of(record), "at_s": record.at_s, **fields_of(record)}
            print(json.dumps(fields))
    return 0


def matches(
    record: Record,
    chosen: argparse.Namespace,
    run: RunModel,
    attempts: dict[int, TaskStarted],
) -> bool:
    """Whether a record has the job, stage and node that were asked for, itself or by its
    attempt."""
    fields = fields_of(record)
    start = attempts.get(fields.get("attempt", -1))
    if start is not None:
        fields = {**start._asdict(), **fields}
    if "node" not in fields and fields.get("executor") in run.executors:
        fields["node"] = run.executors[fields["executor"]].node
    wanted = {"job": chosen.job, "stage": chosen.stage, "node": chosen.node}
    return all(value is None or fields.get(name) == value for name, value in wanted.items())


def write_trace(run: RunModel, path: str) -> None:
    """Writes Chrome's trace format, an event a line."""
    try:
        _write_trace(run, path)
    except OSError as error:
        raise BadStory(f"{path!r} can't be written: {error.strerror}") from None
    print(f"trace written to {path}: open it at ui.perfetto.dev or in chrome://tracing")


def write_flame(run: RunModel, chosen: argparse.Namespace) -> None:
    """Writes a flame graph of the stages that were asked for."""
    stages = [
        each
        for each in run.stages.values()
        if chosen.stage in (None, each.id) and (chosen.job is None or chosen.job in each.jobs)
    ]
    stacks: Counter[str] = Counter()
    for stage in stages:
        stacks.update(stage.samples)
    if not stacks:
        raise BadStory(
            "the story has no samples of these tasks: run the program with "
            "--conf pyrite.profile.hertz=100"
        )
    title = stages[0].name if len(stages) == 1 else f"{len(stages)} stages"
    try:
        with open(chosen.flame, "w", encoding="utf-8") as file:
            file.write(flame_svg(stacks, title))
    except OSError as error:
        raise BadStory(f"{chosen.flame!r} can't be written: {error.strerror}") from None
    print(f"flame graph written to {chosen.flame}")


def _write_trace(run: RunModel, path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        first = True
        for event in trace_events(run):
            file.write(("" if first else ",\n") + json.dumps(event))
            first = False
        file.write("\n]}\n")
