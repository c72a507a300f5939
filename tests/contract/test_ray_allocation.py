"""Nodes of a real Ray that are wanted, come, leave and are drained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import add

import pytest
from heldtasks import busy, hosts
from marks import Marks, wait_until
from raycluster import shared_ray

from pyrite import SparkContext
from pyrite.errors import StageAborted

Start = Callable[..., SparkContext]

pytestmark = pytest.mark.timeout(300)

ALLOCATED = {
    "spark__dynamicAllocation__enabled": "true",
    "spark__dynamicAllocation__minExecutors": 1,
    "spark__dynamicAllocation__maxExecutors": 3,
    "spark__dynamicAllocation__schedulerBacklogTimeout": "100ms",
}
EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]


@pytest.fixture(scope="module")
def adapter() -> str:
    return "ray with retries"


def demand(address: str) -> list[tuple[float, int]]:
    """What Ray's autoscaler sees as lacking: CPUs, and how often."""
    from ray._raylet import GcsClient
    from ray.autoscaler.v2.sdk import get_cluster_resource_state

    state = get_cluster_resource_state(GcsClient(address=address))
    return [
        (each.request.resources_bundle["CPU"], each.count)
        for each in state.pending_resource_requests
    ]


def drain(address: str, ray_node: str, in_s: float) -> None:
    import time

    from ray._raylet import GcsClient
    from ray.core.generated import autoscaler_pb2

    reason = autoscaler_pb2.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
    deadline_ms = int((time.time() + in_s) * 1000)
    accepted, why = GcsClient(address=address).drain_node(ray_node, reason, "a test", deadline_ms)
    assert accepted, why


@contextmanager
def added_node() -> Iterator[None]:
    shared_ray().order("add 1", "added")
    try:
        yield
    finally:
        shared_ray().order("remove", "removed")


def counts(sc: SparkContext) -> list[tuple[int, int]]:
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, 1))
    return sorted(pairs.reduceByKey(add, 4).collect())


def test_what_is_lacking_is_shown_and_a_node_that_comes_is_used(start: Start, marks: Marks) -> None:
    address = shared_ray().address
    sc = start(**ALLOCATED, spark__dynamicAllocation__executorIdleTimeout="1s")
    assert len(hosts(sc)) == 1
    assert demand(address) == []
    with busy(sc, marks, 3):
        # First the nodes that are there, then those that are not.
        wait_until(lambda: len(hosts(sc)) == 2, "the second node")
        wait_until(lambda: demand(address) == [(1.0, 1)], "the demand for a third")
        with added_node():
            wait_until(lambda: len(hosts(sc)) == 3, "the third node")
            marks.wait("held", 3)
            assert demand(address) == []
            marks.add("go")
            wait_until(lambda: len(hosts(sc)) == 1, "the end of idle nodes")
            assert counts(sc) == EXPECTED


def test_the_first_task_gets_a_node(start: Start) -> None:
    sc = start(**ALLOCATED | {"spark__dynamicAllocation__minExecutors": 0})
    assert hosts(sc) == []
    assert counts(sc) == EXPECTED


def test_what_is_not_wanted_any_more_is_withdrawn(start: Start, marks: Marks) -> None:
    address = shared_ray().address
    sc = start(**ALLOCATED | {"spark__dynamicAllocation__maxExecutors": 5})
    with busy(sc, marks, 6):
        wait_until(lambda: demand(address) == [(1.0, 3)], "the demand for three more")
    wait_until(lambda: demand(address) == [], "its end")
    assert counts(sc) == EXPECTED


def test_demand_goes_with_its_driver(start: Start, marks: Marks) -> None:
    address = shared_ray().address
    sc = start(**ALLOCATED | {"spark__dynamicAllocation__minExecutors": 3})
    wait_until(lambda: demand(address) == [(1.0, 1)], "the demand for a third")
    sc.stop()
    wait_until(lambda: demand(address) == [], "its end")


def names_of(sc: SparkContext) -> dict[str, str]:
    """The nodes that were used, by Ray's ids."""
    members = sc._engine.cluster.many.starter.members  # type: ignore[attr-defined]
    return dict(members.names)


@contextmanager
def third_node(sc: SparkContext) -> Iterator[str]:
    """A node is added and used; gives Ray's id of it."""
    wait_until(lambda: len(hosts(sc)) == 2, "two nodes")
    before = names_of(sc)
    with added_node():
        wait_until(lambda: len(hosts(sc)) == 3, "three nodes")
        wait_until(lambda: len(sc._engine.scheduler.fleet) == 3, "their executors")
        [added] = set(names_of(sc)) - set(before)
        yield added


@pytest.mark.parametrize("is_allocated", [False, True], ids=["all nodes", "allocated"])
def test_a_drained_node_leaves_with_what_it_holds(start: Start, is_allocated: bool) -> None:
    more = ALLOCATED | {"spark__dynamicAllocation__minExecutors": 3} if is_allocated else {}
    sc = start(**more)
    with third_node(sc) as added:
        computed = sc.accumulator(0)
        pairs = sc.range(1000, numSlices=6).map(lambda x: computed.add(1) or (x % 7, 1))
        summed = pairs.reduceByKey(add, 4)
        assert sorted(summed.collect()) == EXPECTED
        drain(shared_ray().address, added, 600.0)
        wait_until(lambda: names_of(sc)[added] not in hosts(sc), "its end")
        assert sorted(summed.collect()) == EXPECTED
        assert computed.value == 1000


def test_a_drained_node_goes_at_its_deadline(start: Start, marks: Marks) -> None:
    sc = start()
    with third_node(sc) as added, busy(sc, marks, 3):
        marks.wait("held", 3)
        drain(shared_ray().address, added, 3.0)
        wait_until(lambda: names_of(sc)[added] not in hosts(sc), "its end")
    # What it ran was run again elsewhere.
    assert marks.count("held") >= 4


def test_a_barrier_does_not_wait_for_a_node_that_is_gone(start: Start) -> None:
    sc = start()
    with third_node(sc):
        pass
    wait_until(lambda: len(hosts(sc)) == 2, "the loss of the third")
    # It may be back, until Ray knows that it is gone.
    rows = sc.range(3, numSlices=3).barrier().mapPartitions(lambda rows: rows)
    with pytest.raises(StageAborted, match="must run at once, but there are 2 executors"):
        rows.collect()
