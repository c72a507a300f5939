"""Looking at a block server from outside, and talking to it without a client."""

import contextlib
import os
import socket

from pyrite.remote.errors import Address
from pyrite.remote.gate import own_gate
from pyrite.remote.handshake import NONCE_BYTES, PROOF_BYTES, answer, fresh_nonce
from pyrite.remote.process import ServerProcess

PATIENCE_S = 30.0


def fds_of(server: ServerProcess) -> list[str]:
    """What the server's descriptors lead to."""
    folder, targets = f"/proc/{server.process.pid}/fd", []
    for fd in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            targets.append(os.readlink(f"{folder}/{fd}"))
    return targets


def connect(address: Address) -> socket.socket:
    """A bare connection."""
    sock = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    sock.settimeout(PATIENCE_S)
    sock.connect(address)
    gate = own_gate()
    if gate is None or isinstance(address, str):
        return sock
    return gate.enter(sock, address[0], PATIENCE_S)


def prove(address: Address, secret: bytes) -> socket.socket:
    """A connection after an honest handshake, for dishonest requests."""
    sock = connect(address)
    sock.sendall(answer(secret, exactly(sock, NONCE_BYTES), fresh_nonce()))
    exactly(sock, PROOF_BYTES)
    return sock


def exactly(sock: socket.socket, size: int) -> bytes:
    """So many bytes; fewer where the peer closes."""
    said = bytearray()
    while len(said) < size and (data := sock.recv(size - len(said))):
        said += data
    return bytes(said)


def until_closed(sock: socket.socket) -> bytes:
    """What the peer says before it closes."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while data := sock.recv(1 << 16):
            said += data
    sock.close()
    return said
