"""The server's side of a client's connection: first the handshake, then messages; non-blocking."""

from __future__ import annotations

import json
import select
import socket
import struct
from typing import Any

from pyrite.exchange.book import ClientId
from pyrite.remote.handshake import ANSWER_BYTES, counter_proof, fresh_nonce
from pyrite.remote.outbox import Outbox

LENGTH = struct.Struct("<I")
READ_BYTES = 1 << 16
# More than the messages of the largest shuffle.
MOST_BYTES = 16 << 20
# The longest poll at a time: the kernel counts milliseconds in a small integer.
LONGEST_S = 3600.0


def pack(message: list[Any]) -> bytes:
    """Encodes a message: its length, then JSON."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return LENGTH.pack(len(body)) + body


class ClientConnection:
    """A connection with an id, which is part of its segments' names."""

    def __init__(
        self, id: ClientId, sock: socket.socket, secret: bytes, poll: select.epoll
    ) -> None:
        self.id = id
        self.sock = sock
        self.secret = secret
        self.has_proved = False
        self.nonce = fresh_nonce()
        self.unparsed = bytearray()
        self.outbox = Outbox(sock, poll)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The leases of a machine that vanishes silently must be freed, too.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def greet(self) -> None:
        """Sends the nonce, for which a new connection has room."""
        self.sock.send(self.nonce)

    def receive(self) -> list[Any] | None:
        """Returns a request once it is complete; raises OSError or ValueError if the connection
        is to be closed."""
        try:
            data = self.sock.recv(READ_BYTES)
        except BlockingIOError:
            return None
        if not data:
            raise ConnectionResetError("the client has closed the connection")
        self.unparsed += data
        if not self.has_proved:
            self._check_proof()
            return None
        return self._request()

    def _check_proof(self) -> None:
        if len(self.unparsed) < ANSWER_BYTES:
            return
        if len(self.unparsed) > ANSWER_BYTES:
            raise ValueError("a client that sends requests before the handshake is done")
        proof = counter_proof(self.secret, self.nonce, bytes(self.unparsed))
        if proof is None:
            raise ConnectionRefusedError("the client does not know the secret")
        self.unparsed.clear()
        self.has_proved = True
        self.sock.send(proof)

    def _request(self) -> list[Any] | None:
        if len(self.unparsed) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self.unparsed)
        if length > MOST_BYTES:
            raise ValueError(f"a request of {length} bytes")
        excess = len(self.unparsed) - LENGTH.size - length
        if excess > 0 or self.outbox:
            raise ValueError("a client that does not wait for its answer")
        if excess < 0:
            return None
        message: list[Any] = json.loads(self.unparsed[LENGTH.size :])
        self.unparsed.clear()
        return message

    def send(self, message: list[Any]) -> None:
        """Sends a message now, or as soon as there is room for it."""
        self.outbox.send(pack(message))
