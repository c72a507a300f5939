"""The processes of a cluster's nodes, for tests that end or stop them."""

from __future__ import annotations

from typing import Any

from pyrite import SparkContext

# A node's parts beside its executors.
PARTS = ["agent", "server"]


def node_pid(sc: SparkContext, node: str, part: str) -> int:
    """The pid of a node's agent or block server."""
    cluster: Any = sc._engine.cluster
    if node == "driver":
        assert part == "server"
        pid: int = cluster.driver.storage.server.process.pid
        return pid
    hello = cluster.nodes[node].hello
    return int(hello.pid if part == "agent" else hello.server_pid)


def janitor_pid(sc: SparkContext, node: str) -> int:
    """The pid of the first process of a node that is a process of this machine."""
    cluster: Any = sc._engine.cluster
    pid: int = cluster.many.find(node).started.process.pid
    return pid
