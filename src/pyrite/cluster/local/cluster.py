"""The local adapter: executors as processes of this machine, on one node or on several."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyrite.blocks.segments import clear_segments, remove_segments
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.space import remove_spills
from pyrite.cluster.conversation import Conversation, decode
from pyrite.cluster.local.descriptors import check_descriptors
from pyrite.cluster.local.executor import ExecutorLink
from pyrite.cluster.local.forkserverprocess import ForkServerProcess
from pyrite.cluster.local.hosts import Hosts
from pyrite.cluster.local.kin import in_sessions, kill_all, kill_tree, send_signal
from pyrite.cluster.local.node import LocalNode, NodeShape, NodeWays
from pyrite.cluster.local.watch import Watch
from pyrite.cluster.local.wire import Message
from pyrite.cluster.port import StageSource, Threads
from pyrite.cluster.posted import Posted
from pyrite.cluster.space import DRIVER_NODE, DriverSpace
from pyrite.cluster.threads import FreeThreads
from pyrite.cluster.timers import Timers
from pyrite.errors import UserError
from pyrite.execute.worker import WorkerLimits
from pyrite.ids import DRIVER, BlockRef, ExecutorId, NodeId
from pyrite.remote.neighbours import Neighbours
from pyrite.remote.reader import NodeReader
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.sparkfiles import ENVIRONMENT as FILES_VARIABLE

if TYPE_CHECKING:
    from pyrite.remote.process import ServerProcess


class LocalCluster:
    """Processes, sockets, timers and shared memory of this machine.

    If nodes are served, each has a block server from which the others read its blocks, and the
    driver has a node of its own; otherwise the driver shares the only node.
    """

    def __init__(
        self,
        shapes: Sequence[NodeShape],
        driver_pool_bytes: int,
        local_dir: str,
        source: StageSource,
        limits: WorkerLimits,
        environment: dict[str, str],
        served: bool,
        send_bytes_per_s: int = 0,
    ) -> None:
        self.conversation = Conversation(source)
        self.threads: Threads = FreeThreads()
        self.links: dict[int, ExecutorLink] = {}
        self.by_id: dict[ExecutorId, ExecutorLink] = {}
        self.next_executor = 0
        self.timers = Timers()
        self.watch = Watch(limits.network_timeout_s, warn)
        self.events: deque[Event] = deque()
        self.newcomers: deque[LocalNode] = deque()
        self.closing = False
        self.wake_read, write = socket.socketpair()
        self.wake_read.setblocking(False)
        write.setblocking(False)
        # A file object, not a descriptor: once closed, it can't be mistaken for another file.
        self.wake_write = io.FileIO(write.detach(), "w")
        self.posted = Posted(self.wake_write.write)
        self.poll = select.epoll()
        self.poll.register(self.wake_read, select.EPOLLIN)
        self.neighbours = Neighbours(limits.network_timeout_s)
        self.hosts = Hosts(local_dir, self.poll, self.post, self.watch, self._joined, self._left)
        try:
            nodes = self.hosts.plan(shapes, driver_pool_bytes, served)
            check_descriptors(sum(shape.executors for shape in shapes), len(nodes))
            self.driver = self.hosts.driver
            self.folders = self.driver.folders
            self.hosts.ways = self.ways = NodeWays(
                {"limits": list(limits)},
                {**environment, FILES_VARIABLE: self.files_folder()},
                os.urandom(32) if served else None,
                send_bytes_per_s,
            )
            self._start_nodes(nodes)
        except BaseException:
            self._end()
            raise
        self.reader = NodeReader(self.folders, self.neighbours)
        self.space = DriverSpace(SegmentWriter, self.folders, self.post, self.threads)

    def _start_nodes(self, nodes: Sequence[LocalNode]) -> None:
        """Starts all nodes at once, and waits until all listen."""
        for node in nodes:
            self.hosts.begin(node)
        while not all(node.listens for node in self.hosts.starting.values()):
            self._poll(self._timeout_s())
        self.hosts.open = True
        for node in nodes:
            self.hosts.admit(self.hosts.starting[node.id])

    @property
    def nodes(self) -> dict[NodeId, LocalNode]:
        """The nodes that have joined."""
        return self.hosts.nodes

    def add_node(self, pool_bytes: int) -> NodeId:
        if self.ways.secret is None:
            raise UserError(
                "a cluster of one node can't take in storage-only nodes: "
                "use the master local-cluster[1,2,2g] in place of local[2]"
            )
        node = self.hosts.new_storage(NodeShape(0, pool_bytes))
        try:
            node.start(self.ways)
            node.wait()
        except BaseException:
            node.end(timeout_s=1.0)
            raise
        self.newcomers.append(node)
        self.posted.wake_loop()
        return node.id

    def _send_nodes(self) -> None:
        """Sends the addresses of all block servers to all that read blocks."""
        if self.ways.secret is None:
            return
        self.neighbours.meet(self.ways.secret, self.hosts.addresses())
        for executor in self.by_id.values():
            executor.put(("nodes", self.ways.secret, self.hosts.addresses()))

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

    def scratch_folder(self) -> str:
        return self.folders.disk

    def files_folder(self) -> str:
        return os.path.join(self.folders.disk, "files")

    def refuse(self) -> None:
        self.space.close()

    def close(self) -> None:
        self.closing = True
        self.posted.wake_loop()

    def release(self) -> None:
        """Ends all processes and removes the scratch folders; after the loop has ended."""
        self.reader.close()
        self.space.release()
        self._end()

    def _end(self) -> None:
        for executor in self.by_id.values():
            executor.link.close()
        self.hosts.remove(self.newcomers)
        self.posted.close()
        self.poll.close()
        self.wake_read.close()
        self.wake_write.close()

    # Events

    def wait_event(self) -> Event | None:
        while True:
            if self.closing:
                return None
            while self.newcomers:
                self.hosts.admit(self.newcomers.popleft())
            if self.events:
                return self.events.popleft()
            if self.posted.has_event():
                return self.posted.take()
            self._flush()
            self._poll(self._timeout_s())

    def _timeout_s(self) -> float:
        next_s = self.watch.next_s()
        timer_s = self.timers.next_s()
        if timer_s is not None and timer_s < next_s:
            next_s = timer_s
        return max(0.0, next_s - self.now_s())

    def _poll(self, timeout_s: float) -> None:
        wake = self.wake_read.fileno()
        for fd, _ in self.poll.poll(timeout_s):
            if fd == wake:
                with contextlib.suppress(BlockingIOError):
                    self.wake_read.recv(4096)
            elif fd in self.links:
                self._read_executor(self.links[fd])
            else:
                self._read_node(fd)
        now_s = self.now_s()
        # After reading: answers may have been waiting in the sockets.
        for pid in self.watch.tend(self.hosts.asked, now_s):
            send_signal(pid, signal.SIGKILL)
        self.events.extend(self.timers.take_due(now_s))

    def _read_executor(self, executor: ExecutorLink) -> None:
        for message in executor.link.read():
            if message[0] == "ready":
                executor.pid = message[1]
                executor.joined = executor.host.proven = True
            self.events.extend(decode(executor, message))
        if executor.link.closed:
            # The fork server will report how it ended.
            self.poll.unregister(executor.link.sock)
            del self.links[executor.link.sock.fileno()]

    def _read_node(self, fd: int) -> None:
        for node in self.hosts.all:
            if node.server is not None and fd == node.server.poll.fileno():
                self._read_server(node, node.server)
                return
            if node.fork_server is not None and fd == node.fork_server.link.sock.fileno():
                self._read_fork_server(node, node.fork_server)
                return

    def _read_server(self, node: LocalNode, server: ServerProcess) -> None:
        self.watch.mark_alive(server.process.pid)
        self.events.extend(node.receive())
        if server.closed:
            self.hosts.lose_server(node)
        elif node.id in self.hosts.starting:
            self.hosts.admit_if_ready(node)

    def _read_fork_server(self, node: LocalNode, fork_server: ForkServerProcess) -> None:
        self.watch.mark_alive(fork_server.process.pid)
        for message in fork_server.read():
            executor = self.by_id.get(message[1])
            if executor is not None:
                self._note_executor(executor, message)
        if fork_server.link.closed and not self.closing:
            self._lose_fork_server(node, fork_server)

    def _note_executor(self, executor: ExecutorLink, message: Message) -> None:
        """Handles a fork server's message about an executor."""
        match message:
            case ("forked", _, pid):
                executor.pid = pid
            case ("not forked", _, reason):
                self._bury(executor, f"could not be forked: {reason}")
            case ("stopped", _) if executor.pid is not None:
                self.watch.stops(executor.pid, f"executor {executor.id}", self.now_s())
            case ("continued", _) if executor.pid is not None:
                self.watch.continues(executor.pid)
            case ("exited", _, code):
                end = describe_exit(code)
                if not executor.joined and code > 0:
                    end += "; see its error output"
                self._bury(executor, end)

    def _bury(self, executor: ExecutorLink, reason: str) -> None:
        """Reads the last messages of an executor that has ended, then reports its end."""
        if not executor.link.closed:
            self._read_executor(executor)
            if not executor.link.closed:
                self.poll.unregister(executor.link.sock)
                del self.links[executor.link.sock.fileno()]
        executor.link.close()
        del self.by_id[executor.id]
        del self.conversation.peers[executor.id]
        # Its folder may have been removed with its node.
        with contextlib.suppress(FileNotFoundError):
            remove_spills(executor.host.folders.disk, executor.pid)
            os.unlink(executor.flag.path)
        if executor.pid is not None:
            reason = self.watch.end_of(executor.pid, reason)
            self.watch.forget(executor.pid)
        reason = f"{reason} ({executor.kill_reason})" if executor.kill_reason else reason
        if executor.joined:
            self.events.append(ev.ExecutorLost(executor.id, reason))
        else:
            self.events.append(ev.StartFailed(executor.id, executor.node, reason))

    # Commands

    def perform(self, command: Command) -> None:
        match command:
            case do.CancelTask():
                executor = self.by_id.get(command.executor)
                if executor is not None and executor.pid is not None:
                    executor.flag.set(command.attempt)
                    send_signal(executor.pid, signal.SIGUSR1)
            case do.KillExecutor():
                executor = self.by_id.get(command.executor)
                if executor is not None and executor.pid is not None:
                    executor.kill_reason = command.reason
                    kill_tree(executor.pid)
            case do.StartExecutor():
                node = self.nodes.get(command.node)
                # If its whole node was lost after it, the new node has replaced it already.
                if node is not None and len(self._executors_of(node)) < node.shape.executors:
                    self._start_executor(node)
            case do.GrantSpace() if command.writer == DRIVER:
                self.space.answer(command.place)
            case do.MoveSegment():
                self._move(command)
            case do.FetchParts():
                self._fetch(command)
            case do.ReleaseNode():
                if command.node in self.nodes:
                    self.hosts.end(self.nodes[command.node], "it was asked to leave")
            case do.DropSegments():
                self._remove_segments(command)
                self.conversation.send(command)
            case do.ClearExecutor():
                if command.node in self.nodes:
                    folders = self.nodes[command.node].folders
                    clear_segments(folders, command.executor, command.known)
            case do.SetTimer():
                self.timers.set(command)
            case do.DeliverResult() | do.CountAccumulators() | do.FinishJob() | do.TellMemory():
                raise AssertionError("the driver's waiters perform these")
            case _:
                sent = self.conversation.send(command)
                assert sent, f"nobody performs {command!r}"

    def _flush(self) -> None:
        for executor in self.by_id.values():
            if executor.link.outbox:
                executor.flush()

    def _remove_segments(self, command: do.DropSegments) -> None:
        node = self.nodes.get(command.node)
        if node is None:
            return
        remove_segments(node.folders, command.segments)
        self.reader.forget(command.segments)
        if node.server is not None:
            node.server.forget(command.segments)

    def _move(self, command: do.MoveSegment) -> None:
        node, target = self.nodes.get(command.node), self.nodes.get(command.target)
        if node is None or target is None:
            self.events.append(ev.SegmentNotMoved(command.move, "its node has gone"))
            return
        node.move(command, None if target is node else target.address)

    def _fetch(self, command: do.FetchParts) -> None:
        node, source = self.nodes.get(command.node), self.nodes.get(command.source)
        if node is None or source is None:
            self.events.append(ev.PartsNotFetched(command.fetch, "its node has gone"))
            return
        node.fetch(command, None if source is node else source.address)

    # Processes

    def _joined(self, node: LocalNode) -> None:
        """Reports a node that joins, and starts its executors."""
        # The driver's memory is for the driver's own blocks.
        lends = node.id != DRIVER_NODE
        storage_only = lends and not node.shape.executors
        self.events.append(ev.NodeJoined(node.id, node.shape.pool_bytes, lends, storage_only))
        self._send_nodes()
        for _ in range(node.shape.executors):
            self._start_executor(node)

    def _left(self, node: LocalNode, reason: str) -> None:
        """Reports a node that was lost with its executors."""
        self._end_executors(node, reason)
        self.events.append(ev.NodeLost(node.id, reason))
        self._send_nodes()

    def _lose_fork_server(self, node: LocalNode, fork_server: ForkServerProcess) -> None:
        """Ends the executors of a fork server that was killed; another starts when needed."""
        pid = fork_server.process.pid
        what = "the process that executors are forked from was killed"
        reason = self.watch.end_of(pid, what)
        self.watch.forget(pid)
        if self.ways.secret is not None:
            self.hosts.lose(node, reason)
            return
        fork_server.close(timeout_s=1.0)
        self._end_executors(node, reason)

    def _executors_of(self, node: LocalNode) -> list[ExecutorLink]:
        return [each for each in self.by_id.values() if each.host is node]

    def _end_executors(self, node: LocalNode, reason: str) -> None:
        pids = {each.pid for each in self._executors_of(node) if each.pid is not None}
        for pid in pids:
            send_signal(pid, signal.SIGKILL)
        for executor in self._executors_of(node):
            self._bury(executor, reason)
        if pids:
            # The killed fork server could not end the processes that their tasks started.
            kill_all(lambda: in_sessions(pids))

    def _start_executor(self, node: LocalNode) -> None:
        id = ExecutorId(self.next_executor)
        self.next_executor += 1
        try:
            executor = ExecutorLink(id, node, node.start_fork_server(self.ways).fork(id), self.poll)
        except OSError as error:
            self.events.append(ev.StartFailed(id, node.id, f"could not be forked: {error}"))
            return
        self.by_id[id] = self.conversation.peers[id] = executor
        self.links[executor.link.sock.fileno()] = executor
        if self.ways.secret is not None:
            executor.put(("nodes", self.ways.secret, self.hosts.addresses()))


def warn(text: str) -> None:
    import logging

    logging.getLogger("pyrite").warning(text)


def describe_exit(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"
