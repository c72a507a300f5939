"""How long tasks take to recover what was lost, and which RDDs to checkpoint so that no recovery
takes longer than a bound. Pure.

Stark takes the longest path to an RDD for its recovery (III-D). But one task computes a lost
partition again together with all that it is made of without a shuffle, one after the other, and
lost map outputs come first. So paths are cut as in the paper; where a recovery is too long all the
same, shorter ones are cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from pyrite.plan.checkpoints import (
    SLACK,
    Cost,
    ancestors_first,
    choose,
    edge,
    measure,
    total,
)

R = TypeVar("R")
# Paths of so many lengths are tried: each takes at least one maximum flow, and the scheduler waits.
MOST_LENGTHS = 12
# In larger lineages no cuts are tried: all that can be written is, but for what can be spared.
MOST_STEPS = 48


@dataclass(frozen=True)
class LineageGraph(Generic[R]):
    """What would have to be computed again, and from what, as far back as sources and what is
    written."""

    # Delays are multiplied by the rounds that the tasks of a lost node take.
    costs: Mapping[R, Cost]
    parents: Mapping[R, Sequence[R]]
    # What is kept: a task computes it once for all that it makes of it. All else is computed as
    # often as it is read.
    kept: Collection[R]
    # Map outputs, which stages of their own make, with the number that a node's loss takes.
    maps: Mapping[R, int]
    # How many executors are left.
    executors: int = 1

    # Parts of it

    def without(self, written: Collection[R]) -> LineageGraph[R]:
        """The lineage once these are written."""
        return self._of({step for step in self.costs if step not in written})

    def behind(self, ends: Sequence[R]) -> LineageGraph[R]:
        """These, and what they are computed from."""
        return self._of(set(ancestors_first(ends, self.parents)))

    def _of(self, steps: set[R]) -> LineageGraph[R]:
        costs = {step: cost for step, cost in self.costs.items() if step in steps}
        parents = {
            step: tuple(each for each in self.parents.get(step, ()) if each in steps)
            for step in costs
        }
        return LineageGraph(costs, parents, self.kept, self.maps, self.executors)

    # How long recoveries take

    def longest_s(self) -> float:
        return max(map(self.recovery_s, self._ends), default=0.0)

    def is_late(self, bound_s: float) -> bool:
        """Whether anything takes longer than the bound, although checkpoints could help it."""
        return next(self._late(bound_s), None) is not None

    def late(self, bound_s: float) -> list[R]:
        """What takes longer than the bound, although checkpoints could help it."""
        found = set(self._late(bound_s))
        return [step for step in self.costs if step in found]

    def _late(self, bound_s: float) -> Iterator[R]:
        pending = self._ends
        seen = set(pending)
        while pending:
            step = pending.pop()
            if self.recovery_s(step) <= bound_s + SLACK:
                # What it is made of takes no longer.
                continue
            is_able = self.costs[step].bytes is not None
            if is_able or self._fixed.recovery_s(step) <= bound_s + SLACK:
                yield step
            new = [each for each in self.parents.get(step, ()) if each not in seen]
            seen.update(new)
            pending += new

    def recovery_s(self, step: R) -> float:
        """How long it takes to compute an RDD's lost partitions again: the task of each, after the
        stages of the map outputs that are lost with them."""
        # Map stages that don't need each other run side by side, if there are executors for all.
        ends_s: dict[R, float] = {}
        in_turn_s, lost = 0.0, 0
        for each in ancestors_first([step], self.parents):
            if each == step or each in self.maps:
                task_s, reads = self._task(each)
                ends_s[each] = task_s + max((ends_s[maps] for maps in reads), default=0.0)
                in_turn_s += task_s
                lost += 0 if each == step else self.maps[each]
        return in_turn_s if lost > self.executors else ends_s[step]

    def _task(self, step: R) -> tuple[float, list[R]]:
        """How long one task takes, and the map outputs that it reads."""
        known = self._tasks.get(step)
        if known is None:
            reads: dict[R, None] = {}
            task_s = 0.0
            seen = {step}
            pending = [step]
            while pending:
                each = pending.pop()
                if each == step or each in self.kept:
                    task_s += self._visit_s[each]
                for parent in self.parents.get(each, ()):
                    if parent in self.maps:
                        reads[parent] = None
                    elif parent not in seen:
                        seen.add(parent)
                        pending.append(parent)
            known = self._tasks[step] = (task_s, list(reads))
        return known

    @cached_property
    def _tasks(self) -> dict[R, tuple[float, list[R]]]:
        return {}

    @cached_property
    def _visit_s(self) -> dict[R, float]:
        """How long a task takes for each step once its kept parents are there."""
        found: dict[R, float] = {}
        for step in ancestors_first(self.costs, self.parents):
            again = [
                each
                for each in self.parents.get(step, ())
                if each not in self.kept and each not in self.maps
            ]
            found[step] = self.costs[step].delay_s + sum(found[each] for each in again)
        return found

    @cached_property
    def used(self) -> set[R]:
        """What others are made of."""
        return {each for step in self.costs for each in self.parents.get(step, ())}

    @property
    def _ends(self) -> list[R]:
        return [step for step in self.costs if step not in self.used]

    @cached_property
    def _fixed(self) -> LineageGraph[R]:
        """What is left when all that can be written is written."""
        return self._of({step for step, cost in self.costs.items() if cost.bytes is None})


def choose_within(lineage: LineageGraph[R], bound_s: float, relax: float = 1.0) -> list[R]:
    """Chooses the RDDs to checkpoint so that all recoveries are within the bound, where that is
    possible.

    >>> costs = {rdd: Cost(4, 9) for rdd in "abcd"} | {"e": Cost(1, 5)}
    >>> parents = {"d": ["a", "b", "c"], "e": ["d"]}
    >>> choose_within(LineageGraph(costs, parents, set("abcde"), {}), bound_s=10)
    ['d']
    """
    chosen = choose(lineage.costs, lineage.parents, bound_s, relax)
    if not lineage.without(chosen).is_late(bound_s):
        return chosen
    concerned = lineage.behind(lineage.late(bound_s))
    is_small = len(concerned.costs) <= MOST_STEPS
    sets = shorter_cuts(concerned, bound_s, relax) if is_small else []
    if relax <= 1.0 or not sets:
        # Some of several branches may be cheaper than any cut, but far from the end.
        able = {step for step, cost in concerned.costs.items() if cost.bytes is not None}
        sets.append(without_idle(concerned, able, bound_s))
    best = min(sets, key=lambda each: total(lineage.costs, each))
    return [step for step in lineage.costs if step in best]


def ends_within(lineage: LineageGraph[R], bound_s: float, used: Collection[R] = ()) -> list[R]:
    """The paper's baseline under the same bound: while a recovery is too long, all RDDs that
    nothing was made of yet."""
    chosen: list[R] = []
    while (rest := lineage.without(chosen)).is_late(bound_s):
        # What is left may be too long although all that was made of it is written.
        ends = edge(rest.costs, rest.parents, 0.0, [*used, *lineage.used]) or edge(
            rest.costs, rest.parents, 0.0
        )
        if not ends:
            break
        chosen += ends
    return [step for step in lineage.costs if step in chosen]


def shorter_cuts(lineage: LineageGraph[R], bound_s: float, relax: float) -> list[set[R]]:
    """Sets that leave no recovery too long, by the lengths of the paths that they cut."""
    lengths = path_lengths(lineage, bound_s)
    cuts = (cut_to(lineage, lengths[place:], bound_s, relax) for place in range(len(lengths)))
    enough = [each for each in cuts if not lineage.without(each).is_late(bound_s)]
    return [without_idle(lineage, each, bound_s) for each in enough]


def path_lengths(lineage: LineageGraph[R], bound_s: float) -> list[float]:
    """The bound, and shorter lengths between which cuts differ, longest first."""
    before_s, behind_s = measure(lineage.costs, lineage.parents)
    found = {0.0}
    for step, cost in lineage.costs.items():
        rest_s = behind_s[step] - cost.delay_s
        found |= {rest_s, rest_s + before_s[step]}
    inner = sorted((each for each in found if each < bound_s), reverse=True)
    return [bound_s, *inner[:: max(1, -(-len(inner) // MOST_LENGTHS))]]


def cut_to(
    lineage: LineageGraph[R], lengths: Sequence[float], bound_s: float, relax: float
) -> set[R]:
    """Cuts all paths of late recoveries that are longer than the first length, and while some are
    late, than the next ones."""
    chosen: set[R] = set()
    for length_s in lengths:
        while True:
            rest = lineage.without(chosen)
            late = rest.late(bound_s)
            if not late:
                return chosen
            concerned = rest.behind(late)
            more = choose(concerned.costs, concerned.parents, length_s, relax)
            if not more:
                break
            chosen.update(more)
    return chosen


def without_idle(lineage: LineageGraph[R], chosen: set[R], bound_s: float) -> set[R]:
    """Leaves out what need not be written, the largest first."""
    needed = set(chosen)
    sized = [step for step in lineage.costs if step in chosen]
    for step in sorted(sized, key=lambda each: -(lineage.costs[each].bytes or 0)):
        if not lineage.without(needed - {step}).is_late(bound_s):
            needed.discard(step)
    return needed
