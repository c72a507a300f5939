"""The block server: a separate process that reads and writes a node's segments for other nodes.

One loop serves all clients, and threads move and fetch segments: the node's executors are not
involved, and a slow client holds up nobody else."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from pyrite.blocks.segments import Folders, remove_folders, remove_segments
from pyrite.remote.connection import SCRATCH_BYTES, Connection, Phase, Service
from pyrite.remote.controlsocket import ControlSocket
from pyrite.remote.door import REST_S, Door
from pyrite.remote.errors import Address, family_of, shown, unpacked
from pyrite.remote.fetcher import Fetcher, unpacked_order
from pyrite.remote.files import OpenFiles, WrittenSegments
from pyrite.remote.forgotten import Forgotten
from pyrite.remote.gate import own_gate
from pyrite.remote.handshake import check_secret
from pyrite.remote.mover import MoveOrder, Mover
from pyrite.remote.rate import TokenBucket

PR_SET_PDEATHSIG = 1
BACKLOG = 128
KNOWN_SEGMENTS = 1 << 16
# Reported reasons are cut to this length.
REASON_CHARS = 500


class ServerLimits(NamedTuple):
    """The limits of a server's clients."""

    connections: int = 1024
    handshakes: int = 64
    handshake_s: float = 5.0
    stall_s: float = 30.0
    idle_s: float = 600.0
    tick_s: float = 1.0
    files: int = 256
    # The largest segments that others may write: in memory (the pool's size), and on disk.
    segment_bytes: int = 1 << 36
    disk_segment_bytes: int = 1 << 40
    # The rate of all connections together; 0 is no limit.
    send_bytes_per_s: int = 0


class BlockServer:
    """Serves the segments in a node's folders to clients that know the secret."""

    def __init__(
        self, folders: Folders, secret: bytes, address: Address, limits: ServerLimits | None = None
    ) -> None:
        self.address = address
        self.limits = limits or ServerLimits()
        self.folders = folders
        self.files = OpenFiles(folders, self.limits.files)
        self.forgotten = Forgotten(KNOWN_SEGMENTS)
        self.written = WrittenSegments(
            folders,
            self.limits.segment_bytes,
            self.limits.disk_segment_bytes,
            self.forgotten,
            KNOWN_SEGMENTS,
        )
        self.done: deque[tuple[str, int, str | None]] = deque()
        self.mover = Mover(folders, secret, partial(self._on_done, "moved"), self.forgotten)
        self.fetcher = Fetcher(folders, secret, partial(self._on_done, "fetched"), self.forgotten)
        self.wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.rate = TokenBucket(self.limits.send_bytes_per_s)
        self.gate = own_gate()
        has_tls = self.gate is not None
        self.service = Service(
            check_secret(secret), self.files, self.written, scratch, self.rate, has_tls
        )
        self.connections: dict[int, Connection] = {}
        # The epoll events of each connection, and those that the rate limit holds, oldest first.
        self.watched: dict[int, int] = {}
        self.held: dict[int, Connection] = {}
        # Those whose input has been decrypted and not read: epoll does not know of it.
        self.decrypted: dict[int, Connection] = {}
        self.epoll = select.epoll()
        self.door = Door(self.epoll, self.limits.handshakes, self.limits.handshake_s)
        self.swept_s = 0.0

    def open(self, listener: socket.socket | None = None) -> Address:
        """Listens, with the given socket or a new one; returns the address for clients."""
        if listener is not None:
            self.address = listener.getsockname()[:2]
        elif isinstance(self.address, str):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listener.bind(self.address)
            except OSError as error:
                listener.close()
                raise OSError(
                    f"{shown(self.address)} can't be listened at: {error}. "
                    "Choose a path of at most 100 characters that does not exist."
                ) from error
            os.chmod(self.address, 0o600)
            listener.listen(BACKLOG)
        else:
            family = family_of(self.address)
            listener = socket.create_server(self.address, family=family, backlog=BACKLOG)
            self.address = listener.getsockname()[:2]
        self.door.open(listener)
        return self.address

    def serve(self, sock: socket.socket) -> None:
        """Serves until the parent's end of the control socket closes."""
        control = ControlSocket(sock, self.epoll)
        self.epoll.register(self.wake, select.EPOLLIN)
        while not control.closed:
            timeout_s = self.limits.tick_s if self.connections or self.files.files else -1
            if self.door.rests:
                timeout_s = REST_S
            if self.held:
                timeout_s = min(timeout_s, self.rate.wait_s())
            if self.decrypted:
                timeout_s = 0
            events = self.epoll.poll(timeout_s)
            now_s = time.monotonic()
            self.rate.fill(now_s)
            for fd, _ in events:
                connection = self.connections.get(fd)
                if connection is not None and fd in self.held:
                    # A held connection is only watched for its end.
                    self._close(connection)
                elif connection is not None:
                    self._advance(connection, now_s)
                elif fd == self.door.fileno():
                    self._accept(now_s)
                elif fd == self.wake:
                    self._report_done(control)
                elif fd == sock.fileno():
                    control.outbox.flush()
                    self._receive(control)
            self._release_held(now_s)
            for connection in list(self.decrypted.values()):
                self._advance(connection, now_s)
            for fd in self.door.tend(now_s):
                self._close(self.connections[fd])
            if now_s - self.swept_s >= self.limits.tick_s:
                self._sweep(now_s)

    def close(self) -> None:
        """Closes everything, and removes a Unix socket's path."""
        self.mover.close()
        self.fetcher.close()
        for connection in list(self.connections.values()):
            self._close(connection)
        self.files.close()
        self.epoll.close()
        os.close(self.wake)
        if self.door.close() and isinstance(self.address, str):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.address)

    def _advance(self, connection: Connection, now_s: float) -> None:
        try:
            connection.advance(now_s)
        except Exception:
            # An error of one client must not affect the others.
            self._close(connection)
            return
        fd = connection.sock.fileno()
        has_proved = connection.phase is not Phase.PROVING and self.door.dismiss(fd)
        if has_proved and not self._admit(connection):
            self._close(connection)
            return
        events = select.EPOLLOUT if connection.wants_to_send else select.EPOLLIN
        if connection.is_held:
            self.held[fd] = connection
            events = select.EPOLLRDHUP
        if events == select.EPOLLIN and connection.has_decrypted:
            self.decrypted[fd] = connection
        else:
            self.decrypted.pop(fd, None)
        if self.watched[fd] != events:
            self.watched[fd] = events
            self.epoll.modify(fd, events)

    def _release_held(self, now_s: float) -> None:
        while self.held and not self.rate.is_dry:
            self._advance(self.held.pop(next(iter(self.held))), now_s)

    def _close(self, connection: Connection) -> None:
        fd = connection.sock.fileno()
        self.connections.pop(fd, None)
        self.watched.pop(fd, None)
        self.held.pop(fd, None)
        self.decrypted.pop(fd, None)
        self.door.dismiss(fd)
        # Closing also removes it from epoll.
        connection.close()

    def _accept(self, now_s: float) -> None:
        sock = self.door.accept(now_s)
        if sock is None:
            if self.door.rests:
                # Frees the descriptors of open files.
                self.files.close()
            return
        fd = sock.fileno()
        if self.gate is not None and sock.family != socket.AF_UNIX:
            try:
                sock = self.gate.welcome(sock)
            except OSError:
                self.door.dismiss(fd)
                return
        connection = Connection(sock, self.service, now_s)
        self.connections[fd] = connection
        self.watched[fd] = select.EPOLLIN
        self.epoll.register(sock, select.EPOLLIN)
        try:
            connection.greet()
        except OSError:
            self._close(connection)

    def _admit(self, newcomer: Connection) -> bool:
        """Makes room for an authenticated client; False if no idle one can be closed for it."""
        trusted = [c for c in self.connections.values() if c.phase is not Phase.PROVING]
        if len(trusted) <= self.limits.connections:
            return True
        idle = [c for c in trusted if c.is_idle and c is not newcomer]
        if idle:
            self._close(min(idle, key=lambda c: c.touched_s))
        return bool(idle)

    def _receive(self, control: ControlSocket) -> None:
        for line in control.receive():
            match line:
                case ["forget", segments]:
                    self._forget(segments)
                case ["move", id, segment, target, medium, address]:
                    self.mover.take(MoveOrder(id, segment, target, medium, unpacked(address)))
                case ["ping"]:
                    control.send("pong")
                case ["fetch", *order]:
                    self.fetcher.take(unpacked_order(order))
                case _:
                    raise ValueError(f"a block server's parent sent {line!r}")

    def _forget(self, segments: Iterable[str]) -> None:
        self.forgotten.add(segments)
        self.files.forget(segments)
        self.written.forget(segments)
        # The parent has removed them, but a write, a move or a fetch may have made one since. This
        # comes after they are forgotten: one that is being made now is found here or by its maker.
        remove_what_can_be(self.folders, segments)
        self.fetcher.stretches.remove(segments)

    def _on_done(self, outcome: str, id: int, reason: str | None) -> None:
        """Called by the threads of the mover and the fetcher."""
        self.done.append((outcome, id, reason))
        os.eventfd_write(self.wake, 1)

    def _report_done(self, control: ControlSocket) -> None:
        os.eventfd_read(self.wake)
        while self.done:
            outcome, id, reason = self.done.popleft()
            costs = self.fetcher.costs.pop(id, ()) if outcome == "fetched" else ()
            control.send(outcome, id, reason and reason[:REASON_CHARS], *costs)

    def _sweep(self, now_s: float) -> None:
        self.swept_s = now_s
        for connection in list(self.connections.values()):
            if now_s - connection.touched_s > self._patience_s(connection):
                self._close(connection)
        self.files.sweep()

    def _patience_s(self, connection: Connection) -> float:
        return self.limits.idle_s if connection.is_idle else self.limits.stall_s


def remove_what_can_be(folders: Folders, segments: Iterable[str]) -> None:
    """Removes the segments' files; one that can't be removed is removed with its folder later."""
    for segment in segments:
        with contextlib.suppress(OSError):
            remove_segments(folders, [segment])


class Traces:
    """The folders to remove at the end, once: a signal during the removal must not start it again,
    as modules may be half loaded then."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = folders
        self.begun = False

    def remove(self) -> None:
        if not self.begun:
            self.begun = True
            remove_folders(self.folders)


def main(control_fd: int, folders: Sequence[str]) -> None:
    """Runs a server: it receives its options from its parent, ends with the parent, and removes
    the folders that the parent may have left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that forks may have set these, and its child inherits them.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    traces = Traces(folders)
    _end_with(os.getppid(), traces)
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with socket.socket(fileno=control_fd) as control:
        # Unbuffered: the server reads all lines after the first.
        with control.makefile("rb", buffering=0) as lines:
            line = lines.readline()
        if line:
            live(control, *json.loads(line))
    traces.remove()


def live(
    control: socket.socket,
    folders: Sequence[Any],
    secret: str,
    address: Any,
    limits: Sequence[Any],
    listener_fd: int | None,
) -> None:
    """Serves with the parent's options, or reports why it can't."""
    place = unpacked(address)
    assert place is not None
    server = BlockServer(Folders(*folders), bytes.fromhex(secret), place, ServerLimits(*limits))
    listener = None if listener_fd is None else socket.socket(fileno=listener_fd)
    try:
        message = ["listens", server.open(listener)]
    except OSError as error:
        message = ["fails", str(error)]
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
        if message[0] == "listens":
            gc.freeze()
            server.serve(control)
    except (BrokenPipeError, ConnectionResetError):
        # The parent has ended already.
        pass
    finally:
        server.close()


def _end_with(parent: int, traces: Traces) -> None:
    """Ends this process with its parent, even if another process holds the control socket."""
    if sys.platform != "linux":
        return

    def on_death(_signal: int, _frame: object) -> None:
        # The kernel also sends the signal when only the thread ends that started this process.
        if os.getppid() != parent and not traces.begun:
            traces.remove()
            os._exit(0)

    signal.signal(signal.SIGHUP, on_death)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGHUP)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
