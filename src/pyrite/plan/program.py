"""The narrow part of a stage, flattened: what an executor runs and what the scheduler looks at.

RDDs refer to each other through thousands of steps; a flat list with indices can be pickled,
walked and freed without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.ids import Partition, RddId, ShuffleId
from pyrite.rdd.dependency import Mapping as PartitionMapping
from pyrite.rdd.dependency import NarrowDependency, ShuffleDependency
from pyrite.rdd.op import Op

if TYPE_CHECKING:
    from pyrite.rdd.base import Lineage


class NarrowInput(NamedTuple):
    """A parent within the same stage: its place in the list, and which partitions are read."""

    node: int
    mapping: PartitionMapping


class ShuffleInput(NamedTuple):
    """A shuffle that the stage reads."""

    shuffle: ShuffleId


StageInput = NarrowInput | ShuffleInput


class Node(NamedTuple):
    """One RDD of the stage; parents come before children."""

    rdd: RddId
    inputs: tuple[StageInput, ...]
    partitions: int
    # The nodes that each partition would like to be computed on, where the operator says so.
    locations: tuple[tuple[str, ...], ...] = ()


class Shape:
    """The stage's RDDs without their functions: enough to place tasks and find parents."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.partitions = {node.rdd: node.partitions for node in nodes}
        self.rdds = self.partitions.keys()
        self.has_locations = any(node.locations for node in nodes)
        self.shuffles = tuple(
            dict.fromkeys(
                each.shuffle
                for node in nodes
                for each in node.inputs
                if isinstance(each, ShuffleInput)
            )
        )

    def needed_shuffles(
        self, count_kept: Callable[[RddId], int], kept: Collection[RddId]
    ) -> tuple[ShuffleId, ...]:
        """The shuffles that must be there, when whole cached RDDs hide what lies behind them."""
        if self.rdds.isdisjoint(kept):
            return self.shuffles
        found: dict[ShuffleId, None] = {}
        seen = set()
        pending = [len(self.nodes) - 1]
        while pending:
            place = pending.pop()
            node = self.nodes[place]
            if place in seen or (node.rdd in kept and count_kept(node.rdd) == node.partitions):
                continue
            seen.add(place)
            for each in node.inputs:
                if isinstance(each, ShuffleInput):
                    found[each.shuffle] = None
                else:
                    pending.append(each.node)
        return tuple(found)

    def shuffle_parts(
        self, index: int, kept: Collection[RddId], is_there: Callable[[Partition], bool]
    ) -> Iterator[tuple[ShuffleId, int]]:
        """The parts of shuffles that the task for `index` would read; none behind kept rows."""
        pending = [(len(self.nodes) - 1, index)]
        while pending:
            place, position = pending.pop()
            node = self.nodes[place]
            if node.rdd in kept and is_there(Partition(node.rdd, position)):
                continue
            for each in node.inputs:
                if isinstance(each, ShuffleInput):
                    yield each.shuffle, position
                else:
                    parents = each.mapping.parents(position)
                    pending.extend((each.node, parent) for parent in parents)

    def preferred_locations(self, index: int) -> Iterator[str]:
        """The nodes that the task for `index` would like to run on, by what it reads."""
        pending = [(len(self.nodes) - 1, index)]
        while pending:
            place, position = pending.pop()
            node = self.nodes[place]
            if node.locations:
                yield from node.locations[position]
            for each in node.inputs:
                if isinstance(each, NarrowInput):
                    parents = each.mapping.parents(position)
                    pending.extend((each.node, parent) for parent in parents)

    def kept_partitions(
        self, index: int, kept: Collection[RddId], is_there: Callable[[Partition], bool]
    ) -> Iterator[Partition]:
        """The kept partitions that the task for `index` would come upon.

        It looks behind one that is not there, and not behind one that is.
        """
        pending = [(len(self.nodes) - 1, index)]
        while pending:
            place, position = pending.pop()
            node = self.nodes[place]
            if node.rdd in kept:
                partition = Partition(node.rdd, position)
                yield partition
                if is_there(partition):
                    continue
            for each in node.inputs:
                if isinstance(each, NarrowInput):
                    parents = each.mapping.parents(position)
                    pending.extend((each.node, parent) for parent in parents)


class Program(NamedTuple):
    """What an executor needs to compute a partition of a stage."""

    nodes: list[Node]
    ops: list[Op]
    barrier: bool = False


def flatten(rdd: Lineage[Any]) -> tuple[Program, Mapping[ShuffleId, ShuffleDependency]]:
    """Flattens the RDDs that one stage computes, down to its sources and shuffles."""
    places: dict[int, int] = {}
    nodes: list[Node] = []
    ops: list[Op] = []
    shuffles: dict[ShuffleId, ShuffleDependency] = {}
    barrier = False
    pending: list[tuple[Lineage[Any], bool]] = [(rdd, False)]
    while pending:
        current, ready = pending.pop()
        if current.id() in places:
            continue
        if not ready:
            pending.append((current, True))
            for dependency in current.dependencies:
                if isinstance(dependency, NarrowDependency):
                    pending.append((dependency.rdd, False))
            continue
        inputs: list[StageInput] = []
        for dependency in current.dependencies:
            if isinstance(dependency, ShuffleDependency):
                shuffles[dependency.shuffle] = dependency
                inputs.append(ShuffleInput(dependency.shuffle))
            else:
                inputs.append(NarrowInput(places[dependency.rdd.id()], dependency.mapping))
        places[current.id()] = len(nodes)
        partitions = current.getNumPartitions()
        locations = preferred_locations(current.op, partitions)
        nodes.append(Node(current._id, tuple(inputs), partitions, locations))
        ops.append(current.op)
        barrier = barrier or current._barrier
    return Program(nodes, ops, barrier), shuffles


def preferred_locations(op: Op, partitions: int) -> tuple[tuple[str, ...], ...]:
    """Where the operator would like each partition to be computed; nothing where it never says."""
    if type(op).preferred_locations is Op.preferred_locations:
        return ()
    return tuple(tuple(op.preferred_locations(index)) for index in range(partitions))
