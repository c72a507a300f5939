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

from pyrite.blocks.segments import SegmentWriter, clear_segments, remove_segments
from pyrite.bounded.space import remove_spills
from pyrite.cluster.conversation import Conversation, Peer, heard
from pyrite.cluster.local.cancel import CancelWord
from pyrite.cluster.local.launcher import Launcher
from pyrite.cluster.local.link import Link
from pyrite.cluster.local.node import LocalNode, NodeShape
from pyrite.cluster.local.wire import Message
from pyrite.cluster.port import StageSource, Threads
from pyrite.cluster.scratch import Scratch
from pyrite.cluster.space import DRIVER_NODE, DriverSpace
from pyrite.cluster.threads import FreeThreads
from pyrite.cluster.timers import Timers
from pyrite.execute.worker import Limits
from pyrite.files import ENVIRONMENT as FILES_VARIABLE
from pyrite.ids import BlockRef, ExecutorId, NodeId
from pyrite.remote.errors import Address
from pyrite.remote.reader import NodeReader
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.blockbook import DRIVER
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class ExecutorLink(Peer):
    """One executor process."""

    def __init__(
        self, id: ExecutorId, host: LocalNode, sock: socket.socket, poll: select.epoll
    ) -> None:
        super().__init__(id, host.id)
        self.host = host
        self.link = Link(sock)
        self.word = CancelWord(host.folders, id)
        self.poll = poll
        self.pid: int | None = None
        self.joined = False
        self.kill_reason = ""

    def put(self, message: Message) -> None:
        self.link.put(message)

    def flush(self) -> None:
        if self.link.closed:
            return
        wanted = select.EPOLLIN
        if not self.link.flush():
            wanted |= select.EPOLLOUT
        with contextlib.suppress(FileNotFoundError):
            self.poll.modify(self.link.sock, wanted)


class LocalCluster:
    """Processes, sockets, timers and shared memory of this machine.

    With one node the driver shares it. With several, the driver has a node of its own without
    executors, and every node has a block server that the others read its blocks from.
    """

    def __init__(
        self,
        shapes: Sequence[NodeShape],
        driver_pool_bytes: int,
        local_dir: str,
        source: StageSource,
        limits: Limits,
        environment: dict[str, str],
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
        self.closing = False
        # Sockets, not a pipe: once closed, they can't be mistaken for another file.
        self.wake_read, self.wake_write = socket.socketpair()
        self.wake_read.setblocking(False)
        self.wake_write.setblocking(False)
        self.poll = select.epoll()
        self.poll.register(self.wake_read, select.EPOLLIN)
        self.secret = os.urandom(32) if len(shapes) > 1 else None
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
        self.reader = NodeReader(self.folders)
        self.space = DriverSpace(SegmentWriter, self.folders, self.post, self.threads)
        self.environment = {**environment, FILES_VARIABLE: self.files_folder()}
        # Nodes without executors have no forge that would clean up after a driver that was killed.
        idle = [node.folders for node in self.nodes.values() if not node.shape.executors]
        self.options["orphans"] = [path for each in idle for path in (each.memory, each.disk)]
        self._tell_nodes()
        for node in self.nodes.values():
            self._start_executors(node)

    def _make_nodes(self, shapes: Sequence[NodeShape], driver_pool_bytes: int) -> None:
        if self.secret is not None:
            self._make_node(DRIVER_NODE, NodeShape(0, driver_pool_bytes))
        for number, shape in enumerate(shapes):
            self._make_node(NodeId(f"node-{number}"), shape)
        self.driver = next(iter(self.nodes.values()))

    def _make_node(self, id: NodeId, shape: NodeShape) -> LocalNode:
        node = LocalNode(id, shape, Scratch(self.local_dir), self.poll)
        self.nodes[id] = node
        if self.secret is not None:
            node.start_server(self.secret)
        self.events.append(ev.NodeJoined(id, shape.pool_bytes))
        return node

    def _remove_nodes(self) -> None:
        for node in self.nodes.values():
            node.end(timeout_s=5.0)

    def _tell_nodes(self) -> None:
        """Everyone who reads blocks knows where each node's block server is."""
        if self.secret is None:
            return
        self.reader.meet(self.secret, self._addresses())
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
                # It says nothing while it serves.
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
                if command.node in self.nodes:
                    self._start_executor(self.nodes[command.node])
            case do.GrantSpace() if command.owner == DRIVER:
                self.space.answer(command.granted)
            case do.DropSegments():
                self._remove_segments(command)
                self.conversation.tell(command)
            case do.ClearExecutor():
                if command.node in self.nodes:
                    folders = self.nodes[command.node].folders
                    clear_segments(folders, f"e{command.executor}", command.known)
            case do.SetTimer():
                self.timers.set(command)
            case do.DeliverResult() | do.CountAccumulators() | do.FinishJob():
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

    # Processes

    def _lose_forge(self, node: LocalNode, launcher: Launcher) -> None:
        """The forge was killed; its executors die with it. Another starts when one is wanted."""
        self.poll.unregister(launcher.link.sock)
        launcher.close(timeout_s=1.0)
        if self.secret is not None:
            self._lose_node(node, "the process that its executors are forked from was killed")
            return
        self._end_executors(node, "the process that executors are forked from was killed")

    def _end_executors(self, node: LocalNode, reason: str) -> None:
        for executor in [each for each in self.by_id.values() if each.host is node]:
            if executor.pid is not None:
                send_signal(executor.pid, signal.SIGKILL)
            self._bury(executor, reason)

    def _lose_node(self, node: LocalNode, reason: str) -> None:
        """All of a node goes with a part of it; it starts anew, with nothing."""
        del self.nodes[node.id]
        self._end_executors(node, reason)
        for fd in node.fds():
            self.poll.unregister(fd)
        node.end(timeout_s=1.0)
        self.events.append(ev.NodeLost(node.id, reason))
        again = self._make_node(node.id, node.shape)
        self._tell_nodes()
        self._start_executors(again)

    def _start_executors(self, node: LocalNode) -> None:
        for _ in range(node.shape.executors):
            self._start_executor(node)

    def _start_executor(self, node: LocalNode) -> None:
        id = ExecutorId(self.next_executor)
        self.next_executor += 1
        launcher = node.start_forge(self.options, self.environment)
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
