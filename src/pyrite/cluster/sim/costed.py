"""The simulated cluster by cost: the scheduler's commands in, events out, in virtual time.

No rows are computed: a task takes what the model says that its reading, computing and writing
take, on cores, links and disks that it shares with the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, assert_never

from pyrite.cluster.sim.costs import CostModel, NodeKind
from pyrite.cluster.sim.machines import SimExecutor, SimNode
from pyrite.cluster.sim.network import Network
from pyrite.cluster.sim.taskrun import Digest, TaskRun
from pyrite.cluster.sim.timeline import Timeline
from pyrite.cluster.sim.workload import Workload
from pyrite.cluster.timers import Timers
from pyrite.errors import EngineError
from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId, ShuffleId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command, Snapshot
from pyrite.schedule.events import Event


@dataclass(frozen=True, slots=True)
class Failures:
    """How often things break, each node and executor for itself, and how long a repair takes."""

    nodes_per_hour: float = 0.0
    executors_per_hour: float = 0.0
    repair_s: float = 120.0


@dataclass(slots=True)
class Tally:
    """What a simulated run came to."""

    launched: int = 0
    redone: int = 0
    busy_s: float = 0.0
    spilled_bytes: float = 0.0
    nodes_lost: int = 0
    executors_lost: int = 0
    events: int = 0


class CostedCluster:
    """Nodes, their network and disks, and the driver's own time."""

    def __init__(
        self,
        workload: Workload,
        kinds: Sequence[NodeKind],
        model: CostModel,
        failures: Failures | None = None,
        seed: int = 0,
        latency_s: float | None = None,
    ) -> None:
        self.workload = workload
        self.specs = workload.specs()
        self.model = model
        self.failures = failures or Failures()
        self.timeline = Timeline()
        self.network = Network(self.timeline)
        self.tally = Tally()
        self.persisted: dict[RddId, None] = {}
        self.nodes: dict[NodeId, SimNode] = {}
        self.executors: dict[ExecutorId, SimExecutor] = {}
        self._random = Random(seed)
        self._timers = Timers()
        self._inbox: deque[tuple[float, Event]] = deque()
        self._driver_free_s = 0.0
        self._next_executor = 0
        self._closed = False
        self._digests: dict[ShuffleId, Digest] = {}
        self._losses = 0
        self._checked: dict[ShuffleId, int] = {}
        self._tried: set[tuple[int, int]] = set()
        self._shares: dict[ShuffleId, Sequence[float]] = {
            ShuffleId(each.writes): each.shares
            for each in workload.stages.values()
            if each.writes is not None
        }
        for number, kind in enumerate(kinds):
            node = SimNode(NodeId(f"node-{number}"), kind, model, self.timeline)
            self.nodes[node.id] = node
            self.network.join(node.id, kind.network_bytes_per_s)
            self._start_node(node)
        self._plan_failure(self.failures.nodes_per_hour, self._fail_some_node)
        self._plan_failure(self.failures.executors_per_hour, self._fail_some_executor)
