"""Which nodes of a Ray cluster get an agent: those at the start, those that come later, those
whose agent was lost; under dynamic allocation as many as are wanted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from math import ceil
from types import ModuleType
from typing import NamedTuple

from pyrite.cluster.ray.actorends import is_for_good
from pyrite.cluster.ray.demand import AgentShape, Demand
from pyrite.cluster.ray.raynode import RayNode, alive_nodes, draining_nodes
from pyrite.cluster.real.clustercalls import ClusterCalls
from pyrite.cluster.real.nodes import FAILED_STARTS, AgentPlan
from pyrite.errors import ClusterError
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import NodeId
from pyrite.schedule.rules import AllocationRule

# How often Ray is asked for its nodes.
LOOK_S = 1.0
# How long to wait before a node whose agent was lost gets another one.
AGAIN_S = 0.5
# CPUs of a program that has just ended stay held in Ray's books for so long.
FREE_S = 6.0
FREE_LOOK_S = 0.25
# So often a node is looked at whose CPUs are not all free: a waiting agent may have held them.
MOST_LOOKS = 5


class ActorShare(NamedTuple):
    """What an agent holds of a Ray node, in Ray's books."""

    ray_node: str
    cpus: int
    memory_bytes: int


class NodeSizes(NamedTuple):
    """What a node lends to an application."""

    executors: int
    pool_bytes: int
    limits: WorkerLimits


class ExecutorOrder(NamedTuple):
    """How many executors are wanted, without those of nodes that leave."""

    executors: int
    leaving: frozenset[NodeId] = frozenset()


SizeOf = Callable[[RayNode], NodeSizes]


class RayMembers:
    """Knows the nodes by Ray's ids and by ours. Its state belongs to the starter's thread, except
    for what happens before the cluster is open, and what the loop's thread tells it."""

    def __init__(
        self, ray: ModuleType, size_of: SizeOf, port: int, rule: AllocationRule | None = None
    ) -> None:
        self.ray = ray
        self.size_of = size_of
        self.port = port
        self.rule = rule
        self.names: dict[str, NodeId] = {}
        self.plans: dict[NodeId, AgentPlan] = {}
        self.shares: dict[NodeId, ActorShare] = {}
        # Nodes that have an agent, or shall get one.
        self.used: set[NodeId] = set()
        # Nodes to start an agent on, and when.
        self.due: dict[NodeId, float] = {}
        self.failures: dict[NodeId, int] = {}
        self.looked_s = 0.0
        # Set once the cluster runs.
        self.calls = ClusterCalls(lambda plan: None, lambda node, by_s: None, lambda node: None)
        # Why nodes could not be used, by name.
        self.problems: dict[NodeId, str] = {}
        # None: every node is used.
        self.order = None if rule is None else ExecutorOrder(min(rule.initial, rule.most))
        self.demand = Demand(ray)
        self.looks: dict[str, int] = {}
        self.drained: set[str] = set()

    def first(self, address: str) -> list[AgentPlan]:
        """The nodes to begin with; raises where none could run a task."""
        end_s = time.monotonic() + FREE_S
        while True:
            draining = draining_nodes()
            nodes = [node for node in alive_nodes(self.ray) if node.id not in draining]
            plans = [plan for node in nodes if (plan := self._use(node)) is not None]
            if self.order is not None or any(plan.executors for plan in plans):
                return plans
            if time.monotonic() > end_s:
                raise no_free_cpus(address, nodes)
            time.sleep(FREE_LOOK_S)

    def _use(self, node: RayNode) -> AgentPlan | None:
        """Plans an agent for the node, if executors are lacking, or it only lends memory."""
        if node.storage_only or self.order is None or self._lacking() > 0:
            return self._plan(node)
        return None

    def _plan(self, node: RayNode) -> AgentPlan | None:
        sizes = self.size_of(node)
        executors = min(sizes.executors, self._most_more())
        if not node.storage_only and not executors:
            return None
        id = self.names.setdefault(node.id, NodeId(f"node-{len(self.names)}"))
        listen = node.host, self.port
        plan = AgentPlan(
            id, executors, sizes.pool_bytes, sizes.limits, listen, node.free_store_bytes
        )
        needed = executors * sizes.limits.memory_bytes + sizes.pool_bytes
        self.plans[id] = plan
        self.shares[id] = ActorShare(node.id, executors, min(needed, node.free_memory_bytes))
        self.used.add(id)
        return plan

    # How many executors

    def want(self, executors: int, leaving: Collection[NodeId]) -> None:
        """Called by the loop's thread."""
        self.order = ExecutorOrder(executors, frozenset(leaving))

    def _there(self) -> int:
        leaving = self.order.leaving if self.order is not None else ()
        return sum(self.plans[node].executors for node in list(self.used) if node not in leaving)

    def _lacking(self) -> int:
        return 0 if self.order is None else self.order.executors - self._there()

    def _most_more(self) -> int:
        """How many executors more there may be."""
        most = AllocationRule().most if self.rule is None else self.rule.most
        return max(0, most - self._there())

    def _shape(self) -> AgentShape:
        """The share of the smallest node so far: what comes will have as much."""
        shares = [each for each in self.shares.values() if each.cpus]
        smallest = min(shares, key=lambda each: each.cpus, default=ActorShare("", 1, 0))
        return AgentShape(smallest.cpus, smallest.memory_bytes)

    # Ends

    def lost(self, node: NodeId, reason: str, proven: bool) -> None:
        """An agent was lost, or did not start; called by the loop's thread."""
        failed = 0 if proven else self.failures.get(node, 0) + 1
        self.failures[node] = failed
        self.problems[node] = reason
        if failed >= FAILED_STARTS or is_for_good(reason):
            self.failures[node] = FAILED_STARTS
            times = f", {failed} times in a row," if failed > 1 else ""
            logging.getLogger("pyrite").warning(
                "%s could not be started%s and is left out: %s", node, times, reason
            )
            self._withdraw(node)
            return
        self.due[node] = time.monotonic() + AGAIN_S

    def released(self, node: NodeId) -> None:
        """A node was let go; called by the loop's thread."""
        self.used.discard(node)

    def _withdraw(self, node: NodeId) -> None:
        self.used.discard(node)
        self.calls.withdrawn(node)

    # Looks

    def turn(self) -> None:
        """Looks for nodes that came, and starts what is due; called by the starter's thread."""
        now_s = time.monotonic()
        for node in [each for each, at_s in list(self.due.items()) if at_s <= now_s]:
            try:
                alive = self._is_alive(node)
            except Exception:
                # Ray does not answer now.
                self.due[node] = now_s + LOOK_S
                continue
            del self.due[node]
            if alive:
                self.calls.begin(self.plans[node])
            else:
                self._withdraw(node)
        if now_s - self.looked_s >= LOOK_S:
            self.looked_s = now_s
            self._look()

    def _is_alive(self, node: NodeId) -> bool:
        """Whether Ray takes the node for alive, and does not drain it."""
        wanted = self.shares[node].ray_node
        is_listed = any(each["Alive"] and each["NodeID"] == wanted for each in self.ray.nodes())
        return is_listed and wanted not in self.drained

    def _look(self) -> None:
        try:
            nodes = alive_nodes(self.ray)
            draining = draining_nodes()
        except Exception:
            # A head that does not answer is unknown, not dead; our own connections tell.
            return
        for id, in_s in draining.items():
            self._drain(id, in_s)
        nodes = [node for node in nodes if node.id not in draining]
        if self.order is None:
            self._begin_all([node for node in nodes if node.id not in self.names])
            return
        self._begin_all([each for each in nodes if each.storage_only and each.id not in self.names])
        try:
            self._meet(nodes)
        except Exception:
            # Ray does not answer now: the next look tries again.
            return

    def _begin_all(self, nodes: list[RayNode]) -> None:
        for node in nodes:
            if (plan := self._plan(node)) is not None:
                self.calls.begin(plan)

    def _drain(self, id: str, in_s: float | None) -> None:
        """Has a node leave that Ray drains."""
        node = self.names.get(id)
        if node in self.used and id not in self.drained:
            self.calls.leaves(node, in_s)
        self.drained.add(id)

    def _meet(self, nodes: list[RayNode]) -> None:
        """Uses free nodes until no executors are lacking, and shows Ray what still is."""
        free = [each for each in nodes if self._is_free(each)] if self._lacking() > 0 else []
        if self._lacking() <= 0 or self.demand.is_met() or (free and self.demand):
            # A waiting agent may hold what the new node has: it is sized without them.
            self.demand.withdraw()
            return
        for node in free:
            looks = self.looks[node.id] = self.looks.get(node.id, 0) + 1
            is_sure = node.free_cpus >= node.cpus or looks >= MOST_LOOKS
            if is_sure and self._lacking() > 0 and (plan := self._plan(node)) is not None:
                self.looks.pop(node.id)
                self.calls.begin(plan)
        shape = self._shape()
        lacking = min(self._lacking(), self._most_more())
        # Where CPUs are free, agents would not wait: they would take those of the nodes' own ones.
        is_full = all(node.free_cpus < shape.cpus for node in nodes if not node.storage_only)
        self.demand.show(ceil(max(0, lacking) / shape.cpus) if is_full else 0, shape)

    def _is_free(self, node: RayNode) -> bool:
        """Whether the node could be used: new ones, and such that were let go."""
        name = self.names.get(node.id)
        if node.storage_only or name in self.used:
            return False
        failed = name is not None and self.failures.get(name, 0) >= FAILED_STARTS
        return not failed and (node.free_cpus > 0 or node.id not in self.looks)

    def check_start(self) -> None:
        """Raises where no node that was planned can be used, or one has other versions."""
        for reason in self.problems.values():
            if is_for_good(reason):
                raise ClusterError(reason)
        useless = [id for id, plan in self.plans.items() if plan.executors]
        if useless and all(self.failures.get(id, 0) >= FAILED_STARTS for id in useless):
            told = "; ".join(f"{id}: {self.problems[id]}" for id in useless)
            raise ClusterError(f"no node of the Ray cluster could be used: {told}")


def no_free_cpus(address: str, nodes: Sequence[RayNode]) -> ClusterError:
    free, total = sum(node.free_cpus for node in nodes), sum(node.cpus for node in nodes)
    return ClusterError(
        f"the Ray cluster at {address} has no free CPUs for executors ({free} of {total} are "
        "free): `ray list actors` shows who holds them; wait for these, end them, or add nodes"
    )
