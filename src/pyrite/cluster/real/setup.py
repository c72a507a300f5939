"""What a cluster of real processes is made of."""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import NamedTuple

from pyrite.cluster.node.storage import NodeStorage
from pyrite.cluster.real.forkserver import ForkServer
from pyrite.cluster.real.nodes import AgentPlan, Nodes
from pyrite.cluster.real.starter import Starter


class RealSetup(NamedTuple):
    """What every cluster has."""

    # The pool of the driver's own node, and where its folders are made.
    pool_bytes: int
    local_dir: str
    # A process that is stopped, or does not answer, for so long is given up.
    timeout_s: float
    send_bytes_per_s: int = 0


class OneNode(NamedTuple):
    """The executors are on the driver's node, each with a socket of its own."""

    executors: int
    start_fork_server: Callable[[NodeStorage, select.epoll], ForkServer]


class ManyNodes(NamedTuple):
    """The executors are on nodes with agents; the driver's node has none."""

    starter: Starter
    plans: tuple[AgentPlan, ...]
    # Where the driver waits for agents, and where its block server listens.
    listen: tuple[str, int]
    block_listen: tuple[str, int]
    # How long agents may be silent, and how often they are asked.
    patience_s: float
    ping_s: float
    # How long agents go on without hearing from their driver.
    alone_s: float | None
    # The setting that says so.
    setting: str
    # Whether the start may end: once all planned nodes can join, unless this says otherwise.
    is_ready: Callable[[Nodes], bool] = Nodes.all_greeted
    # Called when all nodes have ended.
    is_over: Callable[[], None] = lambda: None
