"""Lookahead: which kept partitions the active jobs will read, and how much they will store."""

from __future__ import annotations

from functools import cached_property
from itertools import islice

from pyrite.blocks.pool import Segment
from pyrite.ids import NodeId, Partition
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.storage import Storage

# A position in the work ahead: the index of a stage, and of its task.
Position = tuple[int, int]
# Number of an RDD's blocks whose mean size estimates the others.
SAMPLE = 16


class Lookahead:
    """A look at the active stages at one moment."""

    def __init__(self, stages: Stages, storage: Storage, fleet: Fleet) -> None:
        self.stages = stages
        self.kept = storage.kept
        self.persisted = storage.persisted
        self.fleet = fleet
        self.reserved: dict[NodeId, int] | None = None

    @cached_property
    def ahead(self) -> list[StageRun]:
        """The active stages: earlier jobs first, and parents before children."""
        return sorted(self.stages, key=lambda run: (run.job, run.spec.id))

    def next_use(self, segment: Segment) -> Position | None:
        """Returns the position of the next task that will read a partition in the segment."""
        positions = [
            position
            for partition in self.kept.in_segment(segment.name)
            if (position := self._next_read(partition)) is not None
        ]
        return min(positions, default=None)

    def _next_read(self, partition: Partition) -> Position | None:
        for number, run in enumerate(self.ahead):
            if partition.rdd in run.spec.shape.rdds:
                for index in self._readers(run).get(partition, ()):
                    is_to_run = run.tasks is None or run.tasks.is_pending(index)
                    if is_to_run and self._reads(run, index, partition):
                        return number, index
        return None

    def _reads(self, run: StageRun, index: int, partition: Partition) -> bool:
        """Whether the task reads the partition, and no kept partition downstream makes that
        unnecessary."""
        kept_partitions = run.spec.shape.kept_partitions
        return partition in kept_partitions(index, self.persisted, self.kept.is_there)

    def _readers(self, run: StageRun) -> dict[Partition, list[int]]:
        """Returns the tasks that depend on each partition if nothing else is kept."""
        if run.readers is None:
            run.readers = {}
            for index in range(run.spec.partitions):
                behind = run.spec.shape.kept_partitions(index, self.persisted, lambda _: False)
                for partition in behind:
                    run.readers.setdefault(partition, []).append(index)
        return run.readers

    def reserved_bytes(self, node: NodeId) -> int:
        """Estimates how much running stages will still store on a node, from what they stored so
        far."""
        if self.reserved is None:
            self.reserved = self._reserve()
        return self.reserved.get(node, 0)

    def _reserve(self) -> dict[NodeId, int]:
        expected = sum(self._still_to_store(run) for run in self.ahead if run.running_count)
        reserved: dict[NodeId, int] = {}
        if expected:
            share = expected // len(self.fleet)
            for executor in self.fleet:
                reserved[executor.node] = reserved.get(executor.node, 0) + share
        return reserved

    def _still_to_store(self, run: StageRun) -> int:
        expected = 0
        partitions = run.spec.shape.partitions
        for rdd in self.kept.block_rdds():
            missing = partitions.get(rdd, 0) - self.kept.count(rdd)
            if missing > 0:
                sample = list(islice(self.kept.sizes_of(rdd), SAMPLE))
                expected += missing * sum(sample) // len(sample)
        return expected
