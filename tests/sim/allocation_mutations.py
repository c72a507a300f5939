"""Deliberate bugs in how many executors there are."""

from __future__ import annotations

from math import ceil
from typing import Any

from mutating import MUTATIONS, Mutation, mutation

from pyrite.schedule.allocation import Allocation
from pyrite.schedule.commands import WantExecutors
from pyrite.schedule.departures import Departures
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.stages import StageRun


@mutation(Allocation, "_add")
def nobody_asks_for_executors(self: Allocation, need: int) -> None:
    pass


@mutation(Allocation, "_add")
def all_executors_are_wanted_at_once(self: Allocation, need: int) -> None:
    self._target = need


@mutation(Allocation, "_needed")
def more_executors_than_may_be(self: Allocation, rule: Any) -> int:
    return max(ceil((self.waiting + len(self.attempts)) * rule.ratio), rule.least)


# A property, which has no name of its own.
MUTATIONS["no executors are wanted for copies of slow tasks"] = Mutation(
    Allocation, "waiting", property(lambda self: sum(map(pending, self.queue.everyone())))
)


def pending(run: StageRun) -> int:
    return 0 if run.tasks is None or run.tasks.paused else len(run.tasks.pending)


@mutation(Allocation, "_set_timer")
def nobody_looks_at_idle_nodes(self: Allocation, rule: Any, need: int) -> None:
    pass


MUTATIONS["fewer executors stay than wanted"] = Mutation(
    Allocation, "spare", property(lambda self: self.fleet.staying)
)


@mutation(Allocation, "_holds_kept")
def kept_partitions_hold_no_node(self: Allocation, node: Any) -> bool:
    return False


@mutation(Fleet, "is_idle")
def a_node_with_a_free_executor_is_idle(self: Fleet, node: Any) -> bool:
    return any(each.attempt is None for each in self.on(node))


@mutation(Allocation, "_tell", within=1000)
def leaving_nodes_count(self: Allocation, rule: Any) -> None:
    told = WantExecutors(self._target)
    if told != self._told:
        self._told = told
        self.turn.add(told)


@mutation(Departures, "begin")
def an_idle_node_stays(self: Departures, node: Any) -> None:
    pass
