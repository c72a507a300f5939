"""A node that hears nothing gives itself up; the checker of fencing bites on what can't be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyrite import SparkContext
from pyrite.cluster.node.fence import Fence
from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.cluster.sim.checkers.fencing import Fencing
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.ids import AttemptId, ExecutorId, JobId, NodeId, StageId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

NODE = NodeId("node-0")
JOINED = ev.NodeJoined(NODE, 100, executors=1)
LOST = ev.NodeLost(NODE, "no word from it")
READY = ev.ExecutorJoined(ExecutorId(0), NODE)
LAUNCH = do.LaunchTask(AttemptId(0), ExecutorId(0), StageId(0), (0,), 0, JobId(0))
DONE = ev.TaskSucceeded(AttemptId(0), (ev.TaskOutput(b"rows"),))
RESULT = do.DeliverResult(JobId(0), 0, b"rows")
WANTED = ev.SpaceWanted(NODE, ExecutorId(0), "e0-1", 10)
LONG_S = 1000.0


def test_an_agent_gives_itself_up_after_its_driver_was_silent_for_so_long() -> None:
    fence = Fence(10.0, now_s=0.0)
    fence.hear(5.0)
    assert not fence.is_over(15.0)
    assert fence.is_over(15.1)
    assert fence.look_s() == 2.5


def test_without_a_limit_silence_means_nothing() -> None:
    fence = Fence(None, now_s=0.0)
    assert not fence.is_over(1e9)
    assert fence.look_s() is None


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    """One whose only executor runs."""
    with SparkContext("sim[seed=1,nodes=1,executors=1,faults=0]") as sc:
        sc.parallelize(range(4), 4).count()
        found = sc._engine.cluster
        assert isinstance(found, SimCluster)
        yield found


def fenced(cluster: SimCluster) -> Fencing:
    """A checker that has seen a node given up while its executor ran a task."""
    checker = Fencing(Scheduler(Rules()), cluster)
    checker.see(0.0, JOINED, [])
    checker.see(0.0, READY, [LAUNCH])
    checker.see(1.0, LOST, [])
    return checker


def test_it_is_quiet_where_nothing_follows(cluster: SimCluster) -> None:
    checker = fenced(cluster)
    checker.see(1.1, DONE, [])
    checker.see(1.2, WANTED, [do.GrantSpace(ExecutorId(0), "e0-1", None)])
    cluster.kill_executor(cluster.executors[ExecutorId(0)], "fenced")
    checker.see(LONG_S, DONE, [])


@pytest.mark.parametrize(
    ("event", "command", "message"),
    [
        (DONE, RESULT, "follows from a word of 0"),
        (WANTED, do.GrantSpace(ExecutorId(0), "e0-1", NODE), "e0-1 is granted to 0"),
    ],
)
def test_it_bites_where_a_past_life_is_heard(
    cluster: SimCluster, event: ev.Event, command: do.Command, message: str
) -> None:
    with pytest.raises(CheckFailed, match=message):
        fenced(cluster).see(1.1, event, [command])


def test_it_bites_where_a_past_life_gets_tasks(cluster: SimCluster) -> None:
    checker = fenced(cluster)
    checker.scheduler.fleet.join(ExecutorId(0), NODE)
    with pytest.raises(CheckFailed, match="executor 0 gets tasks"):
        checker.see(1.1, JOINED, [])


def test_it_bites_where_an_executor_lives_on(cluster: SimCluster) -> None:
    checker = fenced(cluster)
    checker.see(1.1, DONE, [])
    with pytest.raises(CheckFailed, match="executor 0 of node-0 lives on"):
        checker.see(LONG_S, DONE, [])
