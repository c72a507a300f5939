"""The checker of allocation bites on a story that can't be, and stays quiet on one told right."""

from __future__ import annotations

import pytest

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.cluster.sim.checkers.allocation import Allocated
from pyrite.ids import AttemptId, ExecutorId, JobId, NodeId, StageId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.attempts import Attempt
from pyrite.schedule.rules import AllocationRule, Rules
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.timer import AllocationCheck

A, B = NodeId("node-0"), NodeId("node-1")
TICK = ev.TimerFired(AllocationCheck())
RULE = AllocationRule(least=1, most=3, initial=1, idle_s=10.0, cached_idle_s=100.0)


def checker(nodes: int = 2, rule: AllocationRule | None = RULE) -> Allocated:
    """A checker that has seen so many nodes with one executor each join."""
    found = Allocated(Scheduler(Rules(allocation=rule)))
    for number in range(nodes):
        node = NodeId(f"node-{number}")
        found.see(0.0, ev.NodeJoined(node, 100, executors=1), [])
        found.see(0.0, ev.ExecutorJoined(ExecutorId(number), node), [])
    return found


def launch(checker: Allocated, executor: int) -> do.LaunchTask:
    id = AttemptId(executor)
    attempt = Attempt(id, None, (0,), ExecutorId(executor), 0, 0.0)
    checker.scheduler.attempts.add(attempt)
    return do.LaunchTask(id, ExecutorId(executor), StageId(0), (0,), 0, JobId(0))


def test_an_idle_node_may_leave_in_time() -> None:
    seen = checker()
    seen.see(9.0, TICK, [])
    seen.see(10.0, TICK, [do.NodeDismissed(A, 10.0)])
    seen.see(10.1, ev.NodeLost(A, "it was asked to leave"), [])


def test_a_node_may_not_leave_early() -> None:
    with pytest.raises(CheckFailed, match="before it was idle for 10"):
        checker().see(9.0, TICK, [do.NodeDismissed(A, 9.0)])


def test_a_node_that_runs_a_task_may_not_leave() -> None:
    seen = checker()
    seen.see(1.0, TICK, [launch(seen, 0)])
    with pytest.raises(CheckFailed, match="while it runs a task"):
        seen.see(30.0, TICK, [do.NodeDismissed(A, 30.0)])


def test_the_least_stay() -> None:
    seen = checker()
    with pytest.raises(CheckFailed, match="too few executors are left"):
        seen.see(30.0, TICK, [do.NodeDismissed(A, 30.0), do.NodeDismissed(B, 30.0)])


def test_an_idle_node_may_not_stay() -> None:
    seen = checker()
    with pytest.raises(CheckFailed, match=r"is idle for 30\.0 s, and stays"):
        seen.see(30.0, TICK, [])


@pytest.mark.parametrize("executors", [0, 4])
def test_what_is_wanted_has_bounds(executors: int) -> None:
    with pytest.raises(CheckFailed, match=f"{executors} executors are wanted"):
        checker().see(0.0, TICK, [do.WantExecutors(executors)])


def test_nothing_is_wanted_while_nothing_waits() -> None:
    seen = checker(1)
    seen.see(0.0, TICK, [do.WantExecutors(1)])
    with pytest.raises(CheckFailed, match="2 executors are wanted too early"):
        seen.see(5.0, TICK, [do.WantExecutors(2)])


def test_there_are_never_more_than_the_most() -> None:
    with pytest.raises(CheckFailed, match="more executors than 3"):
        checker(4)


def test_a_lost_node_can_not_be_asked_to_leave() -> None:
    seen = checker(2)
    seen.see(1.0, ev.NodeLost(B, "crash"), [])
    seen.see(1.0, ev.NodeLeaves(B), [])
    assert seen.sizes == {A: 1, B: 1}, "it will be back"
    seen.see(2.0, ev.NodeWithdrawn(B), [])
    assert seen.sizes == {A: 1}


def test_it_says_nothing_where_nodes_come_by_themselves() -> None:
    checker(9, rule=None).see(100.0, TICK, [])
