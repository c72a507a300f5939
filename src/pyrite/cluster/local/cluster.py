"""The local adapter: one executor process per core, shared memory, one node."""

from __future__ import annotations

import contextlib
import heapq
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Any, assert_never

from pyrite.blocks.segments import SegmentReader, clear_segments, remove_segments
from pyrite.bounded.space import remove_spills
from pyrite.cluster.local.cancel import CancelWord
from pyrite.cluster.local.launcher import Launcher
from pyrite.cluster.local.link import Link
from pyrite.cluster.local.scratch import Scratch
from pyrite.cluster.local.space import DriverSpace
from pyrite.cluster.local.wire import Message
from pyrite.cluster.port import StageSource
from pyrite.files import ENVIRONMENT as FILES_VARIABLE
from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId, Partition, RddId, ShuffleId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event

NODE = NodeId("node-0")
DRIVER = "driver"


class ExecutorLink:
    """What the driver knows of one executor process."""

    def __init__(self, id: ExecutorId, sock: socket.socket, word: CancelWord) -> None:
        self.id = id
        self.link = Link(sock)
        self.word = word
        self.pid: int | None = None
        self.joined = False
        self.kill_reason = ""
        self.stages: dict[int, int] = {}
        self.snapshots: dict[ShuffleId, int] = {}


class LocalCluster:
    """Processes, sockets, timers and shared memory of this machine."""

    def __init__(
        self,
        executors: int,
        scratch: Scratch,
        source: StageSource,
        options: dict[str, Any],
        environment: dict[str, str],
    ) -> None:
        self.scratch = scratch
        self.folders = scratch.folders
        self.source = source
        self.options = {**options, "folders": list(self.folders)}
        self.environment = {**environment, FILES_VARIABLE: self.files_folder()}
        self.reader = SegmentReader(self.folders)
        self.space = DriverSpace(self.folders, self.post)
        self.links: dict[int, ExecutorLink] = {}
        self.by_id: dict[ExecutorId, ExecutorLink] = {}
        self.next_executor = 0
        self.timers: list[tuple[float, str]] = []
        self.set_timers: dict[str, float] = {}
        self.events: deque[Event] = deque()
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
        if not self.timers:
            return -1
        return max(0.0, self.timers[0][0] - self.now_s())

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
        while self.timers and self.timers[0][0] <= self.now_s():
            at_s, name = heapq.heappop(self.timers)
            if self.set_timers.get(name) == at_s:
                del self.set_timers[name]
                self.events.append(ev.TimerFired(name))

    def _hear_executor(self, executor: ExecutorLink) -> None:
        for message in executor.link.read():
            self.events.append(self._event(executor, message))
        if executor.link.closed:
            # How it ended, the forge will say in a moment.
            self.poll.unregister(executor.link.sock)
            del self.links[executor.link.sock.fileno()]

    def _event(self, executor: ExecutorLink, message: Message) -> Event:
        match message:
            case ("ok", attempt, result, output, accumulators, stored, dropped, lost):
                self._report_lost(lost)
                return ev.TaskSucceeded(
                    AttemptId(attempt),
                    BlockRef(*result) if isinstance(result, tuple) else result,
                    None if output is None else BlockRef(*output),
                    accumulators,
                    *unpack_report(stored, dropped),
                )
            case ("failed", attempt, kind, text, trace, error, stored, dropped, lost):
                self._report_lost(lost)
                failure = ev.Failure(kind, text, trace, error)
                return ev.TaskFailed(AttemptId(attempt), failure, *unpack_report(stored, dropped))
            case ("cancelled", attempt, stored, dropped, lost):
                self._report_lost(lost)
                return ev.TaskCancelled(AttemptId(attempt), *unpack_report(stored, dropped))
            case ("fetch", attempt, shuffle, index, epoch, text, also, stored, dropped, lost):
                self._report_lost(lost)
                return ev.FetchFailed(
                    AttemptId(attempt),
                    ShuffleId(shuffle),
                    index,
                    epoch,
                    text,
                    *unpack_report(stored, dropped),
                    also=tuple(also),
                )
            case ("space", segment, size):
                return ev.SpaceWanted(f"e{executor.id}", segment, size)
            case ("barrier", attempt, text):
                return ev.BarrierReached(AttemptId(attempt), text)
            case ("ready", pid):
                executor.pid = pid
                executor.joined = True
                return ev.ExecutorJoined(executor.id, NODE)
            case _:
                raise AssertionError(f"unknown message {message!r}")

    def _report_lost(self, lost: list[Any]) -> None:
        for where, ref in lost:
            partition = Partition(RddId(where[0]), where[1])
            self.events.append(ev.BlockLost(partition, BlockRef(*ref)))

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
        with contextlib.suppress(FileNotFoundError):
            os.unlink(executor.word.path)
        remove_spills(self.folders.disk, executor.pid)
        if not executor.joined:
            # The scheduler counts failed starts by executors that joined and never ran.
            self.events.append(ev.ExecutorJoined(executor.id, NODE))
        reason = f"{reason} ({executor.kill_reason})" if executor.kill_reason else reason
        self.events.append(ev.ExecutorLost(executor.id, reason))

    # Commands

    def perform(self, command: Command) -> None:
        match command:
            case do.LaunchTask():
                self._launch(command)
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
            case do.GrantSpace():
                if command.owner == DRIVER:
                    self.space.answer(command.granted)
                else:
                    self._put(command.owner, ("space", command.segment, command.granted))
            case do.DropSegments():
                remove_segments(self.folders, command.segments)
                self.reader.forget(command.segments)
                self._tell_all(("forget", list(command.segments)))
            case do.ClearExecutor():
                clear_segments(self.folders, f"e{command.executor}", command.known)
            case do.DropRdd():
                self._tell_all(("drop", command.rdd))
            case do.DropShuffle():
                self._forget_shuffle(command.shuffle)
            case do.DropBroadcast():
                self._tell_all(("broadcast", command.broadcast))
            case do.ForgetStage():
                self._forget_stage(command.stage)
            case do.ReleaseBarrier():
                for attempt, executor_id in command.attempts:
                    self._put(f"e{executor_id}", ("barrier", attempt, list(command.messages)))
            case do.SetTimer():
                # Of several times asked for under one name the first counts: when it fires, the
                # scheduler looks again at everything.
                if command.at_s < self.set_timers.get(command.name, inf):
                    self.set_timers[command.name] = command.at_s
                    heapq.heappush(self.timers, (command.at_s, command.name))
            case do.DeliverResult() | do.CountAccumulators() | do.FinishJob():
                raise AssertionError("the desk performs these")
            case _:
                assert_never(command)

    def _launch(self, command: do.LaunchTask) -> None:
        executor = self.by_id.get(command.executor)
        if executor is None:
            return
        link = executor.link
        if executor.stages.get(command.stage) != command.job:
            closure = self.source.closure(command.stage)
            header = self.source.header(command.stage, command.job)
            link.put(("stage", command.stage, closure, header))
            executor.stages[command.stage] = command.job
        for snapshot in command.inputs:
            if executor.snapshots.get(snapshot.shuffle) != snapshot.epoch:
                refs = [tuple(ref) for ref in snapshot.refs]
                link.put(("snapshot", snapshot.shuffle, snapshot.epoch, refs))
                executor.snapshots[snapshot.shuffle] = snapshot.epoch
        link.put(
            (
                "task",
                command.attempt,
                command.stage,
                command.partition,
                command.number,
                [each.shuffle for each in command.inputs],
                [(*partition, *ref) for partition, ref in command.blocks],
            )
        )
        self._flush_one(executor)

    def _forget_stage(self, stage: int) -> None:
        for executor in self.by_id.values():
            if executor.stages.pop(stage, None) is not None:
                executor.link.put(("end", stage))

    def _forget_shuffle(self, shuffle: ShuffleId) -> None:
        for executor in self.by_id.values():
            if executor.snapshots.pop(shuffle, None) is not None:
                executor.link.put(("end_shuffle", shuffle))

    def _put(self, owner: str, message: Message) -> None:
        executor = self.by_id.get(ExecutorId(int(owner[1:])))
        if executor is not None:
            executor.link.put(message)
            self._flush_one(executor)

    def _tell_all(self, message: Message) -> None:
        for executor in self.by_id.values():
            executor.link.put(message)

    def _flush(self) -> None:
        for executor in self.by_id.values():
            if executor.link.outbox:
                self._flush_one(executor)

    def _flush_one(self, executor: ExecutorLink) -> None:
        if executor.link.closed:
            return
        wanted = select.EPOLLIN
        if not executor.link.flush():
            wanted |= select.EPOLLOUT
        with contextlib.suppress(FileNotFoundError):
            self.poll.modify(executor.link.sock, wanted)

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
        executor = ExecutorLink(id, self.launcher.fork(id), word)
        self.by_id[id] = executor
        self.links[executor.link.sock.fileno()] = executor
        self.poll.register(executor.link.sock, select.EPOLLIN)


def unpack_report(stored: list[Any], dropped: list[Any]) -> tuple[Any, Any]:
    """Block news as the wire carries them, named again."""
    return (
        tuple(
            (Partition(*where), None if ref is None else BlockRef(*ref)) for where, ref in stored
        ),
        tuple(Partition(*where) for where in dropped),
    )


def describe_exit(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def send_signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
