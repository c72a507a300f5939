"""The process of a block server, as its parent holds it."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterable
from itertools import islice

from pyrite.blocks.segments import Folders
from pyrite.descriptors import hold_standard_descriptors
from pyrite.errors import ClusterError
from pyrite.remote.errors import Address, unpacked
from pyrite.remote.fetcher import FetchOrder
from pyrite.remote.handshake import check_secret
from pyrite.remote.mover import MoveOrder
from pyrite.remote.server import Limits
from pyrite.remote.words import Done, Fetched, Moved, Words

# The kernel chooses a port.
LOOPBACK = ("127.0.0.1", 0)
START_S = 60.0
STOP_S = 15.0
# Lines stay short, however many names there are.
NAMES_A_LINE = 500


class ServerNotStarted(ClusterError):
    """A block server ended before it said where it listens."""


class ServerProcess:
    """A running block server; it ends when this is stopped or this process ends.

    Nothing waits for it: poll `control` for input, level-triggered, and `hear` when there is some.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, address: Address
    ) -> None:
        self.process = process
        self.address = address
        # Not the socket itself: this has news as well when there is room for what is unsent.
        self.control = select.epoll()
        self.words = Words(control, self.control)

    @classmethod
    def start(
        cls,
        folders: Folders,
        secret: bytes,
        address: Address = LOOPBACK,
        limits: Limits | None = None,
    ) -> ServerProcess:
        """Starts a server and waits until it listens."""
        check_secret(secret)
        hold_standard_descriptors()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "pyrite.remote.server", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        try:
            ours.settimeout(START_S)
            ours.sendall(pack_options(folders, secret, address, limits or Limits()))
            address = unpack_address(ours)
        except BaseException:
            ours.close()
            process.kill()
            process.wait()
            raise
        return cls(process, ours, address)

    def forget(self, segments: Iterable[str]) -> None:
        """Tells the server that these segments are removed: it holds their memory otherwise."""
        unsaid = iter(segments)
        while names := list(islice(unsaid, NAMES_A_LINE)):
            self.words.say("forget", names)

    def move(self, order: MoveOrder) -> None:
        """Tells the server to copy a segment; `hear` says when it has, or why it could not."""
        self.words.say("move", *order)

    def fetch(self, order: FetchOrder) -> None:
        """Tells the server to fetch a parcel; `hear` says when it has, or why it could not."""
        self.words.say("fetch", *order)

    def hear(self) -> list[Done]:
        """The orders that are done: their ids, each with None or why it was not possible."""
        self.words.flush()
        kinds: dict[str, type[Done]] = {"moved": Moved, "fetched": Fetched}
        return [kinds[kind](id, reason) for kind, id, reason in self.words.hear()]

    @property
    def closed(self) -> bool:
        """Whether `hear` has found that the server has gone."""
        return self.words.closed

    def stop(self) -> None:
        """Ends the server and waits until it has gone."""
        self.words.sock.close()
        self.control.close()
        wait_or_kill(self.process, STOP_S)


def wait_or_kill(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Waits for the end of a process that was told to, and ends it where it does not."""
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def pack_options(folders: Folders, secret: bytes, address: Address, limits: Limits) -> bytes:
    """What a server is told first; through a socket, since others can read command lines."""
    options = {"folders": folders, "secret": secret.hex(), "address": address, "limits": limits}
    return json.dumps(options).encode() + b"\n"


def unpack_address(control: socket.socket) -> Address:
    """Where the server says that it listens."""
    with control.makefile("rb") as lines:
        line = lines.readline()
    if not line:
        raise ServerNotStarted("the block server ended before it listened; see its error output")
    said = json.loads(line)
    if "error" in said:
        raise ServerNotStarted(f"the block server could not start: {said['error']}")
    address = unpacked(said["address"])
    assert address is not None
    return address
