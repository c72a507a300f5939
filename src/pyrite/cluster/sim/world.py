"""A simulated cluster as data: its nodes, its delays, and its faults."""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

from pyrite.errors import UserError

# The kinds of faults (see faults.py), and their weights: some seldom hit anything.
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
    "drain node": 0,
    # Drawn separately, too.
    "cut node": 0,
    # Drawn separately, so that it does not change the other faults.
    "restart driver": 0,
}


class NodePlan(NamedTuple):
    """One host; a storage-only one has no executors."""

    executors: int
    pool_bytes: int
    speed: float = 1.0


class Fault(NamedTuple):
    """A fault some time after the n-th event; `number` chooses the node or executor."""

    kind: str
    event: int
    number: int = 0
    delay_s: float = 0.0
    lasting_s: float = 0.0


class World(NamedTuple):
    """Everything about a simulated cluster; with the program it determines the whole run."""

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
    # The driver gives up a node after so long without a message.
    lost_after_s: float = 1.0
    # The shares of final messages that arrive twice, and of a dead executor's that arrive late.
    doubled_words: float = 0.0
    late_words: float = 0.0
    # The share of prefetched segments that are corrupted or removed.
    spoilt_prefetched: float = 0.0
    # How long nodes take that come because executors are wanted, and the share that never come.
    join_s: float = 0.05
    absent_nodes: float = 0.0
    # A run with more events is taken for endless.
    most_events: int = 100_000_000

    @property
    def executors(self) -> int:
        return sum(node.executors for node in self.nodes)

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
    """The same cluster with so many early faults, drawn by the world's seed."""
    dice = Random(f"faults {world.seed}")
    return world._replace(faults=tuple(sorted(random_fault(dice, 400) for _ in range(number))))


def random_fault(dice: Random, latest_event: int) -> Fault:
    return Fault(
        dice.choices(list(KINDS), list(KINDS.values()))[0],
        event=dice.randrange(latest_event),
        number=dice.randrange(1000),
        delay_s=dice.choice((0.0, 0.0, 0.0001, 0.001, 0.01, 0.1)),
        lasting_s=dice.choice((0.001, 0.02, 0.2, 2.0, 10.0)),
    )
