"""The driver's side of a cluster of real processes: one loop over sockets, timers and events."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from pyrite.blocks.writer import SegmentWriter
from pyrite.cluster.conversation import Conversation
from pyrite.cluster.node.filefetches import files_folder
from pyrite.cluster.node.kin import in_sessions, kill_all, send_signal
from pyrite.cluster.node.options import AgentHello
from pyrite.cluster.node.storage import StorageWays
from pyrite.cluster.node.watch import Watch
from pyrite.cluster.port import StageSource, Threads
from pyrite.cluster.posted import Posted
from pyrite.cluster.real.clustercalls import calls_to
from pyrite.cluster.real.clusternode import ClusterNode
from pyrite.cluster.real.descriptors import check_descriptors
from pyrite.cluster.real.drivernode import FORKING, SERVER, DriverNode
from pyrite.cluster.real.executorlink import ExecutorLink
from pyrite.cluster.real.executors import LinkedExecutors
from pyrite.cluster.real.hearing import hear, warn
from pyrite.cluster.real.nodes import Nodes, StartingNode, Ways
from pyrite.cluster.real.orders import StorageOrders, outcome
from pyrite.cluster.real.reception import Reception
from pyrite.cluster.real.setup import ManyNodes, OneNode, RealSetup
from pyrite.cluster.real.sharedfiles import SharedFiles
from pyrite.cluster.space import DRIVER_NODE, DriverSpace
from pyrite.cluster.threads import FreeThreads
from pyrite.cluster.timers import Timers
from pyrite.errors import UserError
from pyrite.ids import DRIVER, BlockRef, ExecutorId, NodeId
from pyrite.remote.neighbours import Neighbours
from pyrite.remote.reader import NodeReader
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event

# How long the end of a cluster waits for its processes.
RELEASE_S = 5.0
# How often the start looks whether it is ready.
START_TURN_S = 0.5


class RealCluster:
    """Processes, sockets, timers and shared memory.

    On one node the driver's folders are the executors' too, and nothing listens. On many, each
    node has an agent with a connection to the driver, and a block server from which the others
    read its blocks; the driver has a node of its own.
    """

    def __init__(self, source: StageSource, setup: RealSetup, way: OneNode | ManyNodes) -> None:
        self.setup = setup
        self.threads: Threads = FreeThreads()
        self.timers = Timers()
        self.events: deque[Event] = deque()
        # Calls that other threads want from the loop's.
        self.calls: deque[Callable[[], None]] = deque()
        self.closing = False
        self.wake_read, write = socket.socketpair()
        self.wake_read.setblocking(False)
        write.setblocking(False)
        # A file object, not a descriptor: once closed, it can't be mistaken for another file.
        self.wake_write = io.FileIO(write.detach(), "w")
        self.posted = Posted(self.wake_write.write)
        self.poll = select.epoll()
        self.poll.register(self.wake_read, select.EPOLLIN)
        self.neighbours = Neighbours(setup.timeout_s)
        self.secret = os.urandom(32) if isinstance(way, ManyNodes) else None
        self.watch: Watch[Hashable] = Watch(setup.timeout_s, warn)
        self.conversation = Conversation(source)
        self.executors = LinkedExecutors(self.conversation, self.events, self.watch, self.poll)
        self.reception: Reception | None = None
        self.files: SharedFiles | None = None
        self.many: Nodes | None = None
        self.is_over = way.is_over if isinstance(way, ManyNodes) else lambda: None
        self.own: DriverNode | None = None
        try:
            self.own = self._own_node(way)
            self.folders = self.own.node.folders
            if isinstance(way, ManyNodes):
                self._start_many(way)
            else:
                self._start_one()
        except BaseException:
            self._end()
            raise
        self.orders = StorageOrders(self.nodes, self.post)
        self.reader = NodeReader(self.folders, self.neighbours)
        self.space = DriverSpace(SegmentWriter, self.folders, self.post, self.threads)

    # Starts

    def _own_node(self, way: OneNode | ManyNodes) -> DriverNode:
        setup = self.setup
        if isinstance(way, OneNode):
            check_descriptors(way.executors, 1)
            ways = StorageWays(setup.pool_bytes, None, ("", 0), 0)
            start = way.start_fork_server
            own = DriverNode(
                NodeId("node-0"),
                way.executors,
                setup.local_dir,
                ways,
                self.poll,
                lambda storage: start(storage, self.poll),
            )
        else:
            check_descriptors(0, len(way.plans) + 1)
            rate = setup.send_bytes_per_s
            ways = StorageWays(setup.pool_bytes, self.secret, way.block_listen, rate)
            own = DriverNode(DRIVER_NODE, 0, setup.local_dir, ways, self.poll, None)
        return own

    def _start_one(self) -> None:
        assert self.own is not None
        self.nodes = {self.own.node.id: self.own.node}
        self.own.start()
        self._joined(self.own.node)

    def _start_many(self, way: ManyNodes) -> None:
        """Starts all nodes at once, and waits until all could join."""
        assert self.own is not None and self.secret is not None
        self.reception = Reception(self.secret, way.listen, self.poll)
        setup = self.setup
        ways = Ways(
            self.secret,
            self.reception.address,
            setup.local_dir,
            setup.send_bytes_per_s,
            way.alone_s,
        )
        # The last ping that it may leave unanswered is sent so long before its time is over.
        timeout_s = way.patience_s - way.ping_s
        self.agents_watch: Watch[Hashable] = Watch(timeout_s, warn, way.ping_s, way.setting)
        self.many = Nodes(way.starter, ways, self.poll, self.agents_watch, self._joined, self._left)
        self.nodes = self.many.nodes
        self.own.start()
        way.starter.open(calls_to(self.many, self.call, self.post))
        for plan in way.plans:
            self.many.begin(plan)
        while not self.own.storage.listens or not way.is_ready(self.many):
            self._poll(min(START_TURN_S, self._timeout_s()))
            self._make_calls()
        self.own.node.address = address = self.own.storage.address
        assert address is not None
        self.files = SharedFiles(self.folders, address)
        self.many.add_driver(self.own.node)
        self.many.open_to(way.plans)

    @property
    def driver(self) -> DriverNode:
        assert self.own is not None
        return self.own

    @property
    def by_id(self) -> dict[ExecutorId, ExecutorLink]:
        """The executors that were ordered, and have not ended."""
        return self.executors.by_id

    def add_node(self, pool_bytes: int) -> NodeId:
        if self.many is None:
            raise UserError(
                "a cluster of one node can't take in storage-only nodes: "
                "use the master local-cluster[1,2,2g] in place of local[2]"
            )
        return self.many.add(self.many.starter.storage_plan(pool_bytes), self.call, self.threads)

    def share_files(self, names: Sequence[str]) -> None:
        """Brings files of the driver's folder to all nodes, before the tasks of later jobs."""
        if self.files is not None:
            number = self.files.pack(names)
            self.call(lambda: self._share(number))

    def _share(self, number: int) -> None:
        assert self.files is not None
        self.files.tell(self.nodes.values(), [number])

    def call(self, work: Callable[[], None]) -> None:
        """Has the loop's thread call it; callable from any thread."""
        self.calls.append(work)
        self.posted.wake_loop()

    # The port

    def now_s(self) -> float:
        return time.monotonic()

    def post(self, event: Event) -> None:
        self.posted.post(event)

    def post_when_gone(self, owner: Any, event: Event) -> Callable[[], None]:
        return self.posted.post_when_gone(owner, event)

    def call_when_gone(self, owner: Any, call: Callable[[], None]) -> None:
        self.posted.call_when_gone(owner, call)

    def put(self, buffers: Sequence[Any], size: int) -> BlockRef:
        return self.space.put(buffers, size)

    def read(self, ref: BlockRef) -> memoryview:
        return self.reader.view(ref)

    def executor_count(self) -> int:
        return sum(each.executors for each in list(self.nodes.values()))

    def scratch_folder(self) -> str:
        return self.folders.disk

    def files_folder(self) -> str:
        return files_folder(self.folders)

    def refuse(self) -> None:
        self.space.close()
        if self.many is not None:
            self.many.refuse()

    def close(self) -> None:
        self.closing = True
        self.posted.wake_loop()

    def release(self) -> None:
        """Ends all processes and removes the scratch folders; after the loop has ended."""
        self.reader.close()
        self.space.release()
        self._end()

    def _end(self) -> None:
        self.executors.close()
        if self.reception is not None:
            self.reception.close()
        if self.own is not None:
            self.own.hang_up()
        if self.many is not None:
            self.many.release(RELEASE_S)
        if self.own is not None:
            self.own.end(RELEASE_S)
        self.is_over()
        self.posted.close()
        self.poll.close()
        self.wake_read.close()
        self.wake_write.close()

    # Events

    def wait_event(self) -> Event | None:
        while True:
            if self.closing:
                return None
            self._make_calls()
            if self.events:
                return self.events.popleft()
            if self.posted.has_event():
                return self.posted.take()
            self.executors.flush()
            self._poll(self._timeout_s())

    def _make_calls(self) -> None:
        while self.calls:
            self.calls.popleft()()

    def _timeout_s(self) -> float:
        times = [self.watch.next_s()]
        if (timer_s := self.timers.next_s()) is not None:
            times.append(timer_s)
        if self.reception is not None:
            times.append(self.agents_watch.next_s())
            if (door_s := self.reception.next_s()) is not None:
                times.append(door_s)
        return max(0.0, min(times) - self.now_s())

    def _poll(self, timeout_s: float) -> None:
        wake = self.wake_read.fileno()
        for fd, _ in self.poll.poll(timeout_s):
            if fd == wake:
                with contextlib.suppress(BlockingIOError):
                    self.wake_read.recv(4096)
            elif fd in self.executors.by_fd:
                self.executors.read(fd)
            elif self.many is not None and fd in self.many.by_agent:
                self._read_agent(self.many.by_agent[fd])
            else:
                self._read_other(fd)
        now_s = self.now_s()
        # After reading: answers may have been waiting in the sockets.
        self._tend(now_s)
        self.events.extend(self.timers.take_due(now_s))

    def _tend(self, now_s: float) -> None:
        """Pings who is due, and gives up who has been silent for too long."""
        for key in self.watch.tend(self.driver.asked, now_s):
            if isinstance(key, int):
                executor = self.by_id.get(ExecutorId(key))
                if executor is not None:
                    executor.agent.kill(executor.id)
            else:
                self.driver.kill(key)
        if self.many is not None and self.reception is not None:
            for ticket in self.agents_watch.tend(self.many.asked, now_s):
                self.many.give_up(ticket)
            self.reception.tend(now_s)

    def _read_other(self, fd: int) -> None:
        own, many = self.driver, self.many
        if own.storage.server is not None and fd == own.storage.server.poll.fileno():
            self._read_own_server()
        elif own.fork_server is not None and fd == own.fork_server.agent.fd:
            self._read_fork_server()
        elif self.reception is not None and self.reception.owns(fd):
            arrival = self.reception.receive(fd, self.now_s())
            if arrival is not None and many is not None:
                many.accept(arrival)
        elif many is not None and (fd in many.by_status or fd in many.leaving):
            many.read_status(fd)

    def _read_own_server(self) -> None:
        storage = self.driver.storage
        self.watch.mark_alive(SERVER)
        self.events.extend(outcome(type(each).__name__, *each) for each in storage.receive())
        assert storage.server is not None
        if storage.server.closed:
            self.driver.restart_server(lambda end: self.watch.end_of(SERVER, end))
            self.watch.forget(SERVER)

    def _read_fork_server(self) -> None:
        fork_server = self.driver.fork_server
        assert fork_server is not None
        agent = fork_server.agent
        self.watch.mark_alive(FORKING)
        for message in agent.read():
            self.executors.note(agent, message, self.now_s())
        if agent.closed and not self.closing:
            self._lose_fork_server()

    def _read_agent(self, starting: StartingNode) -> None:
        agent = starting.agent
        assert agent is not None and self.many is not None
        self.agents_watch.mark_alive(starting.ticket)
        for message in agent.read():
            if message[0] == "hello":
                self.many.greet(starting, AgentHello(*message[1:]))
            else:
                hear(starting, message, self.executors, self.files)
        if agent.closed and not self.closing and starting.ticket in self.many.started:
            self.many.lose(starting, starting.problem or "its agent was killed")

    def perform(self, command: Command) -> None:
        match command:
            case do.GrantSpace() if command.writer == DRIVER:
                self.space.answer(command.place)
            case do.StartExecutor():
                node = self.nodes.get(command.node)
                # If its whole node was lost after it, the new node has replaced it already.
                if node is not None and self._count_on(node) < node.executors:
                    self._start_executor(node)
            case do.SetTimer():
                self.timers.set(command)
            case do.DropSegments():
                self.reader.forget(command.segments)
                self.orders.perform(command)
                self.conversation.send(command)
            case do.CancelTask():
                self.executors.cancel(command.executor, command.attempt)
            case do.KillExecutor():
                self.executors.kill(command.executor, command.reason)
            case do.ReleaseNode():
                if self.many is not None:
                    self.many.dismiss(command.node)
            case do.WantExecutors():
                if self.many is not None:
                    self.many.want(command)
            case _ if isinstance(command, do.ForDesk):
                raise AssertionError("the driver's waiters perform these")
            case _:
                done = self.orders.perform(command) or self.conversation.send(command)
                assert done, f"nobody performs {command!r}"

    # Nodes and executors

    def _joined(self, node: ClusterNode) -> None:
        """Reports a node that joins, and starts its executors."""
        self.events.append(
            ev.NodeJoined(node.id, node.pool_bytes, node.lends, node.storage_only, node.executors)
        )
        self._learn_addresses()
        if self.files is not None:
            self.files.tell_all(node)
        for _ in range(node.executors):
            self._start_executor(node)

    def _left(self, node: ClusterNode, reason: str) -> None:
        """Reports a node that was lost with its executors."""
        # The node first: no task is to blame for the end of its executor then.
        self.events.append(ev.NodeLost(node.id, reason))
        if node.agent is not None:
            self.executors.bury_all(node.agent, reason)
        self._learn_addresses()
        self.neighbours.give_up(node.address)
        self.conversation.holders.forget_node(node.id)
        if self.files is not None:
            self.files.forget(node.id)

    def _learn_addresses(self) -> None:
        if self.many is not None and self.secret is not None:
            self.neighbours.meet(self.secret, self.many.book.addresses)

    def _lose_fork_server(self) -> None:
        """Ends the executors of a fork server that was killed; another starts when needed."""
        fork_server = self.driver.fork_server
        assert fork_server is not None
        what = "the process that executors are forked from was killed"
        reason = self.watch.end_of(FORKING, what)
        self.watch.forget(FORKING)
        fork_server.close(timeout_s=1.0)
        agent = fork_server.agent
        pids = {each.pid for each in agent.executors.values() if each.pid is not None}
        for pid in pids:
            send_signal(pid, signal.SIGKILL)
        self.executors.bury_all(agent, reason)
        for pid in pids:
            self.driver.storage.remove_spills(pid)
        if pids:
            # The killed fork server could not end the processes that their tasks started.
            kill_all(lambda: in_sessions(pids))

    def _count_on(self, node: ClusterNode) -> int:
        agent = node.agent
        if agent is None and self.driver.fork_server is not None:
            agent = self.driver.fork_server.agent
        return 0 if agent is None else len(agent.executors)

    def _start_executor(self, node: ClusterNode) -> None:
        try:
            agent = node.agent or self.driver.agent()
        except OSError as error:
            self.executors.fail(None, node, f"could not be forked: {error}")
            return
        self.executors.start(node, agent)
