"""Every process of every node, killed in every phase of every start: the context goes on."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from operator import add
from random import Random
from threading import Event
from typing import Any

import psutil
import pytest
from marks import wait_until
from nodeprocesses import janitor_pid, node_pid
from programs import descendants

from pyrite import SparkContext
from pyrite.cluster.local.agentprocess import LocalStarter
from pyrite.cluster.real.agentlink import AgentLink
from pyrite.cluster.real.nodes import FAILED_STARTS, Nodes
from pyrite.errors import ClusterError
from pyrite.remote.process import ServerProcess

Start = Callable[..., SparkContext]

MASTER = "local-cluster[2,1,512m,1x16m]"
NODES = ["driver", "node-0", "node-1", "storage-0"]
EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]

# When a process is killed: the method that has just done its part.
SERVER_PHASES = {
    "spawned": (ServerProcess, "__init__"),
    "told its options": (ServerProcess, "open"),
}
NODE_PHASES = {
    "spawned": (Nodes, "begin"),
    "connected": (Nodes, "accept"),
    "said hello": (Nodes, "greet"),
    "admitted": (Nodes, "admit"),
    "asked to fork": (AgentLink, "start_executor"),
}


def check(sc: SparkContext) -> None:
    """Rows cross between all nodes, and every node is there again in the end."""
    table = sc.broadcast(list(range(100)))
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, len(table.value) // 100))
    assert sorted(pairs.reduceByKey(add, 4).collect()) == EXPECTED
    wait_until(lambda: whole(sc), "all nodes and executors")
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, 1))
    assert sorted(pairs.reduceByKey(add, 4).collect()) == EXPECTED


def whole(sc: SparkContext) -> bool:
    cluster: Any = sc._engine.cluster
    nodes = list(cluster.nodes.values())
    joined = [each for each in list(cluster.by_id.values()) if each.joined]
    listens = cluster.driver.storage.listens
    return sorted(node.id for node in nodes) == NODES and listens and len(joined) == 2


def pids_of(nodes: Any, node: str, kind: str) -> list[int]:
    """The processes of a kind that a node's latest start has, as far as it has come."""
    starts = [each for each in nodes.started.values() if each.plan.id == node]
    if not starts:
        return []
    janitor = starts[-1].started.process.pid
    if kind == "janitor":
        return [janitor]
    # They may end meanwhile.
    with contextlib.suppress(psutil.NoSuchProcess):
        agents = psutil.Process(janitor).children()
        if kind == "agent":
            return [each.pid for each in agents]
        below = [each for agent in agents for each in agent.children()]
        return [each.pid for each in below if "pyrite.remote.server" in each.cmdline()]
    return []


class Trap:
    """Kills a process the first time that a method for its node returns."""

    def __init__(self, patch: pytest.MonkeyPatch, kind: str, phase: str, node: str) -> None:
        owner, method = SERVER_PHASES[phase] if node == "driver" else NODE_PHASES[phase]
        self.kind = kind
        self.node = node
        self.armed = False
        self.killed: list[int] = []
        self.nodes: Any = None
        called = getattr(owner, method)

        def trapped(part: Any, *args: Any, **kwargs: Any) -> Any:
            found = called(part, *args, **kwargs)
            self.spring(part)
            return found

        patch.setattr(owner, method, trapped)
        made = Nodes.__init__

        def noted(nodes: Any, *args: Any) -> None:
            made(nodes, *args)
            self.nodes = nodes

        patch.setattr(Nodes, "__init__", noted)

    def spring(self, part: Any) -> None:
        if not self.armed:
            return
        if self.node == "driver":
            pids = [part.process.pid] if part.folders.node == "driver" else []
        elif isinstance(part, AgentLink) and part.node != self.node:
            pids = []
        else:
            pids = pids_of(self.nodes, self.node, self.kind)
        for pid in pids:
            self.armed = False
            self.killed.append(pid)
            os.kill(pid, signal.SIGKILL)


CASES = [
    *[("server", phase, "driver") for phase in SERVER_PHASES],
    *[("janitor", phase, "node-1") for phase in NODE_PHASES],
    *[("agent", phase, "node-1") for phase in NODE_PHASES if phase != "spawned"],
    *[("server", phase, "node-1") for phase in NODE_PHASES if phase != "spawned"],
    *[(kind, "admitted", "storage-0") for kind in ("janitor", "agent", "server")],
]


@pytest.mark.parametrize(("kind", "phase", "node"), CASES)
def test_in_the_first_start(
    start: Start, monkeypatch: pytest.MonkeyPatch, kind: str, phase: str, node: str
) -> None:
    trap = Trap(monkeypatch, kind, phase, node)
    trap.armed = True
    sc = start(MASTER)
    check(sc)
    assert len(trap.killed) == 1


RESTARTS = [
    (*case, first)
    for case in CASES
    for first in ("server", "agent", "janitor")
    if case[2] != "driver" or first == "server"
]


@pytest.mark.parametrize(("kind", "phase", "node", "first"), RESTARTS)
def test_while_the_node_restarts(
    start: Start, monkeypatch: pytest.MonkeyPatch, kind: str, phase: str, node: str, first: str
) -> None:
    trap = Trap(monkeypatch, kind, phase, node)
    sc = start(MASTER)
    check(sc)
    victim = janitor_pid(sc, node) if first == "janitor" else node_pid(sc, node, first)
    trap.armed = True
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: trap.killed, "the second kill")
    check(sc)


def test_a_block_server_that_never_starts_is_reported(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    sc = start(MASTER)
    check(sc)
    called, killed = ServerProcess.open, []

    def kill(server: ServerProcess, *args: Any) -> None:
        called(server, *args)
        killed.append(server.process.pid)
        server.process.kill()

    monkeypatch.setattr(ServerProcess, "open", kill)
    os.kill(node_pid(sc, "driver", "server"), signal.SIGKILL)
    wait_until(lambda: sc._engine.broken, "the end of the attempts")
    assert len(killed) == FAILED_STARTS
    with pytest.raises(ClusterError, match=f"driver could not be started, {FAILED_STARTS} times"):
        sc.range(10).count()
    monkeypatch.undo()
    sc.stop()
    check(start(MASTER))


def test_a_node_that_never_starts_is_reported(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    sc = start(MASTER)
    check(sc)
    called, killed = LocalStarter.start, []

    def kill(starter: LocalStarter, options: Any) -> Any:
        started = called(starter, options)
        killed.append(started.process.pid)
        started.process.kill()
        return started

    monkeypatch.setattr(LocalStarter, "start", kill)
    os.kill(node_pid(sc, "node-1", "agent"), signal.SIGKILL)
    wait_until(lambda: sc._engine.broken, "the end of the attempts")
    assert len(killed) == FAILED_STARTS
    with pytest.raises(ClusterError, match=f"node-1 could not be started, {FAILED_STARTS} times"):
        sc.range(10).count()


def test_one_that_does_not_start_at_first_is_reported(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(descendants(os.getpid()))
    monkeypatch.setattr(ServerProcess, "open", lambda server, *_: server.process.kill())
    with pytest.raises(ClusterError, match="could not be started, 4 times in a row"):
        start(MASTER)
    assert not set(descendants(os.getpid())) - before


@pytest.mark.parametrize("seed", range(3))
def test_any_two_processes_at_any_time(start: Start, seed: int) -> None:
    """The second one may be old, or one that has just been started for the first."""
    sc = start(MASTER)
    dice = Random(seed)
    for _ in range(8):
        for delay_s in (0.0, dice.uniform(0.0, 0.6)):
            Event().wait(delay_s)
            with contextlib.suppress(psutil.NoSuchProcess):
                dice.choice(descendants(os.getpid())).kill()
        check(sc)
