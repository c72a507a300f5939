"""The process of a block server, as its parent holds it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterable

from pyrite.blocks.segments import Folders
from pyrite.errors import ClusterError
from pyrite.remote.errors import Address
from pyrite.remote.handshake import check_secret
from pyrite.remote.server import Limits

# The kernel chooses a port.
LOOPBACK = ("127.0.0.1", 0)
START_S = 60.0


class ServerNotStarted(ClusterError):
    """A block server ended before it said where it listens."""


class ServerProcess:
    """A running block server; it ends when this is stopped or this process ends."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, address: Address
    ) -> None:
        self.process = process
        self.control = control
        self.address = address

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
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "pyrite.remote.server", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        try:
            ours.settimeout(START_S)
            ours.sendall(pack_options(folders, secret, address, limits or Limits()))
            address = unpack_address(ours)
            ours.settimeout(None)
        except BaseException:
            ours.close()
            process.kill()
            process.wait()
            raise
        return cls(process, ours, address)

    def forget(self, segments: Iterable[str]) -> None:
        """Tells the server that these segments are removed: it holds their memory otherwise."""
        self.control.sendall(" ".join(segments).encode() + b"\n")

    def stop(self) -> None:
        """Ends the server and waits until it has gone."""
        self.control.close()
        self.process.wait()


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
    address = said["address"]
    return address if isinstance(address, str) else (address[0], address[1])
