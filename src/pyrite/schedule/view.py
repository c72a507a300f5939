"""The read-only view of the cluster for placement policies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyrite.ids import BlockRef, ExecutorId, NamespaceId, NodeId, Partition, RddId, StageId
from pyrite.place.colocate import RddCollection
from pyrite.schedule.collections import Collections
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.kept import Kept
from pyrite.schedule.keyranges import KeyRanges
from pyrite.schedule.prefetch.segments import PrefetchedSegments
from pyrite.schedule.stages import Stages


class ClusterView:
    """Implements `pyrite.place.policy.View` over the scheduler's parts."""

    def __init__(
        self,
        fleet: Fleet,
        kept: Kept,
        stages: Stages,
        segments: PrefetchedSegments,
        ranges: KeyRanges,
        collections: Collections,
    ) -> None:
        self._fleet = fleet
        self._stages = stages
        self._segments = segments
        self._kept = kept
        self._ranges = ranges
        self._collections = collections

    def nodes(self) -> Collection[NodeId]:
        return self._fleet.counts.keys()

    def executors_on(self, node: NodeId) -> Sequence[ExecutorId]:
        return [each.id for each in self._fleet.on(node)]

    def live_rdds(self) -> Collection[RddId]:
        return self._kept.live_rdds()

    def is_live(self, partition: Partition) -> bool:
        return self._kept.is_live(partition)

    def holders(self, partition: Partition) -> Sequence[ExecutorId]:
        return self._kept.executors(partition)

    def block_nodes(self, partition: Partition) -> Sequence[NodeId]:
        return self._kept.block_nodes(partition)

    def is_kept(self, partition: Partition) -> bool:
        return self._kept.is_there(partition)

    def collection(self, namespace: NamespaceId | None) -> RddCollection | None:
        return self._collections.get(namespace)

    def contention(self) -> Sequence[tuple[ExecutorId, int]]:
        return self._collections.contention()

    def block_rdds(self) -> Collection[RddId]:
        return self._kept.block_rdds()

    def has_blocks(self, partition: Partition) -> bool:
        return self._kept.has_blocks(partition)

    def blocks(self, partition: Partition) -> tuple[BlockRef, ...]:
        return self._kept.blocks(partition)

    def reducer_places(self, stage: StageId) -> Mapping[int, NodeId]:
        run = self._stages.get(stage)
        return {} if run is None or run.plan is None else run.plan.places

    def prefetched(self, stage: StageId) -> Mapping[int, NodeId]:
        run = self._stages.get(stage)
        return {} if run is None or run.plan is None else run.plan.prefetched()

    def refetch_s(self, stage: StageId) -> float:
        run = self._stages.get(stage)
        if run is None or run.plan is None or not run.plan.reads:
            return 0.0
        return self._segments.fetch_s(run.plan.read_bytes() / len(run.plan.reads))

    def ranges(self) -> KeyRanges:
        return self._ranges
