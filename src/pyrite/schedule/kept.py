"""Kept partitions: which executors hold their live rows, and where their blocks are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView

from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId
from pyrite.probe import probe


class Kept:
    """The locations of all kept partitions."""

    def __init__(self) -> None:
        self._live: dict[RddId, dict[int, list[ExecutorId]]] = {}
        self._held: dict[ExecutorId, dict[Partition, None]] = {}
        # In order: a large partition takes several.
        self._blocks: dict[RddId, dict[int, tuple[BlockRef, ...]]] = {}
        self._in_segment: dict[str, dict[Partition, None]] = {}
        # Further copies of partitions in blocks, by the node that holds all of it.
        self._replicas: dict[Partition, dict[NodeId, tuple[BlockRef, ...]]] = {}
        self._replicas_on: dict[NodeId, dict[Partition, None]] = {}
        # The estimated bytes of live rows.
        self._live_bytes: dict[RddId, dict[int, int]] = {}
        # Grows with each change.
        self.changes = 0
        # The partitions whose copies have changed, for each who follows them.
        self._watchers: list[dict[Partition, None]] = []

    def __bool__(self) -> bool:
        return bool(self._live or self._blocks)

    def watch(self) -> dict[Partition, None]:
        """Returns a collection to which each partition is added whose copies change; whoever reads
        it empties it."""
        touched: dict[Partition, None] = {}
        self._watchers.append(touched)
        return touched

    def touch(self, rdd: RddId) -> None:
        """Has all partitions of an RDD looked at again: it belongs elsewhere now."""
        for indices in (self._live.get(rdd, ()), self._blocks.get(rdd, ())):
            for index in indices:
                self._touch(Partition(rdd, index))

    def _touch(self, partition: Partition) -> None:
        for touched in self._watchers:
            touched[partition] = None

    def ids(self) -> set[RddId]:
        """The RDDs that have a kept partition, live or as a block."""
        return self._live.keys() | self._blocks.keys()

    def live_rdds(self) -> KeysView[RddId]:
        """The RDDs that have a partition held as live rows."""
        return self._live.keys()

    def block_rdds(self) -> KeysView[RddId]:
        """The RDDs that have a partition in a block."""
        return self._blocks.keys()

    def sizes_of(self, rdd: RddId) -> Iterator[int]:
        """The bytes of each of the RDD's partitions that are in blocks."""
        return (sum(ref.length for ref in refs) for refs in self._blocks[rdd].values())

    def sizes_by_index(self, rdd: RddId) -> dict[int, int]:
        """The bytes of each of the RDD's kept partitions."""
        sizes = dict(self._live_bytes.get(rdd, {}))
        for index, refs in self._blocks.get(rdd, {}).items():
            sizes[index] = sum(ref.length for ref in refs)
        return sizes

    def live_of(self, rdd: RddId) -> Iterable[tuple[int, list[ExecutorId]]]:
        """The RDD's partitions that are held as live rows, and who holds them."""
        return self._live.get(rdd, {}).items()

    def blocks_of(self, rdd: RddId) -> Iterable[tuple[int, tuple[BlockRef, ...]]]:
        """The RDD's partitions that are in blocks."""
        return self._blocks.get(rdd, {}).items()

    def block_nodes(self, partition: Partition) -> list[NodeId]:
        """The nodes that hold the partition's blocks, each once."""
        nodes = dict.fromkeys(ref.node for ref in self.blocks(partition))
        return list(nodes | dict.fromkeys(self._replicas.get(partition, ())))

    def has_replicas(self, partition: Partition) -> bool:
        return partition in self._replicas

    def is_replica(self, partition: Partition, node: NodeId) -> bool:
        """Whether the node holds a copy of the partition's blocks that is not the only one."""
        return node in self._replicas.get(partition, ())

    def replicas(self) -> list[tuple[Partition, NodeId]]:
        """The partitions in blocks that have further copies, and the nodes of these."""
        return [(each, node) for each, nodes in self._replicas.items() for node in nodes]

    def replicas_on(self, node: NodeId) -> list[Partition]:
        """The partitions of which the node has a copy that is not the only one."""
        return list(self._replicas_on.get(node, ()))

    def blocks_near(self, partition: Partition, node: NodeId) -> tuple[BlockRef, ...]:
        """The partition's blocks: its copy on the node, if there is one."""
        return self._replicas.get(partition, {}).get(node) or self.blocks(partition)

    def all_blocks(self) -> Iterator[tuple[Partition, BlockRef]]:
        for rdd, blocks in self._blocks.items():
            for index, refs in blocks.items():
                for ref in refs:
                    yield Partition(rdd, index), ref
        for partition, copies in self._replicas.items():
            for refs in copies.values():
                for ref in refs:
                    yield partition, ref

    def in_segment(self, segment: str) -> Iterable[Partition]:
        """The partitions whose blocks are in a segment."""
        return self._in_segment.get(segment, ())

    def executors(self, partition: Partition) -> list[ExecutorId]:
        return self._live.get(partition.rdd, {}).get(partition.index, [])

    def blocks(self, partition: Partition) -> tuple[BlockRef, ...]:
        """The partition's blocks, in the order of its rows."""
        return self._blocks.get(partition.rdd, {}).get(partition.index, ())

    def holds_live(self, executor: ExecutorId) -> bool:
        """Whether the executor holds live rows."""
        return executor in self._held

    def has_blocks(self, partition: Partition) -> bool:
        return bool(self.blocks(partition))

    def is_live(self, partition: Partition) -> bool:
        return bool(self.executors(partition))

    def is_there(self, partition: Partition) -> bool:
        return self.has_blocks(partition) or self.is_live(partition)

    def add_live(self, partition: Partition, executor: ExecutorId, size: int = 0) -> None:
        self.changes += 1
        self._live_bytes.setdefault(partition.rdd, {})[partition.index] = size
        holders = self._live.setdefault(partition.rdd, {}).setdefault(partition.index, [])
        if executor not in holders:
            self._touch(partition)
            holders.append(executor)
            self._held.setdefault(executor, {})[partition] = None

    def drop_live(self, partition: Partition, executor: ExecutorId) -> None:
        indices = self._live.get(partition.rdd)
        if indices is None or executor not in indices.get(partition.index, ()):
            return
        self.changes += 1
        self._touch(partition)
        self._unhold(partition, executor)
        indices[partition.index].remove(executor)
        if not indices[partition.index]:
            del indices[partition.index], self._live_bytes[partition.rdd][partition.index]
        if not indices:
            del self._live[partition.rdd], self._live_bytes[partition.rdd]

    def set_blocks(self, partition: Partition, refs: tuple[BlockRef, ...]) -> bool:
        """Records a partition's blocks; returns False where it has some already."""
        indices = self._blocks.setdefault(partition.rdd, {})
        if partition.index in indices:
            return False
        self.changes += 1
        self._touch(partition)
        indices[partition.index] = refs
        for ref in refs:
            self._in_segment.setdefault(ref.segment, {})[partition] = None
        return True

    def drop_blocks(self, partition: Partition) -> tuple[BlockRef, ...]:
        """Forgets and returns the partition's blocks: without one of them the others are of no
        use. A replica takes their place."""
        self.changes += 1
        self._touch(partition)
        indices = self._blocks.get(partition.rdd, {})
        refs = indices.pop(partition.index, ())
        self._unlist(partition, refs)
        copies = self._replicas.get(partition)
        if copies:
            probe("a replica takes the place of lost blocks")
            node = next(iter(copies))
            indices[partition.index] = self._take_replica(partition, node)
        elif refs and not indices:
            del self._blocks[partition.rdd]
        return refs

    def add_replica(self, partition: Partition, refs: tuple[BlockRef, ...]) -> bool:
        """Records a further copy, which is on one node; returns False where that has one."""
        node = refs[0].node
        if not self.has_blocks(partition) or node in self.block_nodes(partition):
            return False
        self.changes += 1
        self._touch(partition)
        self._replicas.setdefault(partition, {})[node] = refs
        self._replicas_on.setdefault(node, {})[partition] = None
        for ref in refs:
            self._in_segment.setdefault(ref.segment, {})[partition] = None
        return True

    def drop_replica(self, partition: Partition, node: NodeId) -> tuple[BlockRef, ...]:
        """Forgets and returns the blocks of a copy; never those of the last one."""
        self.changes += 1
        self._touch(partition)
        refs = self._take_replica(partition, node)
        self._unlist(partition, refs)
        return refs

    def _take_replica(self, partition: Partition, node: NodeId) -> tuple[BlockRef, ...]:
        copies, there = self._replicas[partition], self._replicas_on[node]
        refs = copies.pop(node)
        if not copies:
            del self._replicas[partition]
        del there[partition]
        if not there:
            del self._replicas_on[node]
        return refs

    def replicas_in(self, segment: str) -> list[tuple[Partition, NodeId]]:
        """The copies in a segment that are not the only ones."""
        return [
            (partition, node)
            for partition in self._in_segment.get(segment, ())
            for node, refs in self._replicas.get(partition, {}).items()
            if refs[0].segment == segment
        ]

    def drop_segment(self, segment: str) -> list[tuple[Partition, tuple[BlockRef, ...]]]:
        """Forgets the copies with a block in a segment; returns their partitions, with all blocks
        of these copies."""
        dropped = [
            (partition, self.drop_replica(partition, node))
            for partition, node in self.replicas_in(segment)
        ]
        partitions = list(self._in_segment.get(segment, ()))
        return dropped + [(partition, self.drop_blocks(partition)) for partition in partitions]

    def relocate(self, segment: str, target: Segment) -> None:
        """Points the blocks of a segment to its copy, at the same offsets."""
        moved = self._in_segment.pop(segment, None)
        if moved is None:
            return
        self.changes += 1
        self._in_segment[target.name] = moved
        for rdd, index in moved:
            self._touch(Partition(rdd, index))
            self._blocks[rdd][index] = tuple(
                ref._replace(node=target.place, segment=target.name, medium=target.medium)
                if ref.segment == segment
                else ref
                for ref in self._blocks[rdd][index]
            )

    def forget_executor(self, executor: ExecutorId) -> None:
        for partition in list(self._held.get(executor, ())):
            self.drop_live(partition, executor)

    def forget_node(self, node: NodeId) -> list[tuple[Partition, tuple[BlockRef, ...]]]:
        """Forgets the copies with a block on a lost node; returns their partitions, with all blocks
        of these copies."""
        dropped = [
            (partition, self.drop_replica(partition, node)) for partition in self.replicas_on(node)
        ]
        lost = [
            Partition(rdd, index)
            for rdd, indices in self._blocks.items()
            for index, refs in indices.items()
            if any(ref.node == node for ref in refs)
        ]
        return dropped + [(partition, self.drop_blocks(partition)) for partition in lost]

    def forget_rdd(self, rdd: RddId) -> list[BlockRef]:
        self.changes += 1
        self.touch(rdd)
        self._live_bytes.pop(rdd, None)
        for index, holders in self._live.pop(rdd, {}).items():
            for executor in holders:
                self._unhold(Partition(rdd, index), executor)
        copies = [
            ref
            for partition in [Partition(rdd, index) for index in self._blocks.get(rdd, ())]
            for node in list(self._replicas.get(partition, ()))
            for ref in self.drop_replica(partition, node)
        ]
        blocks = self._blocks.pop(rdd, {})
        for index, refs in blocks.items():
            self._unlist(Partition(rdd, index), refs)
        return copies + [ref for refs in blocks.values() for ref in refs]

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

    def _unlist(self, partition: Partition, refs: tuple[BlockRef, ...]) -> None:
        for segment in {ref.segment: None for ref in refs}:
            listed = self._in_segment[segment]
            del listed[partition]
            if not listed:
                del self._in_segment[segment]
