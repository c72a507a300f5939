"""Nodes of a simulated cluster that come when executors are wanted: after a while, or never."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrite.cluster.sim.world import NodePlan
from pyrite.ids import NodeId
from pyrite.schedule.commands import WantExecutors

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster


class Growth:
    """Follows the last order: asks for nodes of one executor, and withdraws what it asked for."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self.order = WantExecutors(0)
        # The nodes that were asked for and have not come, by number.
        self.coming: dict[int, None] = {}
        self.asked = 0
        # The nodes that had to leave: a lost one of them does not come back.
        self.sent_away: set[NodeId] = set()

    def want(self, order: WantExecutors) -> None:
        self.order = order
        self.sent_away.update(order.leaving)
        self.follow()

    def follow(self) -> None:
        """Asks for nodes that are lacking, or withdraws the last that were asked for."""
        cluster = self.cluster
        plans = zip(cluster.nodes, cluster.plans, strict=True)
        there = sum(
            plan.executors
            for node, plan in plans
            if not node.has_left and node.id not in self.order.leaving
        )
        while there + len(self.coming) < self.order.executors:
            self.coming[self.asked] = None
            delay_s = cluster.dice.expovariate(1 / cluster.world.join_s)
            cluster.timeline.after(delay_s, self._come, self.asked)
            self.asked += 1
        while self.coming and there + len(self.coming) > self.order.executors:
            cluster.reached["withdrawn node"] += 1
            self.coming.popitem()

    def _come(self, number: int) -> None:
        if number not in self.coming:
            return
        del self.coming[number]
        if self.cluster.dice.random() < self.cluster.world.absent_nodes:
            self.cluster.reached["node that never came"] += 1
            # Others may.
            self.follow()
            return
        self.cluster.reached["further node"] += 1
        self.cluster.take_in(NodePlan(1, self.cluster.world.nodes[0].pool_bytes))
