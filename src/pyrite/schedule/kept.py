"""Kept partitions: which executors hold their live rows, and where their blocks are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView

from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId


class Kept:
    """The locations of all kept partitions."""

    def __init__(self) -> None:
        self._live: dict[RddId, dict[int, list[ExecutorId]]] = {}
        self._held: dict[ExecutorId, dict[Partition, None]] = {}
        self._blocks: dict[RddId, dict[int, BlockRef]] = {}
        self._in_segment: dict[str, dict[Partition, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._live or self._blocks)

    def ids(self) -> set[RddId]:
        """The RDDs that have a kept partition, live or as a block."""
        return self._live.keys() | self._blocks.keys()

    def live_rdds(self) -> KeysView[RddId]:
        """The RDDs that have a partition held as live rows."""
        return self._live.keys()

    def block_rdds(self) -> KeysView[RddId]:
        """The RDDs that have a partition in a block."""
        return self._blocks.keys()

    def blocks_of(self, rdd: RddId) -> Iterable[BlockRef]:
        return self._blocks[rdd].values()

    def all_blocks(self) -> Iterator[tuple[Partition, BlockRef]]:
        for rdd, blocks in self._blocks.items():
            for index, ref in blocks.items():
                yield Partition(rdd, index), ref

    def in_segment(self, segment: str) -> Iterable[Partition]:
        """The partitions whose blocks are in a segment."""
        return self._in_segment.get(segment, ())

    def executors(self, partition: Partition) -> list[ExecutorId]:
        return self._live.get(partition.rdd, {}).get(partition.index, [])

    def block(self, partition: Partition) -> BlockRef | None:
        return self._blocks.get(partition.rdd, {}).get(partition.index)

    def has_block(self, partition: Partition) -> bool:
        return self.block(partition) is not None

    def is_live(self, partition: Partition) -> bool:
        return bool(self.executors(partition))

    def is_there(self, partition: Partition) -> bool:
        return self.has_block(partition) or self.is_live(partition)

    def add_live(self, partition: Partition, executor: ExecutorId) -> None:
        holders = self._live.setdefault(partition.rdd, {}).setdefault(partition.index, [])
        if executor not in holders:
            holders.append(executor)
            self._held.setdefault(executor, {})[partition] = None

    def drop_live(self, partition: Partition, executor: ExecutorId) -> None:
        indices = self._live.get(partition.rdd)
        if indices is None or executor not in indices.get(partition.index, ()):
            return
        self._unhold(partition, executor)
        indices[partition.index].remove(executor)
        if not indices[partition.index]:
            del indices[partition.index]
        if not indices:
            del self._live[partition.rdd]

    def set_block(self, partition: Partition, ref: BlockRef) -> bool:
        """Records a partition's block; returns False where it has one already."""
        indices = self._blocks.setdefault(partition.rdd, {})
        if partition.index in indices:
            return False
        indices[partition.index] = ref
        self._in_segment.setdefault(ref.segment, {})[partition] = None
        return True

    def drop_block(self, partition: Partition, ref: BlockRef) -> bool:
        indices = self._blocks.get(partition.rdd)
        if indices is None or indices.get(partition.index) != ref:
            return False
        del indices[partition.index]
        if not indices:
            del self._blocks[partition.rdd]
        self._unlist(partition, ref)
        return True

    def drop_segment(self, segment: str) -> list[tuple[Partition, BlockRef]]:
        """Forgets the partitions in a segment, and returns them with their blocks."""
        dropped = []
        for partition in list(self._in_segment.get(segment, ())):
            ref = self._blocks[partition.rdd][partition.index]
            self.drop_block(partition, ref)
            dropped.append((partition, ref))
        return dropped

    def relocate(self, segment: str, target: Segment) -> None:
        """Points the blocks of a segment to its copy, at the same offsets."""
        moved = self._in_segment.pop(segment, None)
        if moved is None:
            return
        self._in_segment[target.name] = moved
        for rdd, index in moved:
            ref = self._blocks[rdd][index]
            self._blocks[rdd][index] = ref._replace(
                node=target.place, segment=target.name, medium=target.medium
            )

    def forget_executor(self, executor: ExecutorId) -> None:
        for partition in list(self._held.get(executor, ())):
            self.drop_live(partition, executor)

    def forget_node(self, node: NodeId) -> None:
        """Forgets the blocks of a lost node."""
        for rdd, indices in list(self._blocks.items()):
            for index, ref in list(indices.items()):
                if ref.node == node:
                    self.drop_block(Partition(rdd, index), ref)

    def forget_rdd(self, rdd: RddId) -> Iterable[BlockRef]:
        for index, holders in self._live.pop(rdd, {}).items():
            for executor in holders:
                self._unhold(Partition(rdd, index), executor)
        blocks = self._blocks.pop(rdd, {})
        for index, ref in blocks.items():
            self._unlist(Partition(rdd, index), ref)
        return blocks.values()

    def count(self, rdd: RddId) -> int:
        """Returns the number of the RDD's kept partitions."""
        live, blocks = self._live.get(rdd), self._blocks.get(rdd)
        if live is None or blocks is None:
            return len(live or blocks or ())
        return len(live.keys() | blocks.keys())

    def _unhold(self, partition: Partition, executor: ExecutorId) -> None:
        held = self._held[executor]
        del held[partition]
        if not held:
            del self._held[executor]

    def _unlist(self, partition: Partition, ref: BlockRef) -> None:
        listed = self._in_segment[ref.segment]
        del listed[partition]
        if not listed:
            del self._in_segment[ref.segment]
