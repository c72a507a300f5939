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
from programs import descendants

from pyrite import SparkContext
from pyrite.cluster.local.forkserverprocess import ForkServerProcess
from pyrite.cluster.local.hosts import FAILED_STARTS, Hosts
from pyrite.cluster.local.node import LocalNode
from pyrite.errors import ClusterError
from pyrite.remote.process import ServerProcess

Start = Callable[..., SparkContext]

MASTER = "local-cluster[2,1,512m,1x16m]"
NODES = ["driver", "node-0", "node-1", "storage-0"]
EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]

# Where a process is killed: the method that has just done its part, and what it then kills.
SERVER_PHASES = {
    "spawned": (ServerProcess, "__init__"),
    "told its options": (ServerProcess, "open"),
    "heard": (LocalNode, "receive"),
    "admitted": (Hosts, "admit"),
}
FORK_SERVER_PHASES = {
    "spawned": (ForkServerProcess, "__init__"),
    "its node is admitted": (Hosts, "admit"),
    "asked to fork": (ForkServerProcess, "fork"),
    "heard": (ForkServerProcess, "read"),
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
    return (
        sorted(n.id for n in nodes) == NODES and all(n.listens for n in nodes) and len(joined) == 2
    )


def pid_of(part: Any, kind: str) -> int | None:
    """The process that a method's object, or its node, stands for."""
    if isinstance(part, LocalNode):
        part = part.server if kind == "server" else part.fork_server
    return None if part is None else part.process.pid


class Trap:
    """Kills a process the first time that a method of it, or for its node, returns."""

    def __init__(self, patch: pytest.MonkeyPatch, kind: str, phase: str, node: str) -> None:
        owner, method = (SERVER_PHASES if kind == "server" else FORK_SERVER_PHASES)[phase]
        self.kind = kind
        self.node = node
        self.armed = False
        self.killed: list[int] = []
        called = getattr(owner, method)

        def trapped(part: Any, *args: Any, **kwargs: Any) -> Any:
            found = called(part, *args, **kwargs)
            self.spring(args[0] if isinstance(part, Hosts) else part)
            return found

        patch.setattr(owner, method, trapped)

    def spring(self, part: Any) -> None:
        pid = pid_of(part, self.kind)
        if self.armed and pid is not None and self.is_of(part):
            self.armed = False
            self.killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    def is_of(self, part: Any) -> bool:
        if isinstance(part, LocalNode):
            return part.id == self.node
        # A process that has just been started knows no more than its node's folders.
        return not isinstance(part, ServerProcess) or part.folders.node == self.node


CASES = [
    *[
        ("server", phase, node)
        for phase in SERVER_PHASES
        for node in ("driver", "node-1", "storage-0")
    ],
    *[("fork server", phase, "node-1") for phase in FORK_SERVER_PHASES],
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
    for first in ("server", "fork server")
    # Only nodes with executors have a fork server, and the driver's node goes on without pause.
    if (first == "server" or case[2] == "node-1") and case[1:] != ("admitted", "driver")
]


@pytest.mark.parametrize(("kind", "phase", "node", "first"), RESTARTS)
def test_while_the_node_restarts(
    start: Start, monkeypatch: pytest.MonkeyPatch, kind: str, phase: str, node: str, first: str
) -> None:
    trap = Trap(monkeypatch, kind, phase, node)
    sc = start(MASTER)
    check(sc)
    victim = sc._engine.cluster.nodes[node]  # type: ignore[attr-defined]
    trap.armed = True
    os.kill(pid_of(victim, first) or 0, signal.SIGKILL)
    wait_until(lambda: trap.killed, "the second kill")
    check(sc)


@pytest.mark.parametrize("node", ["driver", "node-1"])
def test_one_that_never_starts_is_reported(
    start: Start, monkeypatch: pytest.MonkeyPatch, node: str
) -> None:
    sc = start(MASTER)
    check(sc)
    called, killed = ServerProcess.open, []

    def kill(server: ServerProcess, *args: Any) -> None:
        called(server, *args)
        killed.append(server.process.pid)
        server.process.kill()

    monkeypatch.setattr(ServerProcess, "open", kill)
    os.kill(pid_of(sc._engine.cluster.nodes[node], "server") or 0, signal.SIGKILL)  # type: ignore[attr-defined]
    wait_until(lambda: sc._engine.broken, "the end of the attempts")
    assert len(killed) == FAILED_STARTS
    with pytest.raises(ClusterError, match=f"{node} could not be started, {FAILED_STARTS} times"):
        sc.range(10).count()
    monkeypatch.undo()
    sc.stop()
    check(start(MASTER))


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
