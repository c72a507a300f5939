"""Which machines each stage should have, by the time that a dollar saves (R3S 4).

For each stage, of all machines that it could have, those stay that nothing beats in both time and
money. The plan begins with the cheapest machines, and takes the step that saves the most seconds
per dollar (R3S: MJCT/$), whichever stage it is in, as long as the budget lasts. With little money
the cheapest way to the same memory are storage-only nodes in place of executors; with more of it
executors return. The steps do not depend on the budget, so more of it is never slower. Plans that
differ by a hundredth of the time are equal, as no forecast is better than that: the cheapest of
them is taken.
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

# Plans that take so much longer than the fastest are as fast.
AS_FAST = 1.01


class BudgetTooSmall(UserError):
    """No machines do the job for so little; the message says how much would do."""

    def __init__(self, budget: float, smallest: float) -> None:
        self.budget = budget
        self.smallest = smallest
        super().__init__(
            f"a budget of ${budget:.4g} is too small: the cheapest machines for all stages cost "
            f"${rounded_up(smallest)}; give that much, or offer a cheaper instance type"
        )


class Choice(NamedTuple):
    """A stage on some machines: what all its runs cost and take."""

    dollars: float
    seconds: float
    hire: Hire


class Priced(NamedTuple):
    """What the whole job takes and costs on some machines."""

    seconds: float
    dollars: float


class Step(NamedTuple):
    """The stages of a loop get other machines: what is saved, and what it costs more."""

    stages: Sequence[int]
    hire: Hire
    saved_s: float
    dollars: float

    @property
    def seconds_per_dollar(self) -> float:
        return self.saved_s / self.dollars


@dataclass(frozen=True, slots=True)
class Plan:
    """The machines of each stage, and what the whole job takes and costs with them."""

    hires: tuple[Hire, ...]
    spells: tuple[Spell, ...]
    seconds: float
    dollars: float


@dataclass(frozen=True, slots=True)
class Terms:
    """How machines are rented: from when, by which periods (0: by the moment), and how many."""

    start_s: float = 0.0
    period_s: float = 0.0
    most_machines: int = 64


class Allocator:
    """Finds machines for the stages of a job; `order` says which of them run, one after another."""

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

    # What can be asked

    def plan_within(self, budget: float, allowed: Allowed = anything) -> Plan:
        """The fastest plan that costs no more, or a cheaper one that is as fast; raises
        BudgetTooSmall where none does."""
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
        """How long one run of a stage takes on these machines."""
        key = stage, hire
        if key not in self._spells:
            self._spells[key] = run_stage(self.stages[stage], hire, self.rates)
        return self._spells[key]

    # The way from the cheapest machines to the fastest

    def _all(self, allowed: Allowed) -> list[tuple[Machines, Priced]]:
        """What was found with machines that are all allowed; looked for once."""
        if not self._found:
            for family in self._families():
                self._walk(family)
            for hire in dict.fromkeys(hire for hires in self._hires for hire in hires):
                self._priced((hire,) * len(self.loops))
            # What is asked later must not depend on what was asked before.
            self._found = dict(self._prices)
        return [each for each in self._found.items() if allowed(each[0])]

    def _families(self) -> Iterator[Allowed]:
        """What to restrict oneself to: a way with fewer choices may end at a better place."""
        yield anything
        yield executors_only
        types = [each for each in self.instances if each.executes]
        if len(types) > 1:
            for each in types:
                yield partial(only_type, each)
                yield partial(only_executors_of, each)

    def _walk(self, allowed: Allowed) -> None:
        """Notes the price of every choice that is looked at on the way."""
        machines = self._cheapest_together(allowed)
        worth = {loop: self._best(machines, loop, allowed) for loop in range(len(self.loops))}
        while True:
            loop = max(worth, key=lambda each: worth[each][0])
            # What others did meanwhile may have changed what it is worth.
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
        """From the cheapest machines for each loop alone: those of a neighbour need no start."""
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
        """The step of one loop that saves most per dollar; one that saves both is worth more."""
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
        """All runs of all stages of a loop."""
        return sum(
            self.spell(stage, hire).seconds * self.stages[stage].repeats
            for stage in self.loops[loop]
        )

    def _plan(self, machines: Machines) -> Plan:
        hires = tuple(machines[self._loop_of[stage]] for stage in range(len(self.stages)))
        spells = tuple(self.spell(stage, hire) for stage, hire in enumerate(hires))
        return Plan(hires, spells, *self._priced(machines))

    def _thinkable(self, loop: int) -> list[Hire]:
        """The machines for a loop that nothing beats in both money and time, at any price."""
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
    """Those that none beats in both money and time, the cheapest first."""
    found: list[Choice] = []
    for each in sorted(choices, key=lambda each: (each.dollars, each.seconds, each.hire.machines)):
        if not found or each.seconds < found[-1].seconds:
            found.append(each)
    return found


def replaced(machines: Machines, loop: int, hire: Hire) -> Machines:
    return (*machines[:loop], hire, *machines[loop + 1 :])


def by_price(each: tuple[Priced, Machines]) -> tuple[float, float, int]:
    """The cheapest first; of equals the fastest, and then the one with the fewest machines."""
    priced, machines = each
    return priced.dollars, priced.seconds, max(hire.machines for hire in machines)


def rounded_up(dollars: float) -> str:
    """An amount that is enough, with four digits that count.

    >>> rounded_up(0.00123412), rounded_up(12.0), rounded_up(3.14159), rounded_up(0.0)
    ('0.001235', '12', '3.142', '0')
    """
    decimals = max(0, 3 - floor(log10(dollars))) if dollars > 0 else 0
    text = f"{dollars:.{decimals}f}"
    if float(text) < dollars:
        text = f"{dollars + 10.0**-decimals:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
