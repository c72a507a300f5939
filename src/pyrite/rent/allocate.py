"""Chooses the machines of each stage, by the time that a dollar saves (R3S 4).

The candidates of a stage are the machines that no others beat in both time and money. The plan
starts with the cheapest ones, and takes the step that saves the most seconds per dollar (R3S:
MJCT/$), in any stage, as long as the budget lasts. With little money, storage-only nodes are the
cheapest way to the same memory; with more, executors replace them. The steps do not depend on the
budget, so a larger budget is never slower. Plans whose times differ by less than a hundredth count
as equally fast, as no forecast is more accurate: the cheapest of them is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor, inf, log10
from typing import NamedTuple

from pyrite.errors import UserError
from pyrite.rent.billing import StageHire, bill, price_changes
from pyrite.rent.completion import Hire, Instance, Rates, Spell, StageLoad, run_stage
from pyrite.rent.hires import (
    Allowed,
    Machines,
    anything,
    executors_only,
    hires_for,
    only_executors_of,
    only_type,
)
from pyrite.rent.loops import loops_of, neighbours_of, turns_of

# Plans that are slower than the fastest by less than this factor count as equally fast.
AS_FAST = 1.01


class BudgetTooSmall(UserError):
    """The budget is too small for any machines; the message has the least cost."""

    def __init__(self, budget: float, smallest: float) -> None:
        self.budget = budget
        self.smallest = smallest
        super().__init__(
            f"a budget of ${budget:.4g} is too small: the cheapest machines for all stages cost "
            f"${rounded_up(smallest)}; give that much, or offer a cheaper instance type"
        )


class Choice(NamedTuple):
    """A stage on some machines: the cost and time of all its runs."""

    dollars: float
    seconds: float
    hire: Hire


class Priced(NamedTuple):
    """The time and cost of the whole job on some machines."""

    seconds: float
    dollars: float


class Step(NamedTuple):
    """Other machines for the stages of a loop: the saved time, and the additional cost."""

    stages: Sequence[int]
    hire: Hire
    saved_s: float
    dollars: float

    @property
    def seconds_per_dollar(self) -> float:
        return self.saved_s / self.dollars


@dataclass(frozen=True, slots=True)
class Plan:
    """The machines of each stage, and the time and cost of the whole job."""

    hires: tuple[Hire, ...]
    spells: tuple[Spell, ...]
    seconds: float
    dollars: float


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of rent: its start, the billing period (0: none), and the most machines."""

    start_s: float = 0.0
    period_s: float = 0.0
    most_machines: int = 64


class Allocator:
    """Finds machines for the stages of a job; `order` is the sequence of their runs."""

    def __init__(
        self,
        stages: Sequence[StageLoad],
        order: Sequence[int],
        instances: Sequence[Instance],
        rates: Rates,
        terms: Terms | None = None,
    ) -> None:
        if not any(each.executes for each in instances):
            raise UserError(
                "all instance types are storage-only, but each stage needs an executor: "
                'add one without kind = "storage"'
            )
        if not order:
            raise UserError("there is no stage to plan for")
        self.stages = list(stages)
        self.instances = list(instances)
        self.rates = rates
        self.terms = terms or Terms()
        self.loops = loops_of(len(self.stages), order)
        self._loop_of = {stage: loop for loop, each in enumerate(self.loops) for stage in each}
        self._turns = turns_of(order, self._loop_of)
        self._neighbours = neighbours_of([loop for loop, _ in self._turns])
        self._spells: dict[tuple[int, Hire], Spell] = {}
        self._prices: dict[Machines, Priced] = {}
        self._found: dict[Machines, Priced] = {}
        self._hires = [self._thinkable(loop) for loop in range(len(self.loops))]

    # Queries

    def plan_within(self, budget: float, allowed: Allowed = anything) -> Plan:
        """The fastest plan within the budget, or a cheaper one that is as fast; raises
        BudgetTooSmall if there is none."""
        found = [(priced, hires) for hires, priced in self._all(allowed)]
        affordable = [each for each in found if each[0].dollars <= budget]
        if not affordable:
            raise BudgetTooSmall(budget, min(priced.dollars for priced, _ in found))
        limit_s = AS_FAST * min(priced.seconds for priced, _ in affordable)
        as_fast = [each for each in affordable if each[0].seconds <= limit_s]
        return self._plan(min(as_fast, key=by_price)[1])

    def cheapest(self, allowed: Allowed = anything) -> Plan:
        found = [(priced, hires) for hires, priced in self._all(allowed)]
        return self._plan(min(found, key=lambda each: (each[0].dollars, each[0].seconds))[1])

    def next_step(self, plan: Plan) -> Step | None:
        """What more money would buy first: the step with the most seconds per dollar."""
        machines = tuple(plan.hires[loop[0]] for loop in self.loops)
        steps = [
            Step(self.loops[loop], hire, plan.seconds - after.seconds, after.dollars - plan.dollars)
            for loop in range(len(self.loops))
            for hire, after in self._moves(machines, loop, anything)
            if after.dollars > plan.dollars and after.seconds < plan.seconds
        ]
        return max(steps, key=lambda each: each.seconds_per_dollar, default=None)

    def spell(self, stage: int, hire: Hire) -> Spell:
        """The time of one run of a stage on these machines."""
        key = stage, hire
        if key not in self._spells:
            self._spells[key] = run_stage(self.stages[stage], hire, self.rates)
        return self._spells[key]

    # The search from the cheapest machines to the fastest

    def _all(self, allowed: Allowed) -> list[tuple[Machines, Priced]]:
        """All plans that the search found, restricted to allowed machines; searches once."""
        if not self._found:
            for family in self._families():
                self._walk(family)
            for hire in dict.fromkeys(hire for hires in self._hires for hire in hires):
                self._priced((hire,) * len(self.loops))
            # Copied: later queries must not depend on earlier ones.
            self._found = dict(self._prices)
        return [each for each in self._found.items() if allowed(each[0])]

    def _families(self) -> Iterator[Allowed]:
        """The restrictions to search under: a greedy search with fewer choices may end better."""
        yield anything
        yield executors_only
        types = [each for each in self.instances if each.executes]
        if len(types) > 1:
            for each in types:
                yield partial(only_type, each)
                yield partial(only_executors_of, each)

    def _walk(self, allowed: Allowed) -> None:
        """Searches greedily, and records the price of every choice on the way."""
        machines = self._cheapest_together(allowed)
        worth = {loop: self._best(machines, loop, allowed) for loop in range(len(self.loops))}
        while True:
            loop = max(worth, key=lambda each: worth[each][0])
            # Changes of other loops may have changed its gain.
            gain, hire = self._best(machines, loop, allowed)
            if hire is None:
                if worth[loop][0] == -inf:
                    return
                worth[loop] = gain, hire
                continue
            machines = replaced(machines, loop, hire)
            for each in (loop, *self._neighbours[loop]):
                worth[each] = self._best(machines, each, allowed)

    def _cheapest_together(self, allowed: Allowed) -> Machines:
        """Starts from the cheapest machines of each loop alone, and improves them together: a
        neighbour's machines need no startup."""
        machines = tuple(self._cheapest_alone(loop, allowed) for loop in range(len(self.loops)))
        loop, settled = 0, 0
        while settled < len(self.loops):
            moves = [(after.dollars, place, hire) for place, (hire, after)
                     in enumerate(self._moves(machines, loop, allowed))]  # fmt: skip
            settled += 1
            if moves and min(moves)[0] < self._priced(machines).dollars:
                machines = replaced(machines, loop, min(moves)[2])
                settled = 0
            loop = (loop + 1) % len(self.loops)
        return machines

    def _best(self, machines: Machines, loop: int, allowed: Allowed) -> tuple[float, Hire | None]:
        """The step of one loop that saves most per dollar; one that saves money, too, is best."""
        now = self._priced(machines)
        best: tuple[float, Hire | None] = (-inf, None)
        for hire, after in self._moves(machines, loop, allowed):
            saved_s, dollars = now.seconds - after.seconds, after.dollars - now.dollars
            if saved_s > 0:
                gain = saved_s / dollars if dollars > 0 else inf
                if gain > best[0]:
                    best = gain, hire
        return best

    def _moves(
        self, machines: Machines, loop: int, allowed: Allowed
    ) -> Iterator[tuple[Hire, Priced]]:
        for hire in self._hires[loop]:
            if hire != machines[loop] and allowed((hire,)):
                yield hire, self._priced(replaced(machines, loop, hire))

    def _cheapest_alone(self, loop: int, allowed: Allowed) -> Hire:
        hires = [hire for hire in self._hires[loop] if allowed((hire,))]
        start_s = self.terms.start_s
        return min(hires, key=lambda hire: self._choice(loop, hire, start_s)[:2])

    # Times and prices

    def _priced(self, machines: Machines) -> Priced:
        if machines not in self._prices:
            turns = [
                StageHire(machines[loop], self._seconds(loop, machines[loop]) * part)
                for loop, part in self._turns
            ]
            dollars = bill(turns, self.terms.start_s, self.terms.period_s)
            self._prices[machines] = Priced(sum(turn.seconds for turn in turns), dollars)
        return self._prices[machines]

    def _seconds(self, loop: int, hire: Hire) -> float:
        """The time of all runs of all stages of a loop."""
        return sum(
            self.spell(stage, hire).seconds * self.stages[stage].repeats
            for stage in self.loops[loop]
        )

    def _plan(self, machines: Machines) -> Plan:
        hires = tuple(machines[self._loop_of[stage]] for stage in range(len(self.stages)))
        spells = tuple(self.spell(stage, hire) for stage, hire in enumerate(hires))
        return Plan(hires, spells, *self._priced(machines))

    def _thinkable(self, loop: int) -> list[Hire]:
        """The machines of a loop that no others beat in both money and time, at any of the
        prices."""
        found: dict[Hire, None] = {}
        hires = dict.fromkeys(
            hire
            for stage in self.loops[loop]
            for hire in hires_for(self.stages[stage], self.instances, self.terms.most_machines)
        )
        periods = dict.fromkeys((0.0, self.terms.period_s))
        for moment in price_changes(self.instances, self.terms.start_s):
            for period_s in periods:
                choices = [self._choice(loop, hire, moment, period_s) for hire in hires]
                for family in self._families():
                    allowed = [each for each in choices if family((each.hire,))]
                    found.update((each.hire, None) for each in frontier(allowed))
        return list(found)

    def _choice(self, loop: int, hire: Hire, moment: float, period_s: float = 0.0) -> Choice:
        seconds = self._seconds(loop, hire)
        return Choice(bill([StageHire(hire, seconds)], moment, period_s), seconds, hire)


def frontier(choices: Sequence[Choice]) -> list[Choice]:
    """The Pareto frontier of money and time, the cheapest first."""
    found: list[Choice] = []
    for each in sorted(choices, key=lambda each: (each.dollars, each.seconds, each.hire.machines)):
        if not found or each.seconds < found[-1].seconds:
            found.append(each)
    return found


def replaced(machines: Machines, loop: int, hire: Hire) -> Machines:
    return (*machines[:loop], hire, *machines[loop + 1 :])


def by_price(each: tuple[Priced, Machines]) -> tuple[float, float, int]:
    """Sorts by cost, then by time, then by the number of machines."""
    priced, machines = each
    return priced.dollars, priced.seconds, max(hire.machines for hire in machines)


def rounded_up(dollars: float) -> str:
    """Rounds an amount up to four significant digits.

    >>> rounded_up(0.00123412), rounded_up(12.0), rounded_up(3.14159), rounded_up(0.0)
    ('0.001235', '12', '3.142', '0')
    """
    decimals = max(0, 3 - floor(log10(dollars))) if dollars > 0 else 0
    text = f"{dollars:.{decimals}f}"
    if float(text) < dollars:
        text = f"{dollars + 10.0**-decimals:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
