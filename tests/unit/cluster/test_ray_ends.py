"""Why agents on Ray have ended: what Ray says at length is told in one line, with a cure."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from pyrite.cluster.node.meeting import VERSIONS_BYTES
from pyrite.cluster.node.options import AgentOptions
from pyrite.cluster.ray.actor import NodeActor
from pyrite.cluster.ray.actorends import is_for_good, told_end
from pyrite.cluster.ray.members import ActorShare, RayMembers
from pyrite.cluster.ray.starter import RayAgent, RayStarter
from pyrite.cluster.real.nodes import AgentPlan
from pyrite.errors import ClusterError
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import NodeId

NODE = NodeId("node-1")
PLACE = "node-1 (host 10.0.0.6)"
LIMITS = WorkerLimits(1, 2, 3, 4, 5)
OPTIONS = AgentOptions(NODE, "t", "ab", ("h", 1), ("10.0.0.6", 0), "/tmp", 2, 3, 0, LIMITS, None)


class OutOfMemoryError(Exception):
    """As Ray's."""


class ActorDiedError(Exception):
    """As Ray's."""


KILLED = OutOfMemoryError(
    "1 worker(s) were killed due to the node running low on memory. Memory on the node (IP: "
    "10.0.0.6, ID: a18b) was 15.93GB used / 16.00GB limit (0.995)\n"
    "OOM kill reason: Memory usage exceeded threshold\nTop 10 memory users: PID\tMEM(GB)"
)
LACKING = ActorDiedError(
    "The actor died because of an error raised in its creation task, ray::NodeActor.__init__() "
    "(pid=2077, ip=10.0.0.6, actor_id=c7e0)\n"
    "RuntimeError: The actor with name NodeActor failed to import on the worker. This may be "
    "because needed library dependencies are not installed in the worker environment:\n\n"
    "ray::NodeActor.__init__() (pid=2077, ip=10.0.0.6)\n"
    "ModuleNotFoundError: No module named 'pyrite'"
)


def test_the_memory_monitor_is_named() -> None:
    told = told_end(KILLED, PLACE)
    assert told.startswith(f"Ray's memory monitor killed the agent of {PLACE} (1 worker(s) were")
    assert "15.93GB used / 16.00GB limit" in told and "spark.executor.memory" in told
    assert "\n" not in told and not is_for_good(told)


def test_a_node_without_pyrite_is_named() -> None:
    told = told_end(LACKING, PLACE)
    assert told == (
        f"{PLACE} can't load Pyrite (ModuleNotFoundError: No module named 'pyrite'): "
        "install the same versions on all nodes"
    )
    assert is_for_good(told)
    assert told_end(ActorDiedError("It died.\nmore"), PLACE) == "ActorDiedError: It died."


def test_versions_are_compared_before_anything_else() -> None:
    other = b"Python 3.99, Pyrite 9.9.9, protocol 77".ljust(VERSIONS_BYTES)
    # Whatever else there is in the order of another version.
    told = NodeActor().run(PLACE, other, {"unknown": 1}, 2, 3)
    assert told.startswith(f"{PLACE} has Python ") and "Pyrite 9.9.9, protocol 77" in told
    assert is_for_good(told)


def fake_ray(error: Exception) -> Any:
    def get(ran: object) -> str:
        raise error

    return SimpleNamespace(
        wait=lambda running, num_returns, timeout: (running, []),
        get=get,
        kill=lambda actor: None,
    )


def ended(error: Exception, is_heard_before: bool) -> str:
    """What the starter tells of an agent whose actor has ended."""
    ray = fake_ray(error)
    starter = RayStarter(ray, {}, RayMembers(ray, lambda node: None, 0))  # type: ignore[arg-type, return-value]
    agent = RayAgent(OPTIONS, ActorShare("a18b", 2, 0))
    agent.ran = "ran"
    starter.agents.append(agent)
    if is_heard_before:
        agent.let_go()
    starter._hear()
    with os.fdopen(agent.status_fd) as status:
        return status.read()


def test_a_death_by_the_memory_monitor_is_told_though_it_was_noticed_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert ended(KILLED, is_heard_before=False) == told_end(KILLED, PLACE)
    assert not caplog.records
    ended(KILLED, is_heard_before=True)
    assert [each.getMessage() for each in caplog.records] == [told_end(KILLED, PLACE)]
    ended(ActorDiedError("killed"), is_heard_before=True)
    assert len(caplog.records) == 1


@pytest.fixture
def members() -> RayMembers:
    made = RayMembers(SimpleNamespace(), lambda node: None, 0)  # type: ignore[arg-type, return-value]
    made.plans[NODE] = AgentPlan(NODE, 2, 3, LIMITS, ("10.0.0.6", 0))
    made.plans[NodeId("node-0")] = AgentPlan(NodeId("node-0"), 2, 3, LIMITS, ("10.0.0.5", 0))
    made.used.add(NODE)
    return made


def test_a_node_of_other_versions_is_not_tried_again(
    members: RayMembers, caplog: pytest.LogCaptureFixture
) -> None:
    withdrawn: list[NodeId] = []
    members.calls = members.calls._replace(withdrawn=withdrawn.append)
    members.check_start()
    members.lost(NODE, told_end(LACKING, PLACE), proven=False)
    assert withdrawn == [NODE] and not members.due
    assert "node-1 could not be started and is left out: " in caplog.text
    with pytest.raises(ClusterError, match=r"node-1 \(host 10\.0\.0\.6\) can't load Pyrite"):
        members.check_start()


def test_a_node_whose_agent_died_is_tried_again(members: RayMembers) -> None:
    members.lost(NODE, told_end(KILLED, PLACE), proven=False)
    assert set(members.due) == {NODE}
    members.check_start()
