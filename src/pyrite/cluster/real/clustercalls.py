"""What a starter of agents tells its cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from pyrite.cluster.real.nodes import AgentPlan, Nodes
from pyrite.ids import NodeId
from pyrite.schedule import events as ev
from pyrite.schedule.events import Event


class ClusterCalls(NamedTuple):
    """What a starter tells the cluster, from any thread."""

    # Start one more node.
    begin: Callable[[AgentPlan], None]
    # A node has to leave, at the latest so many seconds from now.
    leaves: Callable[[NodeId, float | None], None]
    # A lost node will not be back.
    withdrawn: Callable[[NodeId], None]


def calls_to(
    nodes: Nodes, call: Callable[[Callable[[], None]], None], post: Callable[[Event], None]
) -> ClusterCalls:
    """The calls of a cluster: the loop's thread starts nodes, and the scheduler hears the rest."""

    def leaves(node: NodeId, in_s: float | None) -> None:
        # By the clock of `RealCluster.now_s`.
        post(ev.NodeLeaves(node, None if in_s is None else time.monotonic() + in_s))

    return ClusterCalls(
        lambda plan: call(lambda: nodes.begin(plan)),
        leaves,
        lambda node: post(ev.NodeWithdrawn(node)),
    )
