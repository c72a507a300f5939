"""Contention: how many collection partitions each executor holds (Stark, algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from pyrite.ids import ExecutorId, NamespaceId, NodeId, Partition, RddId
from pyrite.schedule.fleet import Executor, Fleet
from pyrite.schedule.kept import Kept

# Partition i of all RDDs of a namespace.
CollectionPartition = tuple[NamespaceId, int]
# How many RDDs somebody keeps of each collection partition.
Counts = dict[CollectionPartition, int]
T = TypeVar("T", ExecutorId, NodeId)


class CountedCopies(NamedTuple):
    """A kept partition as it was last counted."""

    of: CollectionPartition
    executors: tuple[ExecutorId, ...]
    nodes: tuple[NodeId, ...]


class Contention:
    """Counts the unique collection partitions of each executor: what it holds as live rows, and
    what its node has in blocks.

    Only partitions whose copies have changed are counted again.
    """

    def __init__(self, fleet: Fleet, kept: Kept, of_rdd: Mapping[RddId, NamespaceId]) -> None:
        self.fleet = fleet
        self.kept = kept
        self.of_rdd = of_rdd
        self._touched = kept.watch()
        self._counted: dict[Partition, CountedCopies] = {}
        self._live: dict[ExecutorId, Counts] = {}
        self._on_node: dict[NodeId, Counts] = {}
        # The number for each executor, until what it holds changes.
        self._sizes: dict[ExecutorId, int] = {}

    def count(self, executor: ExecutorId) -> int:
        """Returns the number of collection partitions that an executor holds."""
        self.settle()
        found = self.fleet.get(executor)
        return 0 if found is None else self._size(found)

    def counts(self) -> dict[ExecutorId, int]:
        """Returns the number for each executor."""
        self.settle()
        return {each.id: self._size(each) for each in self.fleet}

    def forget_executor(self, executor: ExecutorId) -> None:
        self._sizes.pop(executor, None)

    def settle(self) -> None:
        """Counts what has changed."""
        if self.of_rdd or self._counted:
            for partition in self._touched:
                self._recount(partition)
        self._touched.clear()

    def _size(self, executor: Executor) -> int:
        size = self._sizes.get(executor.id)
        if size is None:
            live, near = self._live.get(executor.id, {}), self._on_node.get(executor.node, {})
            size = len(live.keys() | near.keys()) if live and near else len(live or near)
            self._sizes[executor.id] = size
        return size

    def _recount(self, partition: Partition) -> None:
        before, now = self._counted.get(partition), self._now(partition)
        if before == now:
            return
        if before is not None:
            del self._counted[partition]
            uncount(self._live, before.executors, before.of)
            uncount(self._on_node, before.nodes, before.of)
            self._outdate(before)
        if now is not None:
            self._counted[partition] = now
            count(self._live, now.executors, now.of)
            count(self._on_node, now.nodes, now.of)
            self._outdate(now)

    def _now(self, partition: Partition) -> CountedCopies | None:
        namespace = self.of_rdd.get(partition.rdd)
        if namespace is None or not self.kept.is_there(partition):
            return None
        executors, nodes = self.kept.executors(partition), self.kept.block_nodes(partition)
        return CountedCopies((namespace, partition.index), tuple(executors), tuple(nodes))

    def _outdate(self, counted: CountedCopies) -> None:
        for executor in counted.executors:
            self._sizes.pop(executor, None)
        for node in counted.nodes:
            for each in self.fleet.on(node):
                self._sizes.pop(each.id, None)


def count(held: dict[T, Counts], holders: Iterable[T], of: CollectionPartition) -> None:
    for each in holders:
        counts = held.setdefault(each, {})
        counts[of] = counts.get(of, 0) + 1


def uncount(held: dict[T, Counts], holders: Iterable[T], of: CollectionPartition) -> None:
    for each in holders:
        counts = held[each]
        counts[of] -= 1
        if not counts[of]:
            del counts[of]
        if not counts:
            del held[each]
