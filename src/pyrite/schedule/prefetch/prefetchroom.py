"""Room in the pools for prefetched input: beside map outputs, or in their place."""

from __future__ import annotations

from pyrite.ids import NodeId, ShuffleId
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.diskpace import DiskPace
from pyrite.schedule.prefetch.plan import ReducePlan
from pyrite.schedule.prefetch.plans import Plans
from pyrite.schedule.stages import Stages
from pyrite.schedule.storage import Storage

# At most this fraction of a pool is kept free for what running maps write next.
RESERVED_FRACTION = 8
# Flushing may take this fraction of what a disk can write until the maps have ended: maps that find
# no room write to it too.
DISK_SHARE = 2


class PrefetchRoom:
    """Estimates the room that prefetching may use, from the pools and the forecasts."""

    def __init__(
        self,
        fleet: Fleet,
        stages: Stages,
        storage: Storage,
        outputs: Outputs,
        plans: Plans,
        disks: DiskPace,
    ) -> None:
        self.fleet = fleet
        self.stages = stages
        self.ledger = storage.ledger
        self.outputs = outputs
        self.plans = plans
        self.disks = disks

    def ahead(self) -> dict[NodeId, int]:
        """Returns the pools' unused room, minus what admitted units and the outputs of running maps
        will take."""
        room = {node: pool.unused_bytes for node, pool in self.ledger.pools.items()}
        to_come = 0
        for _, plan in self.plans.by_priority():
            for unit in plan.units:
                if unit.admitted:
                    for node, size in unit.missing_bytes().items():
                        room[node] = room.get(node, 0) - size
            to_come += self._to_come(plan)
        for node in self.fleet.counts:
            room[node] = room.get(node, 0) - self._node_share(to_come)
        return room

    def by_flushing(self, plan: ReducePlan) -> dict[NodeId, int]:
        """Returns how much more room each node has if the plan's outputs leave its memory.

        No more leaves than the disk can write until the maps have ended: else they would wait for
        it. A disk that was not measured yet is not counted on.
        """
        unread = self._unread(plan)
        if not unread:
            return {}
        gained: dict[NodeId, int] = {}
        to_come = self._node_share(self._to_come(plan))
        left_s = max(self._left_s(each) for each in unread)
        for node in self.fleet.counts:
            held = sum(each.memory_bytes.get(node, 0) for each in unread)
            writes = self._writable(plan, node, left_s) // DISK_SHARE
            gained[node] = max(0, min(held + to_come, writes) - self._reserve(plan, node))
        return gained

    def _unread(self, plan: ReducePlan) -> list[ShuffleOutputs]:
        """Returns the shuffles whose outputs may still leave memory."""
        return [
            found
            for shuffle in plan.forecasts
            if (found := self.outputs.get(shuffle)) is not None and not found.was_read
        ]

    def may_write(self, node: NodeId, size: int) -> bool:
        """Whether the node's disk can write so much more until the maps have ended."""
        for _, plan in self.plans.by_priority():
            unread = self._unread(plan) if plan.flushes else []
            if not unread:
                # Its reducers run: no map of it is left that could wait for the disk.
                continue
            left_s = max(self._left_s(each) for each in unread)
            if self._writable(plan, node, left_s) < size:
                return False
        return True

    def _writable(self, plan: ReducePlan, node: NodeId, left_s: float) -> int:
        """Estimates how much a node's disk can write in this time, beside what moves there already
        and what maps that find no room will write."""
        pool = self.ledger.pools.get(node)
        if pool is None:
            return 0
        by_maps = sum(
            each.total_bytes * found.to_disk_share()
            for shuffle, each in plan.forecasts.items()
            if (found := self.outputs.get(shuffle)) is not None
        )
        taken = pool.outgoing_bytes + self._node_share(round(by_maps))
        return self.disks.bytes_in(node, left_s) - taken

    def _left_s(self, outputs: ShuffleOutputs) -> float:
        """Estimates how long a shuffle's maps will still run."""
        for run in self.stages:
            if run.spec.writes == outputs.shuffle and run.tasks is not None:
                pace_s = run.tasks.together.pace_s or 0.0
                return outputs.absent * pace_s / max(1, len(self.fleet))
        return 0.0

    def reserved(self, node: NodeId) -> int:
        """Returns how much is kept free for running maps by plans that flush their outputs."""
        plans = [plan for _, plan in self.plans.by_priority() if plan.flushes]
        return max((self._reserve(plan, node) for plan in plans), default=0)

    def shortage(self, node: NodeId) -> int:
        """Returns how many bytes of outputs should leave the node's memory, if all admitted units
        and all outputs to come are to have room."""
        pool = self.ledger.pools.get(node)
        if pool is None:
            return 0
        wanted = 0
        for _, plan in self.plans.by_priority():
            wanted += self._node_share(self._to_come(plan))
            wanted += sum(
                unit.missing_on(node, plan.forecasts) for unit in plan.units if unit.admitted
            )
        return wanted - pool.unused_bytes - pool.outgoing_bytes

    def capacity(self, node: NodeId) -> int:
        pool = self.ledger.pools.get(node)
        return 0 if pool is None else pool.capacity_bytes

    def without_outputs(self, plan: ReducePlan, node: NodeId) -> int:
        """Returns how much a pool has for prefetched input beside what maps write next."""
        return self.capacity(node) - self._reserve(plan, node)

    def _reserve(self, plan: ReducePlan, node: NodeId) -> int:
        """Room for one output of each of the node's executors, while maps run."""
        executors = self.fleet.counts.get(node, 0)
        wanted = sum(
            min(self._to_come_of(plan, shuffle), executors * forecast.total_bytes // forecast.maps)
            for shuffle, forecast in plan.forecasts.items()
        )
        return min(wanted, self.capacity(node) // RESERVED_FRACTION)

    def _node_share(self, size: int) -> int:
        """Returns what each node has of bytes that all write; no node may be left."""
        return size // max(1, len(self.fleet.counts))

    def _to_come(self, plan: ReducePlan) -> int:
        return sum(self._to_come_of(plan, shuffle) for shuffle in plan.forecasts)

    def _to_come_of(self, plan: ReducePlan, shuffle: ShuffleId) -> int:
        """Estimates how many bytes the shuffle's maps will still write to memory."""
        outputs = self.outputs.get(shuffle)
        if outputs is None:
            return 0
        return round(plan.forecasts[shuffle].total_bytes * outputs.to_come_share())
