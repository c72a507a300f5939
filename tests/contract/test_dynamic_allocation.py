"""Nodes of real processes that come while tasks wait, and leave when they are idle."""

from __future__ import annotations

from collections.abc import Callable
from operator import add

import psutil
import pytest
from checked import check_scheduler
from heldtasks import busy, hosts
from marks import Marks, wait_until
from nodeprocesses import node_pid

from pyrite import SparkContext, StorageLevel
from pyrite.errors import StageAborted
from pyrite.settings import BadSetting

Start = Callable[..., SparkContext]

MASTER = "local-cluster[1,1,256m]"
EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]
PREFIX = "spark__dynamicAllocation__"
ALLOCATED = {
    f"{PREFIX}enabled": "true",
    f"{PREFIX}minExecutors": 1,
    f"{PREFIX}maxExecutors": 3,
    f"{PREFIX}schedulerBacklogTimeout": "50ms",
    f"{PREFIX}executorIdleTimeout": "300ms",
}


def test_nodes_come_while_tasks_wait_and_leave_when_they_are_idle(
    start: Start, marks: Marks
) -> None:
    sc = start(MASTER, **ALLOCATED)
    check_scheduler(sc._engine)
    assert hosts(sc) == ["node-0"]
    with busy(sc, marks, 5):
        # As many as may be, though two tasks still wait.
        marks.wait("held", 3)
        pids = {name: node_pid(sc, name, "agent") for name in hosts(sc)}
        assert len(pids) == 3
    wait_until(lambda: len(hosts(sc)) == 1, "the end of idle nodes")
    gone = [pid for name, pid in pids.items() if name not in hosts(sc)]
    assert len(gone) >= 2
    wait_until(lambda: not any(map(psutil.pid_exists, gone)), "the end of their processes")
    assert sc.range(10, numSlices=2).sum() == 45


def test_a_node_of_several_executors_comes_and_goes_whole(start: Start, marks: Marks) -> None:
    sc = start("local-cluster[1,2,256m]", **ALLOCATED | {f"{PREFIX}maxExecutors": 5})
    with busy(sc, marks, 6):
        # A third node would be one executor too many.
        marks.wait("held", 4)
        assert len(hosts(sc)) == 2
    wait_until(lambda: len(hosts(sc)) == 1, "the end of an idle node")


def test_without_a_node_the_first_task_gets_one(start: Start) -> None:
    sc = start(MASTER, **ALLOCATED | {f"{PREFIX}minExecutors": 0})
    assert hosts(sc) == []
    assert sc.range(10, numSlices=2).sum() == 45
    wait_until(lambda: hosts(sc) == [], "the end of idle nodes")


def test_what_a_node_holds_is_not_lost_with_it(start: Start, marks: Marks) -> None:
    settings = {f"{PREFIX}initialExecutors": 3, f"{PREFIX}cachedExecutorIdleTimeout": "2s"}
    sc = start(MASTER, **ALLOCATED | settings)
    wait_until(lambda: len(sc._engine.scheduler.fleet) == 3, "three executors")
    computed = sc.accumulator(0)
    pairs = sc.range(1000, numSlices=6).map(lambda x: computed.add(1) or (x % 7, 1))
    summed = pairs.reduceByKey(add, 6)
    kept = sc.range(1000, numSlices=6).persist(StorageLevel.OFF_HEAP)
    assert sorted(summed.collect()) == EXPECTED and kept.sum() == sum(range(1000))
    wait_until(lambda: len(hosts(sc)) == 1, "the end of idle nodes")
    assert sorted(summed.collect()) == EXPECTED and kept.sum() == sum(range(1000))
    assert computed.value == 1000 and sc.memory().hits.recomputed == 0


@pytest.mark.parametrize("name", [f"{PREFIX}initialExecutors", "spark__executor__instances"])
def test_nodes_with_kept_partitions_stay(start: Start, name: str) -> None:
    sc = start(MASTER, **ALLOCATED | {name: 3})
    wait_until(lambda: len(sc._engine.scheduler.fleet) == 3, "three executors")
    kept = sc.range(300, numSlices=3).persist()
    assert kept.sum() == sum(range(300))
    holders = {each.node for each in sc._engine.scheduler.fleet}
    idle = sc._engine.scheduler.allocation
    wait_until(lambda: len(idle._holding_s) == len(holders) > 1, "nodes that hold partitions")
    assert len(hosts(sc)) == 3
    kept.unpersist()
    wait_until(lambda: len(hosts(sc)) == 1, "the end of idle nodes")


def test_a_removed_node_is_replaced(start: Start) -> None:
    sc = start(MASTER, **ALLOCATED | {f"{PREFIX}minExecutors": 2})
    wait_until(lambda: len(sc._engine.scheduler.fleet) == 2, "two executors")
    leaving = hosts(sc)[0]
    sc.removeNode(leaving)
    wait_until(lambda: leaving not in hosts(sc) and len(hosts(sc)) == 2, "another node")
    assert sc.range(10, numSlices=2).sum() == 45


def test_a_barrier_gets_the_executors_that_it_needs(start: Start) -> None:
    sc = start(MASTER, **ALLOCATED)
    rows = sc.range(3, numSlices=3).barrier().mapPartitions(lambda rows: [sum(rows)])
    assert rows.collect() == [0, 1, 2]
    wide = sc.range(4, numSlices=4).barrier().mapPartitions(lambda rows: rows)
    with pytest.raises(StageAborted, match="there are 3 executors"):
        wide.collect()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("maxExecutors", 0, "expected 1 at least"),
        ("executorAllocationRatio", 2, "1 at most"),
        ("schedulerBacklogTimeout", "0s", "more than 0"),
    ],
)
def test_settings_that_are_refused(start: Start, name: str, value: object, problem: str) -> None:
    with pytest.raises(BadSetting, match=problem):
        start(MASTER, **ALLOCATED | {f"{PREFIX}{name}": value})


def test_a_limit_within_which_no_node_fits_is_refused(start: Start) -> None:
    with pytest.raises(BadSetting, match="expected 4 at least"):
        start("local-cluster[1,4,256m]", **ALLOCATED)
