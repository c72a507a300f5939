"""The simulated cluster by cost: the scheduler's commands in, events out, in virtual time.

It computes no rows: the model gives the times of a task's reading, computing and writing, on cores,
links and disks that tasks share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import assert_never

from pyrite.cluster.sim.timeline import Timeline
from pyrite.cluster.timers import Timers
from pyrite.errors import EngineError
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.digest import Digest
from pyrite.forecast.fetches import ForecastFetches
from pyrite.forecast.machines import CostedExecutor, CostedNode
from pyrite.forecast.network import Network, Sources, Transfer
from pyrite.forecast.ringinput import RingInput
from pyrite.forecast.tally import Tally
from pyrite.forecast.taskrun import TaskRun
from pyrite.forecast.workload import Workload
from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId, ShuffleId
from pyrite.plan.program import ShuffleInput
from pyrite.plan.stages import StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.taskinputs import Snapshot


@dataclass(frozen=True, slots=True)
class Failures:
    """The failure rates of each node and each executor, and the duration of a repair."""

    nodes_per_hour: float = 0.0
    executors_per_hour: float = 0.0
    repair_s: float = 120.0


class CostedCluster:
    """Nodes, their network and disks, and the driver's own time."""

    def __init__(
        self,
        workload: Workload,
        kinds: Sequence[NodeKind],
        model: CostModel,
        failures: Failures | None = None,
        seed: int = 0,
    ) -> None:
        self.workload = workload
        self.specs = workload.specs()
        self.model = model
        self.failures = failures or Failures()
        self.timeline = Timeline()
        self.network = Network(self.timeline)
        self.tally = Tally()
        self.persisted: dict[RddId, None] = {}
        self.nodes: dict[NodeId, CostedNode] = {}
        self.executors: dict[ExecutorId, CostedExecutor] = {}
        self._random = Random(seed)
        self._timers = Timers()
        self._inbox: deque[tuple[float, Event]] = deque()
        self._driver_free_s = 0.0
        self._next_executor = 0
        self._closed = False
        self._digests: dict[ShuffleId, Digest] = {}
        # The life of the node in which each segment of kept partitions was written.
        self.lives: dict[str, int] = {}
        self._losses = 0
        self._checked: dict[ShuffleId, int] = {}
        self._tried: set[tuple[int, int]] = set()
        self._shares = shares_by_shuffle(workload, self.specs)
        self.prefetched = ForecastFetches(self)
        self.ring = RingInput([NodeId(f"node-{number}") for number in range(len(kinds))])
        for number, kind in enumerate(kinds):
            node = CostedNode(NodeId(f"node-{number}"), kind, model, self.timeline)
            self.nodes[node.id] = node
            self.network.join(node.id, kind.network_bytes_per_s)
            self._start_node(node)
        self._plan_failure(self.failures.nodes_per_hour, len(self.nodes), self._fail_some_node)
        self._plan_failure(
            self.failures.executors_per_hour, len(self.executors), self._fail_some_executor
        )

    # The interface of the driver's loop

    def now_s(self) -> float:
        return self.timeline.now_s

    def wait_event(self) -> Event | None:
        """Lets time pass until the driver is free and an event has reached it."""
        timeline, inbox = self.timeline, self._inbox
        while not self._closed:
            next_s = timeline.next_s()
            if inbox:
                at_s = max(inbox[0][0], self._driver_free_s)
                if next_s is None or at_s <= next_s:
                    timeline.now_s = at_s
                    self._driver_free_s = at_s + self.model.driver_event_s
                    self.tally.events += 1
                    return inbox.popleft()[1]
            elif next_s is None:
                raise EngineError(
                    "the simulated cluster has nothing left to do, but a job has not ended: "
                    "this is a bug in the scheduler or in the simulator"
                )
            timeline.step()
        return None

    def post(self, event: Event) -> None:
        """Queues an event of the driver's own process."""
        if isinstance(event, ev.RddPersisted):
            self.persisted[event.rdd] = None
        elif isinstance(event, ev.RddForgotten):
            self.persisted.pop(event.rdd, None)
        self._inbox.append((self.timeline.now_s, event))

    def emit(self, event: Event) -> None:
        """Queues an event of a node."""
        self._inbox.append((self.timeline.now_s, event))

    def perform(self, command: Command) -> None:
        match command:
            case do.LaunchTask():
                self._launch(command)
            case do.CancelTask():
                self._cancel(command)
            case do.GrantSpace():
                executor = self.executors.get(command.writer)
                if executor is not None and executor.run is not None:
                    executor.run.granted(command.segment, command.place)
            case do.MoveSegment():
                self._move(command)
            case do.FetchParts():
                self.prefetched.fetch(command)
            case do.KillExecutor():
                if command.executor in self.executors:
                    self.lose_executor(self.executors[command.executor], command.reason)
            case do.StartExecutor():
                self._replace(self.nodes[command.node])
            case do.DropRdd():
                for executor in self.executors.values():
                    executor.forget(command.rdd)
            case do.DropRows():
                if command.executor in self.executors:
                    self.executors[command.executor].drop(command.partition)
            case do.RateRows():
                # Its executors evict by their own order.
                pass
            case do.DropShuffle():
                self._digests.pop(command.shuffle, None)
                self.prefetched.forget_shuffle(command.shuffle)
            case do.SetTimer():
                self._timers.set(command)
                self.timeline.at(command.at_s, self._fire_timers)
            case do.DropSegments():
                for segment in command.segments:
                    self.lives.pop(segment, None)
                    self.prefetched.drop(segment)
            case do.ClearExecutor() | do.DropBroadcast() | do.ForgetStage():
                pass
            case do.ReleaseBarrier() | do.ReleaseNode() | do.WantExecutors():
                raise AssertionError("no task waits at a barrier, and no node leaves or is wanted")
            case (
                do.DeliverResult()
                | do.CountAccumulators()
                | do.FinishJob()
                | do.TellMemory()
                | do.TellCollections()
                | do.WriteCheckpoints()
            ):
                raise AssertionError("the user's program performs these")
            case (
                do.ReducersPlaced()
                | do.SizesForeseen()
                | do.ShuffleLeftAlone()
                | do.FetchingStopped()
                | do.ReducersGrouped()
                | do.ReducerDivided()
                | do.PartitionsStarted()
                | do.GroupsResized()
                | do.ReplicaMade()
                | do.ReplicaDropped()
                | do.NodeDismissed()
            ):
                raise AssertionError("these are for the story")
            case _:
                assert_never(command)

    def close(self) -> None:
        """Ends the loop: `wait_event` returns None."""
        self._closed = True

    def _fire_timers(self) -> None:
        for fired in self._timers.take_due(self.timeline.now_s):
            self.emit(fired)

    # Tasks

    def _launch(self, command: do.LaunchTask) -> None:
        if command.divided is not None:
            raise AssertionError(
                f"attempt {command.attempt} does a piece of reducer {command.partitions[0]}: the "
                "cluster by cost knows whole tasks only; let its rules have divide_bytes=0"
            )
        self._driver_free_s += self.model.driver_launch_s
        self.tally.launched += 1
        for partition in command.partitions:
            key = command.stage, partition
            if key in self._tried:
                self.tally.redone += 1
            self._tried.add(key)
        executor = self.executors.get(command.executor)
        # A dead executor that the scheduler does not know of yet does not answer.
        if executor is not None:
            executor.run = TaskRun(self, executor, command)
            # Includes the latency of the way back.
            arrives_s = self._driver_free_s + 2 * executor.node.kind.latency_s
            self.timeline.at(arrives_s, executor.run.begin)

    def _cancel(self, command: do.CancelTask) -> None:
        executor = self.executors.get(command.executor)
        if executor is None or executor.run is None:
            return
        if executor.run.command.attempt == command.attempt:
            executor.run.stop()
            executor.run = None
            self.emit(ev.TaskCancelled(command.attempt))

    def digest(self, snapshot: Snapshot) -> Digest:
        """Sums the snapshot by node, once for all tasks that read it."""
        found = self._digests.get(snapshot.shuffle)
        if found is None or found.snapshot.epoch != snapshot.epoch:
            found = self._digests[snapshot.shuffle] = Digest(snapshot, self.nodes)
            self._checked.pop(snapshot.shuffle, None)
        return found

    def lost_source(self, digest: Digest, sources: Sources) -> NodeId | None:
        """Returns a lost source, if any; checks again only after a loss."""
        shuffle = digest.snapshot.shuffle
        if self._checked.get(shuffle) == self._losses:
            return None
        lost = digest.lost_nodes(self.nodes)
        if not lost:
            self._checked[shuffle] = self._losses
        return next((node for node in lost if sources.by_node.get(node)), None)

    def shares(self, shuffle: ShuffleId) -> Sequence[float]:
        """The fraction of a shuffle's bytes that each reducer reads."""
        return self._shares.get(shuffle, ())

    def share(self, shuffle: ShuffleId, index: int) -> float:
        """The fraction of a shuffle's bytes that one reducer reads."""
        shares = self._shares[shuffle]
        return shares[index % len(shares)]

    def is_there(self, partition: Partition, ref: BlockRef, reader: CostedExecutor) -> bool:
        """Whether a kept block can be read; reports it to the driver if not."""
        if self.is_alive(ref):
            return True
        self.emit(ev.BlockLost(partition, ref))
        return False

    def is_alive(self, ref: BlockRef) -> bool:
        """Whether a block's node has it, and has not started anew."""
        node = self.nodes[ref.node]
        return node.alive and self.lives.get(ref.segment) == node.life

    def _move(self, command: do.MoveSegment) -> None:
        """Transfers a segment to another node, or to a disk."""
        target = self.nodes[command.target]
        self.tally.moved_bytes += command.bytes
        sources = Sources({command.node: float(command.bytes)})
        parts = self.network.parts(command.target, sources)
        if command.medium == "disk":
            parts.append((target.disk, target.disk_write_s(command.bytes)))
        lives = self.nodes[command.node].life, target.life
        if parts:
            Transfer(parts, lambda: self._moved(command, lives))
        else:
            self._moved(command, lives)

    def _moved(self, command: do.MoveSegment, lives: tuple[int, int]) -> None:
        node, target = self.nodes[command.node], self.nodes[command.target]
        if (node.life, target.life) == lives and node.alive and target.alive:
            self.lives[command.new_segment] = target.life
            self.prefetched.move(command.segment, command.new_segment)
            self.emit(ev.SegmentMoved(command.move))
        else:
            self.emit(ev.SegmentNotMoved(command.move, "a node went down"))

    # Nodes and executors

    def _start_node(self, node: CostedNode) -> None:
        node.alive = True
        self.emit(ev.NodeJoined(node.id, node.kind.pool_bytes, executors=node.kind.cores))
        for _ in range(node.kind.cores):
            self._start_executor(node, node.life)

    def _start_executor(self, node: CostedNode, life: int) -> None:
        if not node.alive or node.life != life:
            return
        executor = CostedExecutor(ExecutorId(self._next_executor), node)
        self._next_executor += 1
        self.executors[executor.id] = node.executors[executor.id] = executor
        self.emit(ev.ExecutorJoined(executor.id, node.id))

    def _replace(self, node: CostedNode) -> None:
        self.timeline.after(self.model.executor_start_s, self._start_executor, node, node.life)

    def _plan_failure(self, per_hour: float, count: int, fail: Callable[[], None]) -> None:
        """Plans the next failure of so many independent ones."""
        if per_hour > 0 and count:
            self.timeline.after(self._random.expovariate(count * per_hour / 3600), fail)

    def _fail_some_node(self) -> None:
        node = self._random.choice(list(self.nodes.values()))
        if node.alive:
            self.lose_node(node)
        self._plan_failure(self.failures.nodes_per_hour, len(self.nodes), self._fail_some_node)

    def _fail_some_executor(self) -> None:
        if self.executors:
            self.lose_executor(self._random.choice(list(self.executors.values())), "it crashed")
        self._plan_failure(
            self.failures.executors_per_hour, len(self.executors) or 1, self._fail_some_executor
        )

    def lose_node(self, node: CostedNode) -> None:
        """Loses the node with all its data; it comes back empty after the repair."""
        node.alive = False
        node.life += 1
        self._losses += 1
        self.tally.nodes_lost += 1
        self.prefetched.lose_node(node.id)
        for executor in node.executors.values():
            self._end_executor(executor)
        node.executors.clear()
        for executor in list(self.executors.values()):
            if executor.run is not None:
                executor.run.lose_source(node.id)
        notice_s = self.model.node_notice_s
        self.timeline.after(notice_s, self.emit, ev.NodeLost(node.id, "it went down"))
        self.timeline.after(notice_s + self.failures.repair_s, self._repair, node)

    def _repair(self, node: CostedNode) -> None:
        node.life += 1
        self._losses += 1
        self._start_node(node)

    def lose_executor(self, executor: CostedExecutor, reason: str) -> None:
        """Ends the process; its node and the blocks that it wrote stay."""
        self.tally.executors_lost += 1
        del executor.node.executors[executor.id]
        self._end_executor(executor)
        lost = ev.ExecutorLost(executor.id, reason)
        self.timeline.after(self.model.executor_notice_s, self.emit, lost)

    def _end_executor(self, executor: CostedExecutor) -> None:
        del self.executors[executor.id]
        if executor.run is not None:
            executor.run.stop()
            executor.run = None


def shares_by_shuffle(
    workload: Workload, specs: dict[int, StageSpec]
) -> dict[ShuffleId, Sequence[float]]:
    """The fractions of each shuffle for its reducers: those of its stage, or equal ones."""
    shares: dict[ShuffleId, Sequence[float]] = {}
    for spec in specs.values():
        for step in spec.shape.steps:
            for each in step.inputs:
                if isinstance(each, ShuffleInput):
                    shares[each.shuffle] = [1 / step.partitions] * step.partitions
    for stage in workload.stages.values():
        if stage.writes is not None and stage.shares:
            shares[ShuffleId(stage.writes)] = stage.shares
    return shares
