"""The process of a block server, as its parent holds it."""

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
# Lines stay short, however many names there are.
NAMES_A_LINE = 500


class ServerNotStarted(ClusterError):
    """A block server ended before it said where it listens."""


class ServerProcess:
    """A block server; it ends when this is stopped or this process ends.

    Nothing waits for it: poll `control` for input, level-triggered, and `hear` when there is some.
    It listens once it has an address, unless `hear` finds that it has gone before.
    """

    def __init__(
        self,
        folders: Folders,
        secret: bytes,
        traces: Sequence[str] = (),
        listener: socket.socket | None = None,
    ) -> None:
        """Starts it; it removes the traces when this process has ended, and takes in clients that
        come to the listener, whoever else holds that."""
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
        # Not the socket itself: this has news as well when there is room for what is unsent.
        self.control = select.epoll()
        self.words = ControlSocket(ours, self.control)

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
        """Tells the server where to listen, once the folders are there."""
        # Through a socket, since others can read command lines.
        self.words.send(self.folders, self.secret.hex(), address, limits, self.listener_fd)

    def wait(self, timeout_s: float = START_S) -> Address:
        """Where the server listens, as soon as it does."""
        end_s = time.monotonic() + timeout_s
        while self.address is None:
            if not self.control.poll(max(0.0, end_s - time.monotonic())):
                raise ServerNotStarted(f"the block server did not listen within {timeout_s:g} s")
            self.receive()
            if self.closed:
                raise ServerNotStarted(self.problem)
        return self.address

    def forget(self, segments: Iterable[str]) -> None:
        """Tells the server that these segments are removed: it holds their memory otherwise."""
        unsaid = iter(segments)
        while names := list(islice(unsaid, NAMES_A_LINE)):
            self.words.send("forget", names)

    def move(self, order: MoveOrder) -> None:
        """Tells the server to copy a segment; `hear` says when it has, or why it could not."""
        self.words.send("move", *order)

    def fetch(self, order: FetchOrder) -> None:
        """Tells the server to fetch a prefetched segment; `hear` says when it has, or why it could
        not."""
        self.words.send("fetch", *order)

    def ping(self) -> None:
        """Asks for an answer: `control` will have input, of which `hear` says nothing."""
        self.words.send("ping")

    def receive(self) -> list[Done]:
        """The orders that are done: their ids, each with None or why it was not possible."""
        self.words.outbox.flush()
        done: list[Done] = []
        for line in self.words.receive():
            match line:
                case ["listens", address]:
                    self.address = unpacked(address)
                case ["fails", reason]:
                    self.problem = f"the block server could not start: {reason}"
                case ["moved", id, reason]:
                    done.append(Moved(id, reason))
                case ["fetched", id, reason]:
                    done.append(Fetched(id, reason))
        return done

    @property
    def closed(self) -> bool:
        """Whether `hear` has found that the server has gone."""
        return self.words.closed

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Ends the server and waits until it has gone."""
        self.hang_up()
        wait_or_kill(self.process, timeout_s)

    def hang_up(self) -> None:
        """Tells the server that it is not wanted any more."""
        self.words.sock.close()
        self.control.close()
