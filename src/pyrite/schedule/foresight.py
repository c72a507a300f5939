"""What is known of the work under way: what it will read, and what it is about to store."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import islice

from pyrite.blocks.pool import Segment
from pyrite.ids import ExecutorId, NodeId, Partition, RddId, StageId
from pyrite.schedule.kept import Kept
from pyrite.schedule.runs import StageRun
from pyrite.schedule.state import Executor

Turn = tuple[int, int]
# The sizes of so many blocks of an RDD stand for those to come.
SAMPLE = 16


class Foresight:
    """Looks ahead over the stages that queued and running jobs wait for, at one moment."""

    def __init__(
        self,
        runs: Mapping[StageId, StageRun],
        kept: Kept,
        persisted: set[RddId],
        executors: Mapping[ExecutorId, Executor],
    ) -> None:
        self.runs = runs
        self.kept = kept
        self.persisted = persisted
        self.executors = executors
        self.reserved: dict[NodeId, int] | None = None

    @cached_property
    def ahead(self) -> list[StageRun]:
        """Earlier jobs first, and of a job the stages that the others wait for."""
        return sorted(self.runs.values(), key=lambda run: (run.job, run.spec.id))

    def next_use(self, segment: Segment) -> Turn | None:
        """When a partition in the segment will be read: by the how manieth stage and task."""
        turns = [
            turn
            for partition in self.kept.in_segment.get(segment.name, ())
            if (turn := self._next_read(partition)) is not None
        ]
        return min(turns, default=None)

    def _next_read(self, partition: Partition) -> Turn | None:
        for number, run in enumerate(self.ahead):
            if partition.rdd in run.spec.shape.rdds:
                for index in self._readers(run).get(partition, ()):
                    is_to_run = run.tasks is None or index in run.tasks.pending
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
            share = expected // len(self.executors)
            for executor in self.executors.values():
                reserved[executor.node] = reserved.get(executor.node, 0) + share
        return reserved

    def _still_to_store(self, run: StageRun) -> int:
        expected = 0
        partitions = run.spec.shape.partitions
        for rdd, stored in self.kept.blocks.items():
            missing = partitions.get(rdd, 0) - self.kept.count(rdd)
            if missing > 0:
                sample = [ref.length for ref in islice(stored.values(), SAMPLE)]
                expected += missing * sum(sample) // len(sample)
        return expected
