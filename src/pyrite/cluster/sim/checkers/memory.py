"""No node's memory ever exceeds its pool, and kept blocks exist."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.cluster.sim.store import SimNode
from pyrite.schedule.commands import Command, DropSegments
from pyrite.schedule.events import Event
from pyrite.schedule.scheduler import Scheduler

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster


class Memory:
    """Sums the segments on each node, before the commands are performed."""

    def __init__(self, scheduler: Scheduler, cluster: SimCluster) -> None:
        self.scheduler = scheduler
        self.cluster = cluster

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        for node, plan in zip(self.cluster.nodes, self.cluster.plans, strict=True):
            dropped = {
                segment
                for command in commands
                if isinstance(command, DropSegments) and command.node == node.id
                for segment in command.segments
            }
            weight = weigh(node, dropped) - self._late_bytes(node)
            if weight > plan.pool_bytes:
                raise CheckFailed(
                    f"{node.id} holds {weight} bytes in memory, its pool has {plan.pool_bytes}"
                )
            if node.incarnation == 0:
                self._check_kept(node)

    def _late_bytes(self, node: SimNode) -> int:
        """Bytes that writers may still write by a grant from before the node's restart."""
        writers = self.scheduler.storage.ledger.writers.values()
        return sum(s.bytes for writer in writers for s in writer.lost if s.place == node.id)

    def _check_kept(self, node: SimNode) -> None:
        """Checks that every kept block exists, on a node without faults."""
        looked: set[str] = set()
        for partition, ref in self.scheduler.storage.kept.all_blocks():
            segment = ref.segment
            if ref.node != node.id or segment in self.cluster.faults.spoilt or segment in looked:
                continue
            looked.add(segment)
            if not os.path.exists(node.folders.path(segment, ref.medium)):
                raise CheckFailed(f"partition {partition} is said to lie in {segment}: no file")


def weigh(node: SimNode, dropped: Collection[str] = ()) -> int:
    """The bytes of the segments in a node's memory, without those that are about to be dropped."""
    with os.scandir(node.folders.memory) as entries:
        return sum(each.stat().st_size for each in entries if each.name not in dropped)
