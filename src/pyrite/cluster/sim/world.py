"""A simulated cluster as data: its nodes, how words travel, and what goes wrong when."""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

from pyrite.errors import UserError

# What can go wrong (faults.py says how), and how often it does: some seldom hit anything.
KINDS = {
    "kill executor": 4,
    "crash node": 4,
    "flap node": 3,
    "slow node": 3,
    "hang node": 4,
    "lose node": 4,
    "corrupt block": 6,
    "delete segment": 6,
    "truncate segment": 4,
    "fill disk": 3,
    "fill memory": 3,
    "fail starts": 1,
    # Drawn for crowded worlds only.
    "add storage": 0,
    "remove storage": 0,
    # Drawn apart: whatever else happens, it changes nothing.
    "restart driver": 0,
}


class NodePlan(NamedTuple):
    """One host; a storage-only one has no executors."""

    executors: int
    pool_bytes: int
    speed: float = 1.0


class Fault(NamedTuple):
    """Something goes wrong a while after the n-th event; numbers choose among what is there."""

    kind: str
    event: int
    number: int = 0
    delay_s: float = 0.0
    lasting_s: float = 0.0


class World(NamedTuple):
    """Everything about a simulated cluster; with the program it makes the whole run."""

    seed: int
    nodes: tuple[NodePlan, ...]
    faults: tuple[Fault, ...] = ()
    driver_pool_bytes: int = 1 << 30
    segment_bytes: int = 16 << 20
    chunk_rows: int = 4096
    spill_chance: float = 0.0
    latency_s: float = 0.0005
    task_s: float = 0.02
    start_s: float = 0.01
    # The driver gives a node up when it has not heard of it for so long.
    lost_after_s: float = 1.0
    # The share of last words that come twice, and of a dead executor's that come too late.
    doubled_words: float = 0.0
    late_words: float = 0.0
    # The share of parcels that something happens to before long.
    spoilt_parcels: float = 0.0
    # More of them are taken for a sign that there is no end.
    most_events: int = 100_000_000

    @property
    def executors(self) -> int:
        return sum(node.executors for node in self.nodes)

    def to_json(self) -> str:
        nodes = [node._asdict() for node in self.nodes]
        faults = [fault._asdict() for fault in self.faults]
        return json.dumps({**self._asdict(), "nodes": nodes, "faults": faults})

    @classmethod
    def from_json(cls, text: str) -> World:
        try:
            fields: dict[str, Any] = json.loads(text)
            nodes = tuple(NodePlan(**node) for node in fields.pop("nodes"))
            faults = tuple(Fault(**fault) for fault in fields.pop("faults", ()))
            return checked(cls(nodes=nodes, faults=faults, **fields))
        except UserError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"pyrite.sim.world is not the JSON of a world: {error}") from error


def checked(world: World) -> World:
    if not world.executors:
        raise UserError("a simulated cluster needs an executor on one of its nodes at least")
    for fault in world.faults:
        if fault.kind not in KINDS:
            raise UserError(f"no fault {fault.kind!r}: there are {', '.join(KINDS)}")
    return world


def calm_world(seed: int, nodes: int = 3, executors: int = 2) -> World:
    """A cluster on which nothing goes wrong."""
    return World(seed, tuple(NodePlan(executors, 1 << 30) for _ in range(nodes)))


def with_faults(world: World, number: int) -> World:
    """The same cluster with so many faults, by the world's seed, early on."""
    dice = Random(f"faults {world.seed}")
    return world._replace(faults=tuple(sorted(random_fault(dice, 400) for _ in range(number))))


def random_world(dice: Random, seed: int) -> World:
    """A small cluster of any shape, with or without faults."""
    nodes = [
        NodePlan(
            executors=dice.choice((1, 1, 1, 2, 2, 3)),
            pool_bytes=dice.choice((0, 1 << 12, 1 << 15, 1 << 17, 1 << 30)),
            speed=dice.choice((1.0, 1.0, 1.0, 0.5, 2.0)),
        )
        for _ in range(dice.choice((1, 1, 2, 2, 3, 4)))
    ]
    if dice.random() < 0.2:
        nodes.append(NodePlan(0, dice.choice((0, 1 << 15, 1 << 30))))
    number = dice.choice((0, 1, 2, 3, 5, 8, 13, 20))
    latest = dice.choice((10, 40, 100, 200))
    return World(
        seed,
        tuple(nodes),
        tuple(sorted(random_fault(dice, latest) for _ in range(number))),
        driver_pool_bytes=dice.choice((0, 1 << 12, 1 << 30)),
        segment_bytes=dice.choice((256, 1 << 10, 1 << 12, 1 << 16)),
        chunk_rows=dice.choice((1, 3, 4096)),
        spill_chance=dice.choice((0.0, 0.0, 0.05, 0.5)),
        latency_s=dice.choice((0.0001, 0.001, 0.02)),
        task_s=dice.choice((0.001, 0.01, 0.1)),
        start_s=dice.choice((0.001, 0.01, 0.5)),
        lost_after_s=dice.choice((0.05, 0.5, 5.0)),
        doubled_words=dice.choice((0.0, 0.0, 0.05)),
        late_words=dice.choice((0.0, 0.5)),
        most_events=30_000,
    )


def crowded(dice: Random, world: World) -> World:
    """The same cluster with pools of the size of a few partitions, and nodes that only lend."""
    sizes = (0, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13)
    nodes = [node._replace(pool_bytes=dice.choice(sizes)) for node in world.nodes]
    nodes += [NodePlan(0, dice.choice(sizes)) for _ in range(dice.choice((0, 1, 1, 2)))]
    latest = dice.choice((20, 60, 150))
    changes = [
        random_fault(dice, latest)._replace(kind=dice.choice(("add storage", "remove storage")))
        for _ in range(dice.choice((0, 0, 1, 3)))
    ]
    return world._replace(
        nodes=tuple(nodes),
        faults=tuple(sorted((*world.faults, *changes))),
        segment_bytes=dice.choice((1 << 8, 1 << 10, 1 << 12)),
    )


def spread(dice: Random, world: World) -> World:
    """The same cluster on several nodes that have few executors each, and room in their pools."""
    sizes = (1 << 12, 1 << 13, 1 << 15, 1 << 17, 1 << 30)
    nodes = list(world.nodes)
    while sum(node.executors > 0 for node in nodes) < 2:
        nodes.append(NodePlan(dice.choice((1, 1, 2)), 0))
    nodes = [node._replace(pool_bytes=dice.choice(sizes)) for node in nodes]
    spoilt_parcels = dice.choice((0.0, 0.0, 0.1, 0.5))
    return world._replace(nodes=tuple(nodes), spoilt_parcels=spoilt_parcels)


def restarting(world: World) -> World:
    """The same cluster, whose driver restarts now and then, by the world's seed."""
    dice = Random(f"restarts {world.seed}")
    number = dice.choice((0, 0, 0, 0, 1, 3))
    restarts = [Fault("restart driver", dice.randrange(100)) for _ in range(number)]
    return world._replace(faults=tuple(sorted((*world.faults, *restarts))))


def random_fault(dice: Random, latest_event: int) -> Fault:
    return Fault(
        dice.choices(list(KINDS), list(KINDS.values()))[0],
        event=dice.randrange(latest_event),
        number=dice.randrange(1000),
        delay_s=dice.choice((0.0, 0.0, 0.0001, 0.001, 0.01, 0.1)),
        lasting_s=dice.choice((0.001, 0.02, 0.2, 2.0, 10.0)),
    )
