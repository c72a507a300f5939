"""A node of a Ray cluster, as Ray lists it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

STORAGE_RESOURCE = "pyrite_storage"
STORAGE_LABEL = "pyrite.role"


class RayNode(NamedTuple):
    """What a node has, and what of it nobody holds."""

    id: str
    host: str
    cpus: int
    free_cpus: int
    memory_bytes: int
    free_memory_bytes: int
    # What Ray's object store may still take, of shared memory.
    free_store_bytes: int
    # Its pool is lent to others, and it runs no tasks.
    storage_only: bool


def alive_nodes(ray: ModuleType) -> list[RayNode]:
    """The nodes that Ray takes for alive, the driver's first."""
    from ray._private.state import available_resources_per_node

    free = available_resources_per_node()
    here = ray.get_runtime_context().get_node_id()
    nodes = [each for each in ray.nodes() if each["Alive"]]
    nodes.sort(key=lambda each: (each["NodeID"] != here, each["NodeID"]))
    return [ray_node(each, free.get(each["NodeID"], {})) for each in nodes]


def draining_nodes() -> dict[str, float | None]:
    """The nodes that Ray drains, and in how many seconds they go; None where nothing says."""
    from ray._private.state import state

    now_s = time.time()
    return {
        id: deadline_ms / 1000 - now_s if deadline_ms else None
        for id, deadline_ms in state.get_draining_nodes().items()
    }


def ray_node(listed: Mapping[str, Any], free: Mapping[str, float]) -> RayNode:
    has = listed["Resources"]
    labels = listed.get("Labels") or {}
    return RayNode(
        listed["NodeID"],
        listed["NodeManagerAddress"],
        int(has.get("CPU", 0)),
        int(free.get("CPU", 0)),
        int(has.get("memory", 0)),
        int(free.get("memory", 0)),
        int(free.get("object_store_memory", 0)),
        STORAGE_RESOURCE in has or labels.get(STORAGE_LABEL) == "storage",
    )


def driver_host(ray: ModuleType) -> str:
    """The address at which other nodes reach the driver."""
    here = ray.get_runtime_context().get_node_id()
    return str(next(each["NodeManagerAddress"] for each in ray.nodes() if each["NodeID"] == here))
