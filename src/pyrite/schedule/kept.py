"""Kept partitions: which executors hold their live rows, and where their bytes lie."""

from __future__ import annotations

from collections.abc import Iterable

from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId


class Kept:
    """Where the partitions of persisted RDDs are."""

    def __init__(self) -> None:
        self.live: dict[RddId, dict[int, list[ExecutorId]]] = {}
        self.held: dict[ExecutorId, dict[Partition, None]] = {}
        self.blocks: dict[RddId, dict[int, BlockRef]] = {}

    def __bool__(self) -> bool:
        return bool(self.live or self.blocks)

    def executors(self, partition: Partition) -> list[ExecutorId]:
        return self.live.get(partition.rdd, {}).get(partition.index, [])

    def block(self, partition: Partition) -> BlockRef | None:
        return self.blocks.get(partition.rdd, {}).get(partition.index)

    def add_live(self, partition: Partition, executor: ExecutorId) -> None:
        holders = self.live.setdefault(partition.rdd, {}).setdefault(partition.index, [])
        if executor not in holders:
            holders.append(executor)
            self.held.setdefault(executor, {})[partition] = None

    def drop_live(self, partition: Partition, executor: ExecutorId) -> None:
        indices = self.live.get(partition.rdd)
        if indices is None or executor not in indices.get(partition.index, ()):
            return
        self._unhold(partition, executor)
        indices[partition.index].remove(executor)
        if not indices[partition.index]:
            del indices[partition.index]
        if not indices:
            del self.live[partition.rdd]

    def set_block(self, partition: Partition, ref: BlockRef) -> bool:
        """Remembers a partition's bytes; False where it has some already."""
        indices = self.blocks.setdefault(partition.rdd, {})
        return indices.setdefault(partition.index, ref) is ref

    def drop_block(self, partition: Partition, ref: BlockRef) -> bool:
        indices = self.blocks.get(partition.rdd)
        if indices is None or indices.get(partition.index) != ref:
            return False
        del indices[partition.index]
        if not indices:
            del self.blocks[partition.rdd]
        return True

    def forget_executor(self, executor: ExecutorId) -> None:
        for partition in list(self.held.get(executor, ())):
            self.drop_live(partition, executor)

    def forget_node(self, node: NodeId) -> None:
        """The blocks that lay on a node are gone."""
        for rdd in list(self.blocks):
            left = {i: ref for i, ref in self.blocks[rdd].items() if ref.node != node}
            if left:
                self.blocks[rdd] = left
            else:
                del self.blocks[rdd]

    def forget_rdd(self, rdd: RddId) -> Iterable[BlockRef]:
        for index, holders in self.live.pop(rdd, {}).items():
            for executor in holders:
                self._unhold(Partition(rdd, index), executor)
        return self.blocks.pop(rdd, {}).values()

    def count(self, rdd: RddId) -> int:
        """How many partitions of the RDD are somewhere."""
        live, blocks = self.live.get(rdd), self.blocks.get(rdd)
        if live is None or blocks is None:
            return len(live or blocks or ())
        return len(live.keys() | blocks.keys())

    def _unhold(self, partition: Partition, executor: ExecutorId) -> None:
        held = self.held[executor]
        del held[partition]
        if not held:
            del self.held[executor]
