"""Formats a plan as text and tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import floor, log10
from typing import NamedTuple

from pyrite.forecast.chart import seconds_text
from pyrite.memory import bytes_text
from pyrite.rent.allocate import Allocator, Plan
from pyrite.rent.billing import rate_per_s
from pyrite.rent.completion import Hire, run_stage
from pyrite.rent.runs import Runs

LONGEST_NAME = 40
# Smaller relative differences are not shown.
NEGLIGIBLE = 0.005
BESIDE = "starts, begun periods, price changes"


class Alternative(NamedTuple):
    """Another way to rent machines: its plan, or its least cost if it is over the budget."""

    name: str
    plan: Plan | None
    smallest: float = 0.0


def introduction(runs: Runs, allocator: Allocator) -> str:
    """Summarises the last story, and how well the model reproduces it."""
    last = runs.last
    here = last.hire()
    loads = last.recorded
    modelled_s = sum(
        run_stage(loads.stages[stage], here, allocator.rates).seconds for stage in loads.order
    )
    tasks = sum(len(loads.stages[stage].tasks) for stage in loads.order)
    took = "has taken" if last.unfinished else "took"
    many = "" if here.executors == 1 else "s"
    cores = "core" if here.executor.cores == 1 else "cores"
    return (
        f"{os.path.basename(last.path)}: {len(loads.order)} stages ({len(loads.stages)} "
        f"different), {tasks} tasks; the real run {took} {seconds_text(last.seconds)} on "
        f"{here.executors} node{many} of {here.executor.cores} {cores}, the model says "
        f"{seconds_text(modelled_s)}"
    )


STAGE_HEADINGS = ("", "stage", "runs", "tasks", "memory", "executors", "storage-only", "time",
                  "cost", "local", "remote", "disk")  # fmt: skip


def stage_table(allocator: Allocator, plan: Plan) -> str:
    """A line for each stage: its machines, and where its blocks are."""
    rows: list[tuple[str, ...]] = [STAGE_HEADINGS]
    stages = range(len(plan.hires))
    rows += [stage_cells(allocator, plan, stage) for stage in stages]
    beside = plan.dollars - sum(stage_dollars(allocator, plan, stage) for stage in stages)
    if abs(beside) > NEGLIGIBLE * plan.dollars:
        cells = [""] * len(STAGE_HEADINGS)
        cells[1], cells[8] = BESIDE, money(beside)
        rows.append(tuple(cells))
    return columns(rows, left=(1, 5, 6))


def stage_cells(allocator: Allocator, plan: Plan, stage: int) -> tuple[str, ...]:
    load, hire, spell = allocator.stages[stage], plan.hires[stage], plan.spells[stage]
    parts = spell.parts
    places = [f"{part:.0%}" if load.pooled_bytes else "-"
              for part in (parts.local, parts.remote, parts.disk)]  # fmt: skip
    return (
        str(stage + 1),
        shortened(load.name),
        str(load.repeats),
        str(len(load.tasks)),
        bytes_text(load.pooled_bytes + load.live_bytes),
        executors_text(hire),
        storages_text(hire),
        seconds_text(spell.seconds * load.repeats),
        money(stage_dollars(allocator, plan, stage)),
        *places,
    )


def stage_dollars(allocator: Allocator, plan: Plan, stage: int) -> float:
    """The cost of a stage's machines while it runs."""
    seconds = plan.spells[stage].seconds * allocator.stages[stage].repeats
    return seconds * rate_per_s(plan.hires[stage], allocator.terms.start_s)


def executors_text(hire: Hire) -> str:
    return f"{hire.executors} x {hire.executor.name}"


def storages_text(hire: Hire) -> str:
    return f"{hire.storages} x {hire.storage.name}" if hire.storage and hire.storages else "-"


def shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"...{name[3 - LONGEST_NAME :]}"


ALTERNATIVE_HEADINGS = ("alternative", "machines", "time", "cost", "than the plan", "on disk")


def alternative_table(alternatives: Sequence[Alternative], plan: Plan) -> str:
    """A line for each alternative, compared with the plan."""
    rows: list[tuple[str, ...]] = [ALTERNATIVE_HEADINGS]
    rows += [alternative_cells(each, plan) for each in alternatives]
    return columns(rows, left=(0,))


def alternative_cells(each: Alternative, plan: Plan) -> tuple[str, ...]:
    other = each.plan
    if other is None:
        return each.name, "-", "-", f"{money(each.smallest)} at least", "over the budget", "-"
    return (
        each.name,
        machines_text(other),
        seconds_text(other.seconds),
        money(other.dollars),
        "" if other is plan else compared(other.seconds, plan.seconds),
        f"{disk_part(other):.0%}",
    )


def machines_text(plan: Plan) -> str:
    """The number of machines at a time, storage-only ones separately."""
    executors = spread([hire.executors for hire in plan.hires])
    storages = spread([hire.storages for hire in plan.hires])
    return executors if storages == "0" else f"{executors} + {storages}"


def spread(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low}-{high}"


def disk_part(plan: Plan) -> float:
    """The largest fraction of a stage's blocks that is on disk."""
    return max(spell.parts.disk for spell in plan.spells)


def compared(seconds: float, plan_s: float) -> str:
    """How much longer or shorter than the plan.

    >>> compared(15.0, 10.0), compared(5.0, 10.0), compared(10.01, 10.0)
    ('50% slower', '50% faster', 'as fast')
    """
    change = seconds / plan_s - 1.0 if plan_s else 0.0
    if abs(change) < NEGLIGIBLE:
        return "as fast"
    return f"{change:.0%} slower" if change > 0 else f"{-change:.0%} faster"


def reasons(
    allocator: Allocator, plan: Plan, executors_only: Alternative, budget: float
) -> list[str]:
    """Explains the choice of machines, and what more money would buy."""
    return [storage_reason(plan, executors_only, budget), step_reason(allocator, plan)]


def storage_reason(plan: Plan, executors_only: Alternative, budget: float) -> str:
    stored = sum(hire.storages for hire in plan.hires)
    if not stored and not disk_part(plan):
        return "No storage-only nodes: the pools of the executors hold all that the stages read."
    if not stored:
        return (
            "No storage-only nodes: for what they cost, executors save more time, "
            f"though {disk_part(plan):.0%} of the blocks of a stage go to disk."
        )
    other = executors_only.plan
    if other is None:
        return (
            f"Storage-only nodes keep it within the budget: executors alone cost "
            f"{money(executors_only.smallest)} at least."
        )
    return (
        f"Storage-only nodes lend memory for less than executors: without them {money(budget)} buy "
        f"{seconds_text(other.seconds)} ({compared(other.seconds, plan.seconds)}), with "
        f"{disk_part(other):.0%} of the blocks of a stage on disk instead of {disk_part(plan):.0%}."
    )


def step_reason(allocator: Allocator, plan: Plan) -> str:
    step = allocator.next_step(plan)
    if step is None:
        return (
            f"More money buys no more speed with at most {allocator.terms.most_machines} machines."
        )
    storages = storages_text(step.hire)
    lent = "" if storages == "-" else f" and {storages}"
    return (
        f"The next step would be {executors_text(step.hire)}{lent} for {stages_text(step.stages)}: "
        f"{seconds_text(step.saved_s)} less for {money(step.dollars)} more "
        f"({step.seconds_per_dollar:,.0f} s per dollar)."
    )


def stages_text(stages: Sequence[int]) -> str:
    numbers = ", ".join(str(stage + 1) for stage in sorted(stages))
    return f"stage {numbers}" if len(stages) == 1 else f"stages {numbers}"


def money(dollars: float) -> str:
    """Formats an amount; small ones with three significant digits.

    >>> money(12.5), money(0.01234), money(0.0), money(0.0000456)
    ('$12.50', '$0.0123', '$0', '$0.0000456')
    """
    if dollars <= 0:
        return "$0"
    if dollars >= 1:
        return f"${dollars:.2f}"
    return f"${dollars:.{2 - floor(log10(dollars))}f}"


def columns(rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Aligns rows in columns; those in `left` to the left, others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
