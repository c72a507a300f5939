"""Starts an engine's cluster on Ray: sizes of nodes, ports, patience."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrite.capacity import Machine
from pyrite.cluster.real.cluster import RealCluster
from pyrite.driver.engine.knownstages import KnownStages
from pyrite.driver.start import start
from pyrite.driver.start.allocating import allocation_rule
from pyrite.driver.start.master import Master
from pyrite.execute.limits import WorkerLimits
from pyrite.settings import Settings

if TYPE_CHECKING:
    from pyrite.cluster.ray.members import NodeSizes
    from pyrite.cluster.ray.raynode import RayNode


def start_on_ray(
    master: Master, stages: KnownStages, limits: WorkerLimits, settings: Settings
) -> RealCluster:
    """Joins the Ray cluster and starts agents on its nodes."""
    from pyrite.cluster.ray.session import Session
    from pyrite.cluster.ray.start import RayPorts, start_ray

    start.check_limits(limits, settings)
    session = Session(master.ray or "")
    try:
        return start_ray(
            session,
            stages,
            start.real_setup(limits, settings),
            lambda node: sizes_of(node, settings),
            start.executor_environment(settings),
            RayPorts(settings.int("spark.driver.port"), settings.int("spark.blockManager.port")),
            settings.seconds("pyrite.node.timeout"),
            allocation_rule(master, settings),
        )
    except BaseException:
        session.close()
        raise


def sizes_of(node: RayNode, settings: Settings) -> NodeSizes:
    """What a node lends: executors by its free cores, memory by its own size."""
    from pyrite.cluster.ray.members import NodeSizes

    executors = 0 if node.storage_only else node.free_cpus
    own = settings.on(Machine(node.memory_bytes, max(1, executors)))
    limits = start.executor_limits(own)._replace(size_report_bytes=0)
    return NodeSizes(executors, own.bytes("pyrite.pool.memory"), limits)
