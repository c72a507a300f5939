"""Starts clusters of this machine's processes: one node, or several."""

from __future__ import annotations

from collections.abc import Sequence

from pyrite.cluster.local.agentprocess import LocalStarter, NodeShape
from pyrite.cluster.local.forkserverprocess import ForkServerProcess
from pyrite.cluster.node.watch import PING_S
from pyrite.cluster.port import StageSource
from pyrite.cluster.real.cluster import RealCluster
from pyrite.cluster.real.setup import ManyNodes, OneNode, RealSetup
from pyrite.execute.limits import WorkerLimits
from pyrite.remote.process import LOOPBACK


def start_one_node(
    source: StageSource,
    setup: RealSetup,
    executors: int,
    limits: WorkerLimits,
    environment: dict[str, str],
) -> RealCluster:
    """All executors are on the driver's node."""
    return RealCluster(
        source,
        setup,
        OneNode(
            executors,
            lambda storage, poll: ForkServerProcess(storage, limits, environment, poll),
        ),
    )


def start_many_nodes(
    source: StageSource,
    setup: RealSetup,
    shape: NodeShape,
    nodes: int,
    storage_bytes: Sequence[int],
    limits: WorkerLimits,
    environment: dict[str, str],
) -> RealCluster:
    """Several nodes of one shape on this machine, each as separate as machines would be, and
    storage-only ones with pools of these sizes."""
    starter = LocalStarter(environment, limits, shape)
    plans = [starter.plan() for _ in range(nodes)]
    plans += [starter.storage_plan(each) for each in storage_bytes]
    # On one machine the ends of processes are seen at once: only stopped ones are silent, and a
    # stopped driver goes on with its agents.
    patience_s = setup.timeout_s
    ping_s = min(PING_S, patience_s / 4)
    setting = "spark.network.timeout"
    way = ManyNodes(starter, tuple(plans), LOOPBACK, LOOPBACK, patience_s, ping_s, None, setting)
    return RealCluster(source, setup, way)
