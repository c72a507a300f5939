"""Kept partitions: which executors hold their live rows, and where their bytes lie."""

from __future__ import annotations

from collections.abc import Iterable

from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId


class Kept:
    """Where the partitions of persisted RDDs are."""

    def __init__(self) -> None:
        self.live: dict[RddId, dict[int, list[ExecutorId]]] = {}
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

    def drop_live(self, partition: Partition, executor: ExecutorId) -> None:
        indices = self.live.get(partition.rdd)
        if indices is None or executor not in indices.get(partition.index, ()):
            return
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
        for rdd in list(self.live):
            for index in list(self.live[rdd]):
                self.drop_live(Partition(rdd, index), executor)
                if rdd not in self.live:
                    break

    def forget_node(self, node: NodeId) -> None:
        """The blocks that lay on a node are gone."""
        for rdd in list(self.blocks):
            left = {i: ref for i, ref in self.blocks[rdd].items() if ref.node != node}
            if left:
                self.blocks[rdd] = left
            else:
                del self.blocks[rdd]

    def forget_rdd(self, rdd: RddId) -> Iterable[BlockRef]:
        self.live.pop(rdd, None)
        return self.blocks.pop(rdd, {}).values()

    def count(self, rdd: RddId) -> int:
        """How many partitions of the RDD are somewhere."""
        return len(self.live.get(rdd, {}).keys() | self.blocks.get(rdd, {}).keys())
