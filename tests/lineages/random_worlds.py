"""Random clusters for the simulator, with and without faults."""

from __future__ import annotations

import json
from random import Random

from pyrite.cluster.sim.world import Fault, NodePlan, World, random_fault

# How long nodes are cut off; they are given up after 0.05, 0.5 or 5.
LASTING_S = (0.02, 0.08, 0.3, 2.0, 8.0)


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
    spoilt_prefetched = dice.choice((0.0, 0.0, 0.1, 0.5))
    return world._replace(nodes=tuple(nodes), spoilt_prefetched=spoilt_prefetched)


def restarting(world: World) -> World:
    """The same cluster, whose driver restarts now and then, by the world's seed."""
    dice = Random(f"restarts {world.seed}")
    number = dice.choice((0, 0, 0, 0, 1, 3))
    restarts = [Fault("restart driver", dice.randrange(100)) for _ in range(number)]
    return world._replace(faults=tuple(sorted((*world.faults, *restarts))))


def draining(world: World) -> World:
    """The same cluster, some of whose nodes with executors are asked to leave, by its seed."""
    dice = Random(f"drains {world.seed}")
    number = dice.choice((0, 0, 0, 1, 2))
    drains = [
        Fault("drain node", dice.randrange(100), dice.randrange(100), 0.0, dice.choice((0.05, 1.0)))
        for _ in range(number)
    ]
    return world._replace(faults=tuple(sorted((*world.faults, *drains))))


def parting(world: World) -> World:
    """The same cluster, some of whose nodes lose the driver for a while, by its seed."""
    dice = Random(f"cuts {world.seed}")
    number = dice.choice((0, 0, 0, 1, 3))
    cuts = [
        Fault("cut node", dice.randrange(100), dice.randrange(100), 0.0, dice.choice(LASTING_S))
        for _ in range(number)
    ]
    return world._replace(faults=tuple(sorted((*world.faults, *cuts))))


def world_json(world: World) -> str:
    """What the setting pyrite.sim.world takes."""
    nodes = [node._asdict() for node in world.nodes]
    faults = [fault._asdict() for fault in world.faults]
    return json.dumps({**world._asdict(), "nodes": nodes, "faults": faults})
