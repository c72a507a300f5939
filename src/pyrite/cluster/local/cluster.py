"""The local adapter: executors as processes of this machine, on one node or on several."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from pyrite.blocks.segments import clear_segments, remove_segments
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.space import remove_spills
from pyrite.cluster.conversation import Conversation, heard
from pyrite.cluster.local.executor import ExecutorLink
from pyrite.cluster.local.launcher import Launcher
from pyrite.cluster.local.node import LocalNode, NodeShape
from pyrite.cluster.port import StageSource, Threads
from pyrite.cluster.scratch import Scratch
from pyrite.cluster.space import DRIVER_NODE, DriverSpace
from pyrite.cluster.threads import FreeThreads
from pyrite.cluster.timers import Timers
from pyrite.errors import UserError
from pyrite.execute.worker import Limits
from pyrite.files import ENVIRONMENT as FILES_VARIABLE
from pyrite.ids import BlockRef, ExecutorId, NodeId
from pyrite.remote.errors import Address
from pyrite.remote.neighbours import Neighbours
from pyrite.remote.reader import NodeReader
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.state import DRIVER


class LocalCluster:
    """Processes, sockets, timers and shared memory of this machine.

    Where nodes are served, each has a block server that the others read its blocks from, and the
    driver has a node of its own; else there is one node, which the driver shares.
    """

    def __init__(
        self,
        shapes: Sequence[NodeShape],
        driver_pool_bytes: int,
        local_dir: str,
        source: StageSource,
        limits: Limits,
        environment: dict[str, str],
        served: bool,
        send_bytes_per_s: int = 0,
    ) -> None:
        self.local_dir = local_dir
        self.conversation = Conversation(source)
        self.threads: Threads = FreeThreads()
        self.links: dict[int, ExecutorLink] = {}
        self.by_id: dict[ExecutorId, ExecutorLink] = {}
        self.next_executor = 0
        self.timers = Timers()
        self.events: deque[Event] = deque()
        self.posted: deque[Event] = deque()
        self.newcomers: deque[LocalNode] = deque()
        self.next_storage = 0
        self.closing = False
        # Sockets, not a pipe: once closed, they can't be mistaken for another file.
        self.wake_read, self.wake_write = socket.socketpair()
        self.wake_read.setblocking(False)
        self.wake_write.setblocking(False)
        self.poll = select.epoll()
        self.poll.register(self.wake_read, select.EPOLLIN)
        self.secret = os.urandom(32) if served else None
        self.send_bytes_per_s = send_bytes_per_s
        self.nodes: dict[NodeId, LocalNode] = {}
        self.options: dict[str, Any] = {"limits": list(limits)}
        self.environment = environment
        try:
            self._make_nodes(shapes, driver_pool_bytes)
        except BaseException:
            self._remove_nodes()
            self._close_sockets()
            raise
        self.folders = self.driver.folders
        self.neighbours = Neighbours()
        self.reader = NodeReader(self.folders, self.neighbours)
        self.space = DriverSpace(SegmentWriter, self.folders, self.post, self.threads)
        self.environment = {**environment, FILES_VARIABLE: self.files_folder()}
        self._tell_nodes()
        for node in self.nodes.values():
            self._start_executors(node)

    def _make_nodes(self, shapes: Sequence[NodeShape], driver_pool_bytes: int) -> None:
        if self.secret is not None:
            self._make_node(DRIVER_NODE, NodeShape(0, driver_pool_bytes))
        hosts = [shape for shape in shapes if shape.executors]
        for number, shape in enumerate(hosts):
            self._make_node(NodeId(f"node-{number}"), shape)
        for shape in shapes:
            if not shape.executors:
                self._make_node(self._storage_name(), shape)
        self.driver = next(iter(self.nodes.values()))

    def _storage_name(self) -> NodeId:
        self.next_storage += 1
        return NodeId(f"storage-{self.next_storage - 1}")

    def _make_node(self, id: NodeId, shape: NodeShape) -> LocalNode:
        node = LocalNode(id, shape, Scratch(self.local_dir), self.poll, self.post)
        self.nodes[id] = node
        node.start_server(self.secret, self.send_bytes_per_s)
        self._tell_joined(node)
        return node

    def _tell_joined(self, node: LocalNode) -> None:
        # The driver's memory is for what the driver puts there.
        lends = node.id != DRIVER_NODE
        storage_only = lends and not node.shape.executors
        self.events.append(ev.NodeJoined(node.id, node.shape.pool_bytes, lends, storage_only))

    def add_node(self, pool_bytes: int) -> NodeId:
        if self.secret is None:
            raise UserError(
                "a cluster of one node can't take in storage-only nodes: "
                "use the master local-cluster[1,2,2g] in place of local[2]"
            )
        shape = NodeShape(0, pool_bytes)
        node = LocalNode(self._storage_name(), shape, Scratch(self.local_dir), self.poll, self.post)
        node.start_server(self.secret, self.send_bytes_per_s)
        self.newcomers.append(node)
        self._wake()
        return node.id

    def _admit(self, node: LocalNode) -> None:
        self.nodes[node.id] = node
        self._tell_joined(node)
        self._tell_nodes()
        for other in self.nodes.values():
            if other.launcher is not None:
                other.launcher.adopt(node.orphans())

    def _remove_nodes(self) -> None:
        for node in (*self.nodes.values(), *self.newcomers):
            node.end(timeout_s=5.0)

    def _tell_nodes(self) -> None:
        """Everyone who reads blocks knows where each node's block server is."""
        if self.secret is None:
            return
        self.neighbours.meet(self.secret, self._addresses())
        for executor in self.by_id.values():
            executor.put(("nodes", self.secret, self._addresses()))

    def _addresses(self) -> dict[NodeId, Address]:
        return {node.id: node.address for node in self.nodes.values() if node.address}

    def now_s(self) -> float:
        return time.monotonic()

    def post(self, event: Event) -> None:
        self.posted.append(event)
        self._wake()

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
        self._wake()

    def release(self) -> None:
        """Ends all processes and removes the scratch folders; after the loop has ended."""
        for executor in self.by_id.values():
            executor.link.close()
        self.reader.close()
        self.space.release()
        self._remove_nodes()
        self._close_sockets()

    def _close_sockets(self) -> None:
        self.poll.close()
        self.wake_read.close()
        self.wake_write.close()

    def _wake(self) -> None:
        # A full buffer wakes the loop too, and a closed one has no loop to wake.
        with contextlib.suppress(OSError):
            self.wake_write.send(b"w")

    # Events

    def wait_event(self) -> Event | None:
        while True:
            if self.closing:
                return None
            while self.newcomers:
                self._admit(self.newcomers.popleft())
            if self.events:
                return self.events.popleft()
            if self.posted:
                return self.posted.popleft()
            self._flush()
            self._poll(self._timeout_s())

    def _timeout_s(self) -> float:
        next_s = self.timers.next_s()
        return -1 if next_s is None else max(0.0, next_s - self.now_s())

    def _poll(self, timeout_s: float) -> None:
        wake = self.wake_read.fileno()
        for fd, _ in self.poll.poll(timeout_s):
            if fd == wake:
                with contextlib.suppress(BlockingIOError):
                    self.wake_read.recv(4096)
            elif fd in self.links:
                self._hear_executor(self.links[fd])
            else:
                self._hear_node(fd)
        self.events.extend(self.timers.take_due(self.now_s()))

    def _hear_executor(self, executor: ExecutorLink) -> None:
        for message in executor.link.read():
            if message[0] == "ready":
                executor.pid = message[1]
                executor.joined = True
            self.events.extend(heard(executor, message))
        if executor.link.closed:
            # How it ended, the forge will say in a moment.
            self.poll.unregister(executor.link.sock)
            del self.links[executor.link.sock.fileno()]

    def _hear_node(self, fd: int) -> None:
        for node in list(self.nodes.values()):
            if fd not in node.fds():
                continue
            if node.server is not None and fd == node.server.control.fileno():
                self.events.extend(node.hear())
                if node.server.closed:
                    self._lose_node(node, "its block server was killed")
            elif node.launcher is not None:
                self._hear_forge(node, node.launcher)

    def _hear_forge(self, node: LocalNode, launcher: Launcher) -> None:
        for message in launcher.link.read():
            match message:
                case ("forked", executor, pid):
                    if executor in self.by_id:
                        self.by_id[executor].pid = pid
                case ("exited", executor, code):
                    if executor in self.by_id:
                        self._bury(self.by_id[executor], describe_exit(code))
        if launcher.link.closed and not self.closing:
            self._lose_forge(node, launcher)

    def _bury(self, executor: ExecutorLink, reason: str) -> None:
        """The executor has ended: its last words first, then the news."""
        if not executor.link.closed:
            self._hear_executor(executor)
            if not executor.link.closed:
                self.poll.unregister(executor.link.sock)
                del self.links[executor.link.sock.fileno()]
        executor.link.close()
        del self.by_id[executor.id]
        del self.conversation.peers[executor.id]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(executor.word.path)
        remove_spills(executor.host.folders.disk, executor.pid)
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
                    executor.word.set(command.attempt)
                    send_signal(executor.pid, signal.SIGUSR1)
            case do.KillExecutor():
                executor = self.by_id.get(command.executor)
                if executor is not None and executor.pid is not None:
                    executor.kill_reason = command.reason
                    send_signal(executor.pid, signal.SIGKILL)
            case do.StartExecutor():
                node = self.nodes.get(command.node)
                # One that died before its whole node did has been replaced with that.
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
                    self._end_node(self.nodes[command.node], "it was asked to leave")
            case do.DropSegments():
                self._remove_segments(command)
                self.conversation.tell(command)
            case do.ClearExecutor():
                if command.node in self.nodes:
                    folders = self.nodes[command.node].folders
                    clear_segments(folders, f"e{command.executor}", command.known)
            case do.SetTimer():
                self.timers.set(command)
            case do.DeliverResult() | do.CountAccumulators() | do.FinishJob() | do.TellMemory():
                raise AssertionError("the desk performs these")
            case _:
                told = self.conversation.tell(command)
                assert told, f"nobody performs {command!r}"

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

    def _lose_forge(self, node: LocalNode, launcher: Launcher) -> None:
        """The forge was killed; its executors die with it. Another starts when one is wanted."""
        self.poll.unregister(launcher.link.sock)
        launcher.close(timeout_s=1.0)
        if self.secret is not None:
            self._lose_node(node, "the process that its executors are forked from was killed")
            return
        self._end_executors(node, "the process that executors are forked from was killed")

    def _executors_of(self, node: LocalNode) -> list[ExecutorLink]:
        return [each for each in self.by_id.values() if each.host is node]

    def _end_executors(self, node: LocalNode, reason: str) -> None:
        for executor in self._executors_of(node):
            if executor.pid is not None:
                send_signal(executor.pid, signal.SIGKILL)
            self._bury(executor, reason)

    def _lose_node(self, node: LocalNode, reason: str) -> None:
        """All of a node goes with a part of it; it starts anew, with nothing."""
        self._end_node(node, reason)
        again = self._make_node(node.id, node.shape)
        self._tell_nodes()
        self._start_executors(again)

    def _end_node(self, node: LocalNode, reason: str) -> None:
        del self.nodes[node.id]
        self._end_executors(node, reason)
        for fd in node.fds():
            self.poll.unregister(fd)
        node.end(timeout_s=1.0)
        self.events.append(ev.NodeLost(node.id, reason))
        self._tell_nodes()

    def _orphans(self) -> list[str]:
        """Folders of nodes without a forge that would clean up after a driver that was killed."""
        idle = [node for node in self.nodes.values() if not node.shape.executors]
        return [path for node in idle for path in node.orphans()]

    def _start_executors(self, node: LocalNode) -> None:
        for _ in range(node.shape.executors):
            self._start_executor(node)

    def _start_executor(self, node: LocalNode) -> None:
        id = ExecutorId(self.next_executor)
        self.next_executor += 1
        launcher = node.start_forge(self.options, self.environment, self._orphans())
        executor = ExecutorLink(id, node, launcher.fork(id), self.poll)
        self.by_id[id] = self.conversation.peers[id] = executor
        self.links[executor.link.sock.fileno()] = executor
        self.poll.register(executor.link.sock, select.EPOLLIN)
        if self.secret is not None:
            executor.put(("nodes", self.secret, self._addresses()))


def describe_exit(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def send_signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
