"""The agent: the process of a node that the driver talks to.

It forks the executors, carries their messages, watches its block server, and removes what is left
when its driver has gone. On a single node the executors have sockets of their own to the driver,
which the agent passes on to them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from pyrite.bounded.space import remove_spills
from pyrite.cluster.node.executors import ExecutorProcesses, watch_children
from pyrite.cluster.node.fence import Fence
from pyrite.cluster.node.link import Link
from pyrite.cluster.node.output import OutputPipe
from pyrite.cluster.node.serving import Serving
from pyrite.cluster.node.wire import CHUNK_BYTES, Message, pack
from pyrite.ids import ExecutorId
from pyrite.remote.outbox import Outbox


class ExecutorPipe:
    """The agent's ends of the socket to one executor, and of the pipe that it prints to."""

    def __init__(self, sock: socket.socket, output: OutputPipe, poll: select.epoll) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.output = output
        poll.register(output.fd, select.EPOLLIN)
        self.outbox = Outbox(sock, poll)
        poll.register(sock, select.EPOLLIN)

    def read(self) -> bytes | None:
        """Returns what has arrived: nothing at the end, None if that is yet to come."""
        try:
            return self.sock.recv(CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""


class Agent:
    """The loop: what the driver orders is done here, what happens here is told to the driver."""

    def __init__(
        self,
        driver: Link,
        poll: select.epoll,
        executors: ExecutorProcesses,
        serving: Serving | None = None,
        alone_s: float | None = None,
    ) -> None:
        self.driver = driver
        self.poll = poll
        self.executors = executors
        self.serving = serving
        self.fence = Fence(alone_s, time.monotonic())
        self.pipes: dict[int, tuple[ExecutorId, ExecutorPipe]] = {}
        self.fds: dict[ExecutorId, int] = {}
        self.printing: dict[int, ExecutorId] = {}
        # Messages to executors that wait for added files.
        self.held: deque[tuple[ExecutorId, bytes]] = deque()
        self.ending = False
        self.wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        os.set_blocking(self.wake, False)
        watch_children(wake_end)
        signal.signal(signal.SIGTERM, self._end)
        poll.register(self.wake, select.EPOLLIN)
        executors.tell = self.tell
        executors.ended = self._executor_ended
        executors.close_in_child = self._close_in_child
        self.orders: dict[str, Callable[..., None]] = {
            "ping": lambda: self.tell("pong"),
            "cancel": executors.cancel,
            "kill": executors.kill,
            "x": self._pass_on,
        }
        if serving is not None:
            self.orders |= serving.orders
            serving.tell = self.tell
            serving.tell_executors = self.tell_executors
            serving.give_up_peer = executors.give_up_peer
            serving.files_ready = self._pass_on_held
            serving.files.close_in_child = self._close_in_child
            serving.files.started = executors.others.__setitem__

    def _end(self, *_: Any) -> None:
        self.ending = True

    def tell(self, *message: Any) -> None:
        """Sends the driver a message; one that is gone is noticed by the loop."""
        self.driver.outbox.send(pack(message))

    def serve(self) -> None:
        """Serves until the driver has gone, or is silent for too long."""
        try:
            while not self._is_over():
                self._turn()
        finally:
            self.executors.end()

    def _is_over(self) -> bool:
        if self.ending or self.driver.closed:
            return True
        if self.serving is not None and self.serving.failed:
            return True
        return self.fence.is_over(time.monotonic())

    def _turn(self) -> None:
        for fd, _ in self.poll.poll(self._timeout_s()):
            if fd == self.wake:
                self._reap()
            elif fd == self.driver.sock.fileno():
                self._listen()
            elif fd in self.pipes:
                self._carry(fd)
            elif fd in self.printing:
                self._show(self.printing[fd])
            elif self.serving is not None:
                self.serving.receive()
        self.driver.outbox.flush()

    def _timeout_s(self) -> float | None:
        if self.serving is None:
            return None
        rest_s = self.serving.tend(time.monotonic())
        look_s = self.fence.look_s()
        return rest_s if look_s is None else min(rest_s, look_s)

    def _reap(self) -> None:
        try:
            while os.read(self.wake, 512):
                pass
        except BlockingIOError:
            pass
        self.executors.reap()

    # The driver's messages

    def _listen(self) -> None:
        if self.serving is None:
            messages, fds = self.driver.read_with_sockets()
        else:
            messages, fds = self.driver.read(), []
        self.fence.hear(time.monotonic())
        for message in messages:
            self._obey(message, fds)

    def _obey(self, message: Message, fds: list[int]) -> None:
        if message[0] != "fork":
            self.orders[message[0]](*message[1:])
        elif self.serving is None:
            self.executors.fork(message[1], socket.socket(fileno=fds.pop(0)))
        else:
            self._fork(message[1])

    def _fork(self, id: ExecutorId) -> None:
        """Forks an executor whose messages this process carries."""
        assert self.serving is not None
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        pipe = ExecutorPipe(ours, OutputPipe(read, time.monotonic()), self.poll)
        self.printing[read] = id
        self.pipes[ours.fileno()] = id, pipe
        self.fds[id] = ours.fileno()
        pipe.outbox.send(pack(self.serving.known_nodes()))
        self.executors.fork(id, theirs, write)
        if id not in self.executors.pids:
            self._forget(id)

    def _pass_on(self, id: ExecutorId, data: bytes) -> None:
        """Passes the driver's messages on to an executor, once all added files are there."""
        if self.held or (self.serving is not None and self.serving.files.pending):
            self.held.append((id, data))
        elif id in self.fds:
            self.pipes[self.fds[id]][1].outbox.send(data)

    def _pass_on_held(self) -> None:
        assert self.serving is not None
        while self.held and not self.serving.files.pending:
            id, data = self.held.popleft()
            if id in self.fds:
                self.pipes[self.fds[id]][1].outbox.send(data)

    def tell_executors(self, message: Message) -> None:
        """Sends all executors a message of the agent's own."""
        data = pack(message)
        for _, pipe in self.pipes.values():
            pipe.outbox.send(data)

    # The executors' messages

    def _carry(self, fd: int) -> None:
        id, pipe = self.pipes[fd]
        pipe.outbox.flush()
        data = pipe.read()
        if data:
            # What a task has printed comes before its result.
            self._show(id, to_end=True)
            self.driver.outbox.add(pack(("x", id, data)))
        elif data is not None:
            # How it ended is told when it is reaped.
            self.poll.unregister(pipe.sock)

    def _show(self, id: ExecutorId, to_end: bool = False) -> None:
        """Sends the driver what an executor has printed."""
        output = self.pipes[self.fds[id]][1].output
        self._tell_lines(id, output.read(time.monotonic(), to_end))
        if output.ended and self.printing.pop(output.fd, None) is not None:
            # Its end would be reported again and again.
            self.poll.unregister(output.fd)

    def _tell_lines(self, id: ExecutorId, lines: list[str]) -> None:
        if lines:
            self.driver.outbox.add(pack(("output", id, lines)))

    def _executor_ended(self, id: ExecutorId, pid: int) -> str:
        fd, last = self.fds.get(id), ""
        if fd is not None:
            _, pipe = self.pipes[fd]
            while data := pipe.read():
                self.driver.outbox.add(pack(("x", id, data)))
            self._tell_lines(id, pipe.output.read(time.monotonic(), to_end=True))
            last = pipe.output.tail()
        self._forget(id)
        with contextlib.suppress(FileNotFoundError):
            remove_spills(self.executors.setup.folders.disk, pid)
        return last

    def _forget(self, id: ExecutorId) -> None:
        fd = self.fds.pop(id, None)
        if fd is not None:
            # Closing also removes them from the poll.
            _, pipe = self.pipes.pop(fd)
            pipe.sock.close()
            self.printing.pop(pipe.output.fd, None)
            self._tell_lines(id, pipe.output.close(time.monotonic()))

    def _close_in_child(self) -> None:
        """An executor must hold no socket but its own."""
        self.driver.close()
        for _, pipe in self.pipes.values():
            pipe.sock.close()
            os.close(pipe.output.fd)
        if self.serving is not None:
            self.serving.close_in_child()
        self.poll.close()
