"""The parent's side of a block server process."""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import islice

from pyrite.blocks.segments import Folders
from pyrite.descriptors import hold_standard_descriptors
from pyrite.errors import ClusterError
from pyrite.remote.controlsocket import ControlSocket, Done, Fetched, Moved
from pyrite.remote.ending import wait_or_kill
from pyrite.remote.errors import Address, unpacked
from pyrite.remote.fetcher import FetchOrder
from pyrite.remote.handshake import check_secret
from pyrite.remote.mover import MoveOrder
from pyrite.remote.server import ServerLimits

# The kernel chooses a port.
LOOPBACK = ("127.0.0.1", 0)
START_S = 60.0
STOP_S = 15.0
# Limits the length of a message with names.
NAMES_A_LINE = 500


class ServerNotStarted(ClusterError):
    """A block server ended before it listened."""


class ServerProcess:
    """A block server; it ends when `stop` is called or this process ends.

    Nothing blocks: wait for input on `poll`, level-triggered, and call `receive` then. The server
    listens once `address` is set; if it ends before, `closed` is set.
    """

    def __init__(
        self,
        folders: Folders,
        secret: bytes,
        traces: Sequence[str] = (),
        listener: socket.socket | None = None,
    ) -> None:
        """Starts it; it removes the traces when this process has ended, and accepts the clients of
        the listener, if there is one."""
        self.folders = folders
        self.secret = check_secret(secret)
        self.address: Address | None = None
        self.problem = "the block server ended before it listened; see its error output"
        self.listener_fd = None if listener is None else listener.fileno()
        hold_standard_descriptors()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "pyrite.remote.server", str(theirs.fileno()), *traces]
        with theirs:
            try:
                passed = [fd for fd in (theirs.fileno(), self.listener_fd) if fd is not None]
                self.process = subprocess.Popen(command, pass_fds=passed, stdin=subprocess.DEVNULL)
            except BaseException:
                ours.close()
                raise
        # Not the socket itself: this also wakes when there is room for unsent data.
        self.poll = select.epoll()
        self.control = ControlSocket(ours, self.poll)

    @classmethod
    def start(
        cls,
        folders: Folders,
        secret: bytes,
        address: Address = LOOPBACK,
        limits: ServerLimits | None = None,
    ) -> ServerProcess:
        """Starts a server and waits until it listens."""
        server = cls(folders, secret)
        try:
            server.open(address, limits or ServerLimits())
            server.wait()
        except BaseException:
            server.process.kill()
            server.stop()
            raise
        return server

    def open(self, address: Address, limits: ServerLimits) -> None:
        """Sends the server its options, once the folders exist; it listens then."""
        # Not on the command line, which other users can read.
        self.control.send(self.folders, self.secret.hex(), address, limits, self.listener_fd)

    def wait(self, timeout_s: float = START_S) -> Address:
        """Waits until the server listens; returns its address."""
        end_s = time.monotonic() + timeout_s
        while self.address is None:
            if not self.poll.poll(max(0.0, end_s - time.monotonic())):
                raise ServerNotStarted(f"the block server did not listen within {timeout_s:g} s")
            self.receive()
            if self.closed:
                raise ServerNotStarted(self.problem)
        return self.address

    def forget(self, segments: Iterable[str]) -> None:
        """Has the server close removed segments, whose memory it would keep otherwise."""
        unsent = iter(segments)
        while names := list(islice(unsent, NAMES_A_LINE)):
            self.control.send("forget", names)

    def move(self, order: MoveOrder) -> None:
        """Orders a copy of a segment; `receive` returns the outcome."""
        self.control.send("move", *order)

    def fetch(self, order: FetchOrder) -> None:
        """Orders a prefetched segment; `receive` returns the outcome."""
        self.control.send("fetch", *order)

    def ping(self) -> None:
        """Requests an answer: it wakes `poll`, and `receive` drops it."""
        self.control.send("ping")

    def receive(self) -> list[Done]:
        """Handles the server's messages; returns the outcomes of orders."""
        self.control.outbox.flush()
        done: list[Done] = []
        for line in self.control.receive():
            match line:
                case ["listens", address]:
                    self.address = unpacked(address)
                case ["fails", reason]:
                    self.problem = f"the block server could not start: {reason}"
                case ["moved", id, reason]:
                    done.append(Moved(id, reason))
                case ["fetched", id, reason, *costs]:
                    done.append(Fetched(id, reason, *costs))
        return done

    @property
    def closed(self) -> bool:
        """Whether `receive` has found that the server has ended."""
        return self.control.closed

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Ends the server and waits for its end."""
        self.hang_up()
        wait_or_kill(self.process, timeout_s)

    def hang_up(self) -> None:
        """Closes the control socket: the server ends."""
        self.control.sock.close()
        self.poll.close()
