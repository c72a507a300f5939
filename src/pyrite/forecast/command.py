"""`pyrite sim`: simulates a job on other clusters, from the story of a real run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import median_low
from typing import NamedTuple

from pyrite.errors import UserError
from pyrite.forecast.chart import Point, bars, seconds_text, svg
from pyrite.forecast.costed import Failures
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import Outcome, simulate
from pyrite.forecast.storymodel import RecordedRun, read_story
from pyrite.forecast.workload import scaled
from pyrite.memory import bytes_text
from pyrite.schedule.scheduler import Scheduler

# Failures are random: the median of several runs is shown.
RUNS_WITH_FAILURES = 5
SLOW_SPEED = 0.5
# A run that takes so many times as long as on one executor is given up.
PATIENCE = 100


class Size(NamedTuple):
    """One cluster size: its median run, and all runs."""

    nodes: int
    shown: Outcome
    runs: list[Outcome]


def run_simulation(chosen: argparse.Namespace) -> int:
    """Prints a table and a plot; returns the exit code."""
    try:
        model = CostModel.load(chosen.model) if chosen.model else CostModel()
        recorded = read_story(chosen.story, model)
    except UserError as error:
        print(f"pyrite sim: {error}", file=sys.stderr)
        return 1
    print(introduction(chosen, recorded, model))
    sizes = [simulate_size(chosen, recorded, model, nodes) for nodes in chosen.nodes]
    print(table(sizes))
    points = [point(each) for each in sizes]
    print(f"\n{bars(points)}")
    for note in recorded.workload.notes:
        print(f"note: {note}")
    if chosen.plot:
        try:
            with open(chosen.plot, "w", encoding="utf-8") as file:
                file.write(svg(points, title(chosen), kind_text(chosen)))
        except OSError as error:
            print(f"pyrite sim: {chosen.plot!r}: {error.strerror}", file=sys.stderr)
            return 1
        print(f"plot written to {chosen.plot}")
    return 0


def simulate_size(
    chosen: argparse.Namespace, recorded: RecordedRun, model: CostModel, nodes: int
) -> Size:
    """Simulates all runs of one cluster size."""
    kind = NodeKind(
        chosen.cores,
        chosen.memory,
        chosen.network / 8,
        speed=chosen.speed,
        disk_write_bytes_per_s=chosen.disk,
        disk_read_bytes_per_s=chosen.disk,
    )
    kinds = [kind] * nodes
    for place in range(round(nodes * chosen.slow)):
        kinds[place] = replace(kind, speed=kind.speed * SLOW_SPEED)
    failures = Failures(chosen.failures, chosen.executor_failures, chosen.repair)
    breaks = bool(chosen.failures or chosen.executor_failures)
    workload = scaled(recorded.workload, chosen.scale)
    patience_s = (
        3600 + PATIENCE * recorded.seconds * recorded.executors * chosen.scale / chosen.speed
    )
    runs = [
        simulate(
            workload,
            kinds,
            model,
            failures=failures,
            scheduler=Scheduler(recorded.rules),
            seed=chosen.seed + number,
            give_up_s=patience_s,
        )
        for number in range(chosen.runs or (RUNS_WITH_FAILURES if breaks else 1))
    ]
    middle_s = median_low([run.seconds for run in runs])
    return Size(nodes, next(run for run in runs if run.seconds == middle_s), runs)


def point(size: Size) -> Point:
    times = [run.seconds for run in size.runs]
    return Point(size.nodes, size.shown.seconds, min(times), max(times))


# What is printed


def introduction(chosen: argparse.Namespace, recorded: RecordedRun, model: CostModel) -> str:
    """Summarises the story, and how well the model reproduces it."""
    workload = recorded.workload
    kind = NodeKind(recorded.executors, latency_s=0.0)
    same = simulate(workload, [kind], model, scheduler=Scheduler(recorded.rules))
    plural = "" if recorded.executors == 1 else "s"
    return (
        f"{os.path.basename(chosen.story)}: {len(workload.jobs)} jobs, "
        f"{len(workload.stages)} stages, {same.tally.launched} tasks; the real run took "
        f"{seconds_text(recorded.seconds)} on {recorded.executors} executor{plural}, "
        f"simulated {seconds_text(same.seconds)}\n{kind_text(chosen)}\n"
    )


def kind_text(chosen: argparse.Namespace) -> str:
    """Describes the nodes."""
    facts = [
        f"nodes of {chosen.cores} cores, {bytes_text(chosen.memory)}, "
        f"{chosen.network / 1e9:.3g} Gbit/s"
    ]
    if chosen.speed != 1:
        facts.append(f"cores {chosen.speed:g} times as fast")
    if chosen.slow:
        facts.append(f"{chosen.slow:.0%} of them at half speed")
    if chosen.failures:
        facts.append(f"each fails {chosen.failures:.3g} times an hour")
    if chosen.executor_failures:
        facts.append(f"each executor {chosen.executor_failures:.3g} times an hour")
    if chosen.scale > 1:
        facts.append(f"{chosen.scale} times the data")
    return "; ".join(facts)


def title(chosen: argparse.Namespace) -> str:
    return f"{os.path.basename(chosen.story).removesuffix('.story')}, simulated"


HEADINGS = ("nodes", "cores", "time", "speed-up", "busy", "network", "spilled", "redone", "lost")


def table(sizes: Sequence[Size]) -> str:
    """A line for each size; speed-up is relative to the first."""
    first_s = sizes[0].shown.seconds
    rows = [HEADINGS, *(cells(each, first_s) for each in sizes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    for line, each in enumerate(sizes, start=1):
        if each.shown.errors:
            reason = str(each.shown.errors[0]).partition("\n")[0]
            lines[line] += f"  FAILED: {reason}"
    return "\n".join(lines)


def cells(size: Size, first_s: float) -> tuple[str, ...]:
    shown = size.shown
    tally = shown.tally
    speed_up = first_s / shown.seconds if shown.seconds else 1.0
    return (
        str(size.nodes),
        str(shown.executors),
        seconds_text(shown.seconds),
        f"{speed_up:.2f}",
        f"{shown.utilisation:.0%}",
        bytes_text(shown.network_bytes),
        bytes_text(tally.spilled_bytes),
        str(tally.redone),
        str(tally.nodes_lost + tally.executors_lost),
    )
