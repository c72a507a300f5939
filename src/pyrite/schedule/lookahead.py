"""Lookahead: what the work under way will read, and what it is about to store."""

from __future__ import annotations

from functools import cached_property
from itertools import islice

from pyrite.blocks.pool import Segment
from pyrite.ids import NodeId, Partition
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.storage import Storage

# A position in the work to come: which stage, and which of its tasks.
Position = tuple[int, int]
# The sizes of so many blocks of an RDD stand for those to come.
SAMPLE = 16


class Lookahead:
    """Looks over the stages that queued and running jobs wait for, at one moment."""

    def __init__(self, stages: Stages, storage: Storage, fleet: Fleet) -> None:
        self.stages = stages
        self.kept = storage.kept
        self.persisted = storage.persisted
        self.fleet = fleet
        self.reserved: dict[NodeId, int] | None = None

    @cached_property
    def ahead(self) -> list[StageRun]:
        """Earlier jobs first, and of a job the stages that the others wait for."""
        return sorted(self.stages, key=lambda run: (run.job, run.spec.id))

    def next_use(self, segment: Segment) -> Position | None:
        """When a partition in the segment will be read: the position of the stage and the task."""
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
        """Whether no partition that is kept hides this one from the task."""
        kept_partitions = run.spec.shape.kept_partitions
        return partition in kept_partitions(index, self.persisted, self.kept.is_there)

    def _readers(self, run: StageRun) -> dict[Partition, list[int]]:
        """Which tasks of a stage come upon which partitions, whatever is kept by then."""
        if run.readers is None:
            run.readers = {}
            for index in range(run.spec.partitions):
                behind = run.spec.shape.kept_partitions(index, self.persisted, lambda _: False)
                for partition in behind:
                    run.readers.setdefault(partition, []).append(index)
        return run.readers

    def reserved_bytes(self, node: NodeId) -> int:
        """What the running stages will still store on a node, by what they have stored so far."""
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
                sample = [ref.length for ref in islice(self.kept.blocks_of(rdd), SAMPLE)]
                expected += missing * sum(sample) // len(sample)
        return expected
