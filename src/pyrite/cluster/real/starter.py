"""What starts agents: processes of this machine, or Ray."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

from pyrite.cluster.node.options import AgentOptions
from pyrite.ids import NodeId

if TYPE_CHECKING:
    from pyrite.cluster.real.clustercalls import ClusterCalls
    from pyrite.cluster.real.nodes import AgentPlan


class StartedAgent(Protocol):
    """An agent that was started, and may not have joined yet."""

    # A descriptor to poll: what is read from it says why the agent has ended; its end is the end.
    status_fd: int

    def let_go(self) -> None:
        """Has the agent end and clean up; does not wait for it."""

    def wait(self, timeout_s: float) -> None:
        """Waits for the end, after `let_go`; makes sure of it after the timeout."""


class Starter(Protocol):
    """Starts agents; the driver tells it what for."""

    # Whether a lost node is started again at once, in the same place; else `lost` is told of it.
    starts_again: bool

    def lost(self, node: NodeId, reason: str, proven: bool) -> None:
        """A node is lost; `proven` if an executor of it had started."""

    def open(self, calls: ClusterCalls) -> None:
        """The cluster is ready for agents."""

    def storage_plan(self, pool_bytes: int) -> AgentPlan:
        """The plan of one more storage-only node; refuses where nodes can't be added."""

    def want(self, executors: int, there: int, leaving: Collection[NodeId]) -> list[AgentPlan]:
        """So many executors are wanted in all, and so many there are or will be, without those of
        leaving nodes; returns the nodes to start now, others may come later."""

    def released(self, node: NodeId) -> None:
        """A node was let go, for good."""

    def start(self, options: AgentOptions) -> StartedAgent:
        """Starts an agent, which will connect to the driver; returns at once."""
