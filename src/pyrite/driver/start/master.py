"""Master URLs: where an application runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pyrite.capacity import Machine, usable_cores
from pyrite.errors import Refused
from pyrite.quantities import parse_bytes

if TYPE_CHECKING:
    from pyrite.cluster.sim.world import World

LOCAL = re.compile(r"local(?:\[\s*(\*|\d+)\s*(?:,\s*(\d+)\s*)?\])?")
LOCAL_CLUSTER = re.compile(
    r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*([^,\]]+?)\s*(?:,\s*([^,\]]+?)\s*)?\]"
)
STORAGE = re.compile(r"(?:(\d+)\s*x\s*)?(\S+)")
RAY = re.compile(r"ray(?:\[\s*(\S+?)\s*\])?")
SIM = re.compile(r"sim(?:\[(.*)\])?")
SIM_ARGUMENTS = {"seed": 0, "nodes": 3, "executors": 2, "faults": 10}


class Master(NamedTuple):
    """A parsed master URL; a simulated cluster has a world."""

    executors: int
    max_failures: int | None
    world: World | None = None
    # For local-cluster: the number of nodes, and the memory of each.
    nodes: int = 1
    memory_bytes: int | None = None
    # The pools of its storage-only nodes.
    storage: tuple[int, ...] = ()
    # For Ray: the address of the cluster; empty for the one that is found, or started.
    ray: str | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether functions that raise are called again, as on Spark's clusters."""
        return self.world is not None or self.ray is not None

    @property
    def is_served(self) -> bool:
        """Whether it has nodes that read each other's blocks."""
        return self.memory_bytes is not None or self.ray is not None


def parse_master(url: str, world: str | None = None) -> Master:
    """Parses `local`, `local[4]`, `local[*]`, `local[4,2]` (a task may fail once),
    `local-cluster[3,1,512m]` (nodes, executors and memory of each),
    `local-cluster[3,1,512m,2x1g]` (and two storage-only nodes),
    `ray`, `ray[10.0.0.5:6379]`, and `sim[seed=7,nodes=3,executors=2,faults=10]`,
    which `world` overrides."""
    url = url.strip()
    if (found := LOCAL.fullmatch(url)) is not None and found[1] != "0":
        count, failures = found.groups()
        executors = usable_cores() if count == "*" else int(count or 1)
        return Master(executors, None if failures is None else int(failures))
    if (found := LOCAL_CLUSTER.fullmatch(url)) is not None:
        return parse_local_cluster(url, *found.groups())
    if (found := RAY.fullmatch(url)) is not None:
        # How many executors there are is known once the cluster is joined.
        return Master(1, None, ray=ray_address(url, found[1] or ""))
    if url.startswith("ray://"):
        raise Refused(
            f"the master {url!r} is an address of Ray's client, and nodes must reach the driver: "
            "send the program to the cluster with pyrite submit --ray ADDRESS script.py"
        )
    if (found := SIM.fullmatch(url)) is not None:
        from pyrite.cluster.sim.world import World

        made = World.from_json(world) if world else parse_world(url, found[1] or "")
        return Master(made.executors, None, made)
    raise Refused(
        f"the master {url!r} is not one that Pyrite knows: "
        "use local, local[4] (four executors), local[*] (one per core), "
        "local[4,3] (each task may fail twice before its job does), "
        "local-cluster[3,1,512m] (three nodes of one executor and 512 MB), "
        "local-cluster[3,1,512m,2x1g] (and two that only lend 1 GB each), "
        "ray (the Ray cluster of this machine), ray[10.0.0.5:6379] (that one), "
        "or sim[seed=7] (a simulated cluster with faults)"
    )


def ray_address(url: str, address: str) -> str:
    """The address in `ray[HOST:PORT]`; empty in `ray`."""
    host, _, port = address.rpartition(":")
    if address and (not host or not port.isdigit()):
        raise Refused(f"the master {url!r} has no address: use ray[10.0.0.5:6379], or ray alone")
    return address


def machine_of(master: Master) -> Machine:
    """The machine from which the defaults of a node's memory are computed."""
    machine = Machine.here(master.executors // master.nodes)
    if master.memory_bytes is not None:
        machine = machine._replace(memory_bytes=master.memory_bytes)
    return machine


def parse_local_cluster(
    url: str, nodes: str, executors: str, memory: str, storage: str | None
) -> Master:
    try:
        memory_bytes = parse_bytes(memory, bare_unit="m")
        lent = parse_storage(storage) if storage is not None else ()
    except ValueError as error:
        raise Refused(f"the master {url!r}: {error}") from error
    if not int(nodes) or not int(executors):
        raise Refused(f"the master {url!r} has no executors: use 1 of each at least")
    total = int(nodes) * int(executors)
    return Master(total, None, nodes=int(nodes), memory_bytes=memory_bytes, storage=lent)


def parse_storage(text: str) -> tuple[int, ...]:
    """The pools of storage-only nodes: `1g`, or `2x1g` for two of them."""
    found = STORAGE.fullmatch(text)
    assert found is not None
    count, size = found.groups()
    return (parse_bytes(size, bare_unit="m"),) * int(count or 1)


def parse_world(url: str, text: str) -> World:
    from pyrite.cluster.sim.world import calm_world, with_faults

    chosen = dict(SIM_ARGUMENTS)
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = map(str.strip, part.partition("="))
        if name not in chosen or not value.isdigit():
            known = ",".join(f"{name}={value}" for name, value in SIM_ARGUMENTS.items())
            raise Refused(f"{part!r} in the master {url!r} is not known: use sim[{known}]")
        chosen[name] = int(value)
    if not chosen["nodes"] or not chosen["executors"]:
        raise Refused(f"the master {url!r} has no executors: use 1 of each at least")
    world = calm_world(chosen["seed"], chosen["nodes"], chosen["executors"])
    return with_faults(world, chosen["faults"])
