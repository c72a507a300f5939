"""Starts a cluster on Ray."""

from __future__ import annotations

import time
from typing import NamedTuple

from pyrite.cluster.port import StageSource
from pyrite.cluster.ray.members import RayMembers, SizeOf
from pyrite.cluster.ray.raynode import driver_host
from pyrite.cluster.ray.session import Session
from pyrite.cluster.ray.starter import RayStarter
from pyrite.cluster.real.cluster import RealCluster
from pyrite.cluster.real.nodes import Nodes
from pyrite.cluster.real.setup import ManyNodes, RealSetup
from pyrite.schedule.rules import AllocationRule

# How long the start waits for nodes when there is one already that can run tasks.
OTHERS_S = 10.0


class RayPorts(NamedTuple):
    """The ports at which driver and nodes listen; 0 is one that the kernel chooses."""

    driver: int
    blocks: int


def start_ray(
    session: Session,
    source: StageSource,
    setup: RealSetup,
    size_of: SizeOf,
    environment: dict[str, str],
    ports: RayPorts,
    patience_s: float,
    rule: AllocationRule | None = None,
) -> RealCluster:
    """Starts an agent on every node of the cluster, or on as many as are wanted; returns once
    executors can be had."""
    ray = session.ray
    members = RayMembers(ray, size_of, ports.blocks, rule)
    plans = members.first(session.address())
    hosts = [plan for plan in plans if plan.executors]
    starter = RayStarter(ray, environment, members)
    host = driver_host(ray)
    begun_s = time.monotonic()

    def is_ready(nodes: Nodes) -> bool:
        members.check_start()
        greeted = [each for each in nodes.started.values() if each.node is not None]
        usable = not hosts or any(each.plan.executors for each in greeted)
        late = time.monotonic() - begun_s > OTHERS_S
        return usable and (late or len(greeted) >= len(plans))

    def is_over() -> None:
        starter.close()
        session.close()

    way = ManyNodes(
        starter,
        tuple(plans),
        (host, ports.driver),
        (host, ports.blocks),
        patience_s,
        # A silent node is given up at the last ping of so many.
        patience_s / 10,
        # Longer than nodes may be silent: a program that keeps the interpreter to itself for
        # seconds silences the driver's loop. A node that was given up is fenced without it.
        max(patience_s, setup.timeout_s),
        "pyrite.node.timeout",
        is_ready,
        is_over,
    )
    return RealCluster(source, setup, way)
