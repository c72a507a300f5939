"""What tasks are near to: kept rows, kept blocks, and what was fetched for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyrite.ids import ExecutorId, NodeId
from pyrite.plan.stages import StageSpec
from pyrite.schedule.backups import Backups
from pyrite.schedule.runs import StageRun


class Nearness(Backups):
    """Knows which executors and nodes have what a task will read."""

    def _preferences(
        self, spec: StageSpec, partitions: Iterable[int]
    ) -> dict[int, Sequence[ExecutorId]]:
        live = self.kept.live.keys()
        if spec.shape.rdds.isdisjoint(live):
            return {}
        found: dict[int, Sequence[ExecutorId]] = {}
        for index in partitions:
            holders: list[ExecutorId] = []
            for partition in spec.shape.kept_partitions(index, live, self.kept.is_live):
                holders += self.kept.executors(partition)
            if holders:
                # Where most of the task's kept partitions are.
                best = max(map(holders.count, holders))
                found[index] = [
                    each for each in dict.fromkeys(holders) if holders.count(each) == best
                ]
        return found

    def _places_of_blocks(self, spec: StageSpec, partitions: Iterable[int]) -> dict[int, NodeId]:
        kept = self.kept.blocks
        if not kept or spec.shape.rdds.isdisjoint(kept.keys()):
            return {}
        places: dict[int, NodeId] = {}
        for index in partitions:
            wanted = spec.shape.kept_partitions(index, kept.keys(), self.kept.has_block)
            blocks = [ref for each in wanted if (ref := self.kept.block(each)) is not None]
            if blocks:
                places[index] = blocks[0].node
        return places

    def _known_places(self, spec: StageSpec, partitions: Iterable[int]) -> dict[int, NodeId]:
        """Where reducers go in any case: to what they read beside their shuffles, if anything can
        run there."""
        partitions = list(partitions)
        places = self._places_of_blocks(spec, partitions)
        for index, executors in self._preferences(spec, partitions).items():
            places[index] = self.executors[executors[0]].node
        return {index: node for index, node in places.items() if node in self.executors_on}

    def _beside_parcels(
        self, run: StageRun, partitions: Iterable[int]
    ) -> dict[int, Sequence[ExecutorId]]:
        """The executors of the nodes to which reducers' input has been fetched."""
        if run.ahead is None or not any(unit.on_node for unit in run.ahead.units):
            return {}
        on_node: dict[NodeId, list[ExecutorId]] = {}
        for executor in self.executors.values():
            on_node.setdefault(executor.node, []).append(executor.id)
        ahead = run.ahead
        return {
            index: on_node[ahead.places[index]]
            for index in partitions
            if index in ahead.unit_of
            and ahead.unit_of[index].on_node
            and ahead.places[index] in on_node
        }

    def _parcels_wait_s(self, run: StageRun) -> float:
        """How long reducers wait for the nodes that have their input: about as long as it would
        take to fetch it again, and no longer than for kept rows."""
        if run.ahead is None or not run.ahead.reads:
            return 0.0
        read_bytes = sum(each.total_bytes for each in run.ahead.forecasts.values())
        again_s = self.parcels.fetch_s(read_bytes / len(run.ahead.reads))
        return min(self.rules.locality_wait_s, again_s)

    def _hosts(self) -> dict[NodeId, list[int]]:
        """The nodes that run reducers, with the slots of their executors."""
        hosts: dict[NodeId, list[int]] = {}
        for executor in self.executors.values():
            hosts.setdefault(executor.node, []).append(executor.slot)
        return hosts
