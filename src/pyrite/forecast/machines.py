"""Nodes and executors of the simulated cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrite.blocks.names import segment_name
from pyrite.blocks.writer import ALIGNMENT, SEGMENT_BYTES
from pyrite.cluster.sim.timeline import Timeline
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.network import Share
from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId

if TYPE_CHECKING:
    from pyrite.forecast.taskrun import TaskRun

# The share of an executor's memory that kept rows may take, as in the engine.
STORAGE_PART = 0.7


class CostedNode:
    """A host: cores and a disk that its executors share; `life` counts its restarts."""

    def __init__(self, id: NodeId, kind: NodeKind, model: CostModel, timeline: Timeline) -> None:
        self.id = id
        self.kind = kind
        self.alive = True
        self.life = 0
        self.executors: dict[ExecutorId, CostedExecutor] = {}
        # Empty for a storage-only node, which has no cores.
        self.cpu = Share(timeline, lambda busy: kind.rate_each(busy, model.shared_efficiency))
        # The disk's work is in seconds: reading and writing have different rates.
        self.disk = Share(timeline, lambda users: 1.0 / users)
        self._write_rate = kind.disk_write_bytes_per_s or model.disk_write_bytes_per_s
        self._read_rate = kind.disk_read_bytes_per_s or model.disk_read_bytes_per_s

    def disk_write_s(self, size_bytes: float) -> float:
        return size_bytes / self._write_rate

    def disk_read_s(self, size_bytes: float) -> float:
        return size_bytes / self._read_rate


class CostedExecutor:
    """A process that runs one task at a time, with its live rows and its open segment."""

    def __init__(self, id: ExecutorId, node: CostedNode) -> None:
        self.id = id
        self.node = node
        self.run: TaskRun | None = None
        # By RDD, the least recently used first.
        self.live: dict[RddId, dict[int, float]] = {}
        self.live_bytes = 0.0
        self.storage_bytes = node.kind.executor_memory_bytes * STORAGE_PART
        self._segments = 0
        self._segment = ""
        self._offset = 0
        self._end = 0

    # Live rows

    def holds(self, partition: Partition) -> bool:
        return partition.index in self.live.get(partition.rdd, ())

    def touch(self, rdd: RddId) -> None:
        """Marks the RDD as most recently used."""
        self.live[rdd] = self.live.pop(rdd)

    def keep(self, partition: Partition, size_bytes: float) -> tuple[bool, list[Partition]]:
        """Stores live rows; returns whether they had room, and the evicted partitions.

        Evicts the least recently used RDD first, and never a partition of the same RDD.
        """
        dropped: list[Partition] = []
        while self.live_bytes + size_bytes > self.storage_bytes:
            victim = next((rdd for rdd in self.live if rdd != partition.rdd), None)
            if victim is None:
                return False, dropped
            dropped.append(Partition(victim, next(iter(self.live[victim]))))
            self._drop(dropped[-1])
        self.live.setdefault(partition.rdd, {})[partition.index] = size_bytes
        self.live_bytes += size_bytes
        self.touch(partition.rdd)
        return True, dropped

    def _drop(self, partition: Partition) -> None:
        self.live_bytes -= self.live[partition.rdd].pop(partition.index)
        if not self.live[partition.rdd]:
            del self.live[partition.rdd]

    def drop(self, partition: Partition) -> None:
        """Forgets a partition, if it is there still."""
        if self.holds(partition):
            self._drop(partition)

    def forget(self, rdd: RddId) -> None:
        self.live_bytes -= sum(self.live.pop(rdd, {}).values())

    # Segments

    def room_for(self, size: int) -> bool:
        """Whether a block fits into the open segment."""
        return self._segment != "" and self._offset + size <= self._end

    def new_segment(self, size: int) -> tuple[str, int]:
        """The name and length of the segment to request."""
        self._segment, self._offset, self._end = "", 0, 0
        return self.new_name(), max(size, SEGMENT_BYTES)

    def new_name(self) -> str:
        self._segments += 1
        return segment_name(self.id, self._segments)

    def open_segment(self, name: str, size: int) -> None:
        self._segment, self._offset, self._end = name, 0, max(size, SEGMENT_BYTES)

    def place(self, size: int) -> BlockRef:
        """Adds a block to the open segment."""
        ref = BlockRef(self.node.id, self._segment, self._offset, size, "memory")
        self._offset += -(-size // ALIGNMENT) * ALIGNMENT
        return ref

    def place_on_disk(self, size: int) -> BlockRef:
        return BlockRef(self.node.id, self.new_name(), 0, size, "disk")
