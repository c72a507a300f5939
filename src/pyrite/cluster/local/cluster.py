"""The local adapter: one executor process per core, shared memory, one node."""

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

from pyrite.blocks.segments import SegmentReader, SegmentWriter, clear_segments, remove_segments
from pyrite.bounded.space import remove_spills
from pyrite.cluster.conversation import Conversation, Peer, heard
from pyrite.cluster.local.cancel import CancelWord
from pyrite.cluster.local.launcher import Launcher
from pyrite.cluster.local.link import Link
from pyrite.cluster.local.scratch import NODE, Scratch
from pyrite.cluster.local.wire import Message
from pyrite.cluster.port import StageSource, Threads
from pyrite.cluster.space import DriverSpace
from pyrite.cluster.threads import FreeThreads
from pyrite.cluster.timers import Timers
from pyrite.execute.worker import Limits
from pyrite.files import ENVIRONMENT as FILES_VARIABLE
from pyrite.ids import BlockRef, ExecutorId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.blockbook import DRIVER
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class ExecutorLink(Peer):
    """One executor process."""

    def __init__(
        self, id: ExecutorId, sock: socket.socket, word: CancelWord, poll: select.epoll
    ) -> None:
        super().__init__(id, NODE)
        self.link = Link(sock)
        self.word = word
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
    """Processes, sockets, timers and shared memory of this machine."""

    def __init__(
        self,
        executors: int,
        scratch: Scratch,
        source: StageSource,
        limits: Limits,
        environment: dict[str, str],
        pool_bytes: int,
    ) -> None:
        self.scratch = scratch
        self.folders = scratch.folders
        self.conversation = Conversation(source)
        self.options = {"limits": list(limits), "folders": list(self.folders)}
        self.environment = {**environment, FILES_VARIABLE: self.files_folder()}
        self.reader = SegmentReader(self.folders)
        self.threads: Threads = FreeThreads()
        self.space = DriverSpace(SegmentWriter, self.folders, self.post, self.threads)
        self.links: dict[int, ExecutorLink] = {}
        self.by_id: dict[ExecutorId, ExecutorLink] = {}
        self.next_executor = 0
        self.timers = Timers()
        self.events: deque[Event] = deque([ev.NodeJoined(NODE, pool_bytes)])
        self.posted: deque[Event] = deque()
        self.closing = False
        # Sockets, not a pipe: once closed, they can't be mistaken for another file.
        self.wake_read, self.wake_write = socket.socketpair()
        self.wake_read.setblocking(False)
        self.wake_write.setblocking(False)
        self.poll = select.epoll()
        self.poll.register(self.wake_read, select.EPOLLIN)
        self.launcher = self._start_forge()
        for _ in range(executors):
            self._start_executor()

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
        self.launcher.close(timeout_s=5.0)
        self.space.release()
        self.poll.close()
        self.wake_read.close()
        self.wake_write.close()
        self.scratch.remove()

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
            elif fd == self.launcher.link.sock.fileno():
                self._hear_forge()
            elif fd in self.links:
                self._hear_executor(self.links[fd])
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

    def _hear_forge(self) -> None:
        for message in self.launcher.link.read():
            match message:
                case ("forked", executor, pid):
                    if executor in self.by_id:
                        self.by_id[executor].pid = pid
                case ("exited", executor, code):
                    self._bury(self.by_id[executor], describe_exit(code))
        if self.launcher.link.closed and not self.closing:
            self._lose_forge()

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
        remove_spills(self.folders.disk, executor.pid)
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
                self._start_executor()
            case do.GrantSpace() if command.owner == DRIVER:
                self.space.answer(command.granted)
            case do.DropSegments():
                remove_segments(self.folders, command.segments)
                self.reader.forget(command.segments)
                self.conversation.tell(command)
            case do.ClearExecutor():
                clear_segments(self.folders, f"e{command.executor}", command.known)
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

    # Processes

    def _start_forge(self) -> Launcher:
        launcher = Launcher(self.options, self.environment)
        self.poll.register(launcher.link.sock, select.EPOLLIN)
        return launcher

    def _lose_forge(self) -> None:
        """The forge was killed; its executors die with it. Another starts when one is wanted."""
        self.poll.unregister(self.launcher.link.sock)
        self.launcher.close(timeout_s=1.0)
        for executor in list(self.by_id.values()):
            if executor.pid is not None:
                send_signal(executor.pid, signal.SIGKILL)
            self._bury(executor, "the process that executors are forked from was killed")

    def _start_executor(self) -> None:
        id = ExecutorId(self.next_executor)
        self.next_executor += 1
        if self.launcher.link.closed:
            self.launcher = self._start_forge()
        word = CancelWord(self.folders, id)
        executor = ExecutorLink(id, self.launcher.fork(id), word, self.poll)
        self.by_id[id] = self.conversation.peers[id] = executor
        self.links[executor.link.sock.fileno()] = executor
        self.poll.register(executor.link.sock, select.EPOLLIN)


def describe_exit(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def send_signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
