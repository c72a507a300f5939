"""`pyrite plan`: plans which machines to rent for a job, from stories of its runs and a budget."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from math import inf

from pyrite.errors import UserError
from pyrite.forecast.chart import seconds_text
from pyrite.forecast.costs import CostModel
from pyrite.rent.allocate import Allocator, BudgetTooSmall, Plan, Terms
from pyrite.rent.hires import (
    Allowed,
    anything,
    executors_only,
    only_executors_of,
    same_throughout,
)
from pyrite.rent.options import BILLING_S
from pyrite.rent.prices import read_prices
from pyrite.rent.runs import Runs, read_runs
from pyrite.rent.stageloads import rates_of
from pyrite.rent.text import (
    Alternative,
    alternative_table,
    introduction,
    money,
    reasons,
    stage_table,
)

# A driver that was killed does not tell its end. It is assumed when all jobs have ended and the
# story has not grown for so many rounds.
QUIET_ROUNDS = 3


def run_plan(chosen: argparse.Namespace, sleep: Callable[[float], None] = time.sleep) -> int:
    """Prints the plan, once or whenever it changes; returns the exit code."""
    try:
        model = CostModel.load(chosen.model) if chosen.model else CostModel()
        if chosen.watch is None:
            print(plan_text(chosen, model, read_runs(chosen.stories, model, chosen.scale)))
            return 0
        return watch(chosen, model, sleep)
    except UserError as error:
        print(f"pyrite plan: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nno longer watching", file=sys.stderr)
        return 0


def watch(chosen: argparse.Namespace, model: CostModel, sleep: Callable[[float], None]) -> int:
    """Plans again as the story grows and prices change; prints each new plan."""
    shown, sizes, quiet, rounds = "", -1, 0, 0
    while True:
        rounds += 1
        ended = False
        try:
            runs = read_runs(chosen.stories, model, chosen.scale)
            text = plan_text(chosen, model, runs)
            size = sum(map(os.path.getsize, chosen.stories))
            quiet = quiet + 1 if size == sizes else 0
            sizes = size
            last = runs.last
            ended = last.ended or (not last.unfinished and quiet >= QUIET_ROUNDS)
        except UserError as error:
            # The story may not have begun, or the prices may be half written: retry.
            text = f"no plan: {error}"
        if text != shown:
            print(text if not shown else f"\n{text}", flush=True)
            shown = text
        if ended:
            why = f"all jobs have ended and nothing came for {quiet} rounds"
            print(f"{'the application has ended' if last.ended else why}: no longer watching")
            return 0
        if rounds == chosen.rounds:
            return 0
        sleep(chosen.watch)


def plan_text(chosen: argparse.Namespace, model: CostModel, runs: Runs) -> str:
    """The whole text about the plan for these runs."""
    instances = read_prices(chosen.instances)
    last = runs.last
    # An application that still runs rents from now on, at current prices.
    start_s = last.elapsed_s if last.unfinished else 0.0
    terms = Terms(start_s, BILLING_S[chosen.billing], chosen.most)
    allocator = Allocator(runs.loads.stages, runs.loads.order, instances, rates_of(model), terms)
    plan = allocator.plan_within(chosen.budget)
    others = alternatives(allocator, chosen.budget)
    lines = [
        introduction(runs, allocator),
        "",
        f"With {money(chosen.budget)} it takes {seconds_text(plan.seconds)} and costs "
        f"{money(plan.dollars)}, on these machines:",
        "",
        stage_table(allocator, plan),
        "",
        alternative_table([Alternative("the plan", plan), *others], plan),
        "",
        *reasons(allocator, plan, others[0], chosen.budget),
        *(f"note: {note}" for note in notes(runs, allocator, plan)),
    ]
    return "\n".join(lines)


def alternatives(allocator: Allocator, budget: float) -> list[Alternative]:
    """Other plans for the same budget, for more, and for less."""

    def within(name: str, dollars: float, allowed: Allowed = anything) -> Alternative:
        try:
            return Alternative(name, allocator.plan_within(dollars, allowed))
        except BudgetTooSmall as error:
            return Alternative(name, None, error.smallest)

    types = [each for each in allocator.instances if each.executes]
    alone = [(f"only {each.name}", partial(only_executors_of, each)) for each in types]
    return [
        within("executors only", budget, executors_only),
        *(within(name, budget, allowed) for name, allowed in alone if len(types) > 1),
        within("the same machines throughout", budget, same_throughout),
        within("half the budget", budget / 2),
        within("double the budget", budget * 2),
        Alternative("the cheapest", allocator.cheapest()),
        Alternative("the fastest", allocator.plan_within(inf)),
    ]


def notes(runs: Runs, allocator: Allocator, plan: Plan) -> list[str]:
    """What the model could not know, or assumed."""
    found = list(runs.notes)
    rented = dict.fromkeys(
        each for hire in plan.hires for each in (hire.executor, hire.storage) if each is not None
    )
    if unlinked := [each.name for each in rented if each.network_bytes_per_s is None]:
        speed = allocator.rates.remote_bytes_per_s / 1e6
        found.append(
            f"no network is given for {', '.join(unlinked)}: remote blocks come at {speed:.0f} "
            "MB/s, as measured between two processes of one machine"
        )
    if remade := max((spell.parts.remade for spell in plan.spells), default=0.0):
        found.append(
            f"up to {remade:.0%} of the live rows of a stage find no room and are computed again; "
            "persist(StorageLevel.OFF_HEAP) lets other nodes' memory hold them"
        )
    if spot := [each.name for each in rented if each.spot]:
        found.append(
            f"{', '.join(spot)} may be taken back by its provider; its blocks are then rebuilt"
        )
    return found
