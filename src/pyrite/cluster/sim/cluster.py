"""The sim adapter: nodes, executors and their messages in virtual time, in one process."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from pyrite.blocks.segments import SegmentReader, clear_segments, remove_segments
from pyrite.blocks.writer import SegmentWriter
from pyrite.cluster.conversation import Conversation, Message, decode
from pyrite.cluster.port import StageSource, Threads
from pyrite.cluster.posted import Posted
from pyrite.cluster.scratch import make_private, memory_root
from pyrite.cluster.sim.copies import Copies
from pyrite.cluster.sim.executor import SimExecutor
from pyrite.cluster.sim.faults import Faults
from pyrite.cluster.sim.fetches import SimFetches
from pyrite.cluster.sim.growth import Growth
from pyrite.cluster.sim.store import SimNode
from pyrite.cluster.sim.timeline import Timeline
from pyrite.cluster.sim.turns import Turns
from pyrite.cluster.sim.world import NodePlan, World
from pyrite.cluster.space import DRIVER_NODE, DriverSpace
from pyrite.cluster.timers import Timers
from pyrite.errors import EngineError
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import DRIVER, BlockRef, ExecutorId, NodeId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event

FINAL_MESSAGES = ("ok", "failed", "cancelled", "fetch")


class SentMessage:
    """A message on its way from an executor; a lost one never arrives."""

    __slots__ = ("lost", "message")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.lost = False


class SimCluster:
    """Performs commands in virtual time, and injects the world's faults."""

    def __init__(self, world: World, source: StageSource, limits: WorkerLimits) -> None:
        self.world = world
        self.limits = limits._replace(
            batch_rows=world.chunk_rows, segment_bytes=world.segment_bytes
        )
        self.dice = Random(f"cluster {world.seed}")
        self.timeline = Timeline()
        self.turns = Turns(self.timeline, self.dice)
        self.threads: Threads = self.turns
        self.conversation = Conversation(source)
        self.timers = Timers()
        self.events: deque[Event] = deque()
        self.posted = Posted()
        self.closing = False
        self.events_taken = 0
        self.reached: Counter[str] = Counter()
        self.folder, self.lock = make_private(memory_root(tempfile.gettempdir()))
        os.mkdir(self.files_folder())
        self.driver = self._make_node(DRIVER_NODE, 1.0)
        self.space = DriverSpace(self._driver_writer, self.driver.folders, self.post, self.turns)
        self.nodes = [
            self._make_node(NodeId(f"node-{number}"), plan.speed)
            for number, plan in enumerate(world.nodes)
        ]
        self.by_name = {node.id: node for node in (self.driver, *self.nodes)}
        self.executors: dict[ExecutorId, SimExecutor] = {}
        self.on_way: dict[ExecutorId, deque[SentMessage]] = {}
        self.next_executor = 0
        self.plans = list(world.nodes)
        self.events.append(ev.NodeJoined(DRIVER_NODE, world.driver_pool_bytes, lends=False))
        for number in range(len(self.nodes)):
            self.join_node(number)
        # Has the driver forget all its state, except the journal.
        self.restart_driver: Callable[[], None] | None = None
        self.faults = Faults(self)
        self.copies = Copies(self)
        self.fetches = SimFetches(self)
        self.growth = Growth(self)

    def _make_node(self, id: NodeId, speed: float) -> SimNode:
        return SimNode(id, os.path.join(self.folder, id), speed)

    def _driver_writer(self, folders: Any, writer: ExecutorId, lease: Any) -> SegmentWriter:
        return SegmentWriter(folders, writer, lease, self.world.segment_bytes)

    # The port

    def now_s(self) -> float:
        return self.timeline.now_s

    def post(self, event: Event) -> None:
        self.posted.post(event)

    def post_when_gone(self, owner: Any, event: Event) -> Callable[[], None]:
        return self.posted.post_when_gone(owner, event)

    def call_when_gone(self, owner: Any, call: Callable[[], None]) -> None:
        self.posted.call_when_gone(owner, call)

    def wait_event(self) -> Event | None:
        self.turns.become_loop()
        while True:
            self.turns.give_way()
            if self.closing:
                return None
            if self.events or self.posted.has_event():
                self.events_taken += 1
                self.faults.after_event(self.events_taken)
                return self.events.popleft() if self.events else self.posted.take()
            if self.timeline.next_s() is None:
                raise EngineError("the simulation is stuck: nothing will ever happen again")
            if self.events_taken > self.world.most_events:
                raise EngineError(f"no end after {self.events_taken} events")
            self.timeline.step()

    def perform(self, command: Command) -> None:
        match command:
            case do.CancelTask():
                self._tell(command.executor, self._signal, command.attempt)
            case do.KillExecutor():
                self._tell(command.executor, self._obey_kill, command.reason)
            case do.StartExecutor():
                node = self.by_name[command.node]
                self.timeline.after(self._start_s(), self._restart, node, node.incarnation)
            case do.GrantSpace() if command.writer == DRIVER:
                self.space.answer(command.place)
            case do.MoveSegment():
                self.copies.begin(command, command.target)
            case do.FetchParts():
                self.fetches.begin(command, command.source)
            case do.ReleaseNode():
                self.faults.leave(self.by_name[command.node])
                self.growth.follow()
            case do.WantExecutors():
                self.growth.want(command)
            case do.DropSegments():
                node = self.by_name[command.node]
                node.forgotten.update(command.segments)
                remove_segments(node.folders, command.segments)
                self.conversation.send(command)
            case do.ClearExecutor():
                folders = self.by_name[command.node].folders
                clear_segments(folders, command.executor, command.known)
            case do.SetTimer():
                self.timers.set(command)
                self.timeline.at(command.at_s, self._fire_timers)
            case do.LaunchTask():
                # Each prefetched segment has a file of its own here.
                own = tuple(each._replace(stretches=()) for each in command.prefetched)
                self.conversation.send(command._replace(prefetched=own))
            case _:
                sent = self.conversation.send(command)
                assert sent, f"nobody performs {command!r}"

    def put(self, buffers: Sequence[Any], size: int) -> BlockRef:
        return self.space.put(buffers, size)

    def read(self, ref: BlockRef) -> memoryview:
        return SegmentReader(self.reach(None, ref.node).folders).view(ref)

    def add_node(self, pool_bytes: int) -> NodeId:
        return self.take_in(NodePlan(0, pool_bytes))

    def take_in(self, plan: NodePlan) -> NodeId:
        """Adds a node, which joins."""
        node = self._make_node(NodeId(f"node-{len(self.nodes)}"), plan.speed)
        self.nodes.append(node)
        self.plans.append(plan)
        self.by_name[node.id] = node
        self.join_node(len(self.nodes) - 1)
        return node.id

    def executor_count(self) -> int:
        return sum(plan.executors for plan in self.plans)

    def scratch_folder(self) -> str:
        return self.folder

    def files_folder(self) -> str:
        return os.path.join(self.folder, "files")

    def share_files(self, names: Sequence[str]) -> None:
        """All executors of this process read the driver's folder."""

    def close(self) -> None:
        self.closing = True

    def refuse(self) -> None:
        self.space.close()

    def release(self) -> None:
        for executor in self.executors.values():
            executor.kill()
        self.space.release()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.lock)

    # Messages

    def latency_s(self) -> float:
        return self.dice.expovariate(1 / self.world.latency_s)

    def heard_s(self, node: SimNode) -> float:
        """When a word between a node and the driver passes, apart from its latency."""
        return max(self.now_s(), node.cut_until_s)

    def _tell(self, id: ExecutorId, call: Callable[..., None], *args: Any) -> None:
        executor = self.executors.get(id)
        sent_s = self.now_s() if executor is None else self.heard_s(executor.place)
        self.timeline.at(sent_s + self.latency_s(), call, id, *args)

    def carry_to(self, executor: SimExecutor, message: Message) -> None:
        at_s = max(executor.last_put_s, self.heard_s(executor.place) + self.latency_s())
        if message[0] == "task":
            # All of its virtual time passes first; then its rows are computed in no time.
            at_s += executor.computing_s()
        executor.last_put_s = at_s
        self.timeline.at(at_s, executor.deliver, message)

    def carry_from(self, executor: SimExecutor, message: Message) -> None:
        at_s = max(executor.last_sent_s, self.heard_s(executor.place) + self.latency_s())
        executor.last_sent_s = at_s
        sent = SentMessage(message)
        self.on_way.setdefault(executor.id, deque()).append(sent)
        self.timeline.at(at_s, self._deliver, executor, sent)
        if message[0] in FINAL_MESSAGES and self.dice.random() < self.world.doubled_words:
            self.reached["doubled word"] += 1
            self.timeline.at(
                at_s + self.latency_s() * 20, self._deliver, executor, SentMessage(message)
            )

    def _deliver(self, executor: SimExecutor, sent: SentMessage) -> None:
        on_way = self.on_way.get(executor.id)
        if on_way and on_way[0] is sent:
            on_way.popleft()
        if sent.lost:
            return
        if executor.id not in self.conversation.peers:
            self.reached["late word"] += 1
            if sent.message[0] == "ready":
                return
        executor.joined = True
        self.events.extend(decode(executor, sent.message))

    def _signal(self, id: ExecutorId, attempt: int) -> None:
        executor = self.executors.get(id)
        if executor is not None:
            executor.signal(attempt)

    def _fire_timers(self) -> None:
        self.events.extend(self.timers.take_due(self.now_s()))

    # Nodes and executors

    def reach(self, reader: SimExecutor | None, id: NodeId) -> SimNode:
        """Returns a node to read from; a hung one answers when it is back, or not in time."""
        node = self.by_name[id]
        if reader is not None and node.stands_still(self.now_s()):
            reader.stand_still(min(node.hung_until_s - self.now_s(), self.world.lost_after_s))
        is_cut = reader is None and node.cut_until_s > self.now_s()
        if not node.up or node.stands_still(self.now_s()) or is_cut:
            raise OSError(f"{id} does not answer")
        if reader is not None and reader.met.get(id) != node.incarnation:
            # The reader does not have the new address of the restarted node's block server.
            raise OSError(f"{id} is not where it was")
        return node

    def join_node(self, number: int) -> None:
        """A node joins, for the first time or again."""
        node = self.nodes[number]
        node.up = True
        self._forget_peers(node)
        for executor in self.executors.values():
            if executor.id in self.conversation.peers:
                executor.met[node.id] = node.incarnation
        plan = self.plans[number]
        self.events.append(
            ev.NodeJoined(
                node.id,
                plan.pool_bytes,
                storage_only=not plan.executors,
                executors=plan.executors,
            )
        )
        for _ in range(plan.executors):
            self.timeline.after(self._start_s(), self._restart, node, node.incarnation)

    def _start_s(self) -> float:
        return self.dice.expovariate(1 / self.world.start_s)

    def _restart(self, node: SimNode, incarnation: int) -> None:
        if not node.up or node.incarnation != incarnation:
            return
        if node.cut_until_s > self.now_s():
            # The order to start it has not come.
            self.timeline.at(node.cut_until_s, self._restart, node, incarnation)
            return
        id = ExecutorId(self.next_executor)
        self.next_executor += 1
        executor = SimExecutor(id, node, self, self.limits)
        executor.met = {each.id: each.incarnation for each in self.by_name.values()}
        self.executors[id] = self.conversation.peers[id] = executor
        executor.resume()
        if node.stillborn_until_s > self.now_s():
            self.kill_executor(executor, "exited with code 1")

    def _obey_kill(self, id: ExecutorId, reason: str) -> None:
        executor = self.executors.get(id)
        if executor is None:
            return
        if executor.place.stands_still(self.now_s()):
            self.timeline.at(executor.place.hung_until_s, self._obey_kill, id, reason)
        else:
            self.kill_executor(executor, f"killed by SIGKILL ({reason})")

    def kill_executor(self, executor: SimExecutor, reason: str) -> None:
        """Ends an executor; the driver is notified after its last messages, or before them."""
        self.end_executor(executor)
        reported_s = self.heard_s(executor.place) + self.latency_s()
        if self.dice.random() >= self.world.late_words:
            reported_s = max(reported_s, executor.last_sent_s)
        self.timeline.at(reported_s, self._report_lost, executor, reason)

    def end_executor(self, executor: SimExecutor) -> None:
        """Ends an executor silently; the last of its messages on the way may be lost."""
        if self.executors.pop(executor.id, None) is None:
            return
        executor.kill()
        on_way = self.on_way.pop(executor.id, deque())
        for sent in list(on_way)[self.dice.randint(0, len(on_way)) :]:
            sent.lost = True

    def _report_lost(self, executor: SimExecutor, reason: str) -> None:
        if self.conversation.peers.pop(executor.id, None) is not None:
            if executor.joined:
                self.events.append(ev.ExecutorLost(executor.id, reason))
            else:
                self.events.append(ev.StartFailed(executor.id, executor.node, reason))

    def report_node_lost(self, node: SimNode, reason: str) -> None:
        """Reports a node as lost to the driver."""
        self._forget_peers(node)
        self.events.append(ev.NodeLost(node.id, reason))

    def _forget_peers(self, node: SimNode) -> None:
        for id, peer in list(self.conversation.peers.items()):
            if peer.node == node.id:
                del self.conversation.peers[id]
