"""One client's connection as the desk holds it: proves first, then words both ways, never waits."""

from __future__ import annotations

import json
import select
import socket
import struct
from typing import Any

from pyrite.exchange.book import GuestId
from pyrite.remote.handshake import ANSWER_BYTES, counter_proof, fresh_nonce
from pyrite.remote.outbox import Outbox

LENGTH = struct.Struct("<I")
READ_BYTES = 1 << 16
# More than the largest shuffle's words take.
MOST_BYTES = 16 << 20
# Nobody polls for longer at a time: the kernel counts in milliseconds, and not very far.
LONGEST_S = 3600.0


def pack(words: list[Any]) -> bytes:
    """Words as they travel: their length, then JSON."""
    body = json.dumps(words, separators=(",", ":")).encode()
    return LENGTH.pack(len(body)) + body


class ClientConnection:
    """A connection with a number, which its segments carry."""

    def __init__(self, id: GuestId, sock: socket.socket, secret: bytes, poll: select.epoll) -> None:
        self.id = id
        self.sock = sock
        self.secret = secret
        self.has_proved = False
        self.nonce = fresh_nonce()
        self.unheard = bytearray()
        self.outbox = Outbox(sock, poll)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A machine that vanishes says nothing; its leases must come free all the same.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def greet(self) -> None:
        """Sends the nonce: a new connection has room for it."""
        self.sock.send(self.nonce)

    def receive(self) -> list[Any] | None:
        """A request, once it has come; raises OSError or ValueError where it is to be closed."""
        try:
            data = self.sock.recv(READ_BYTES)
        except BlockingIOError:
            return None
        if not data:
            raise ConnectionResetError("the client has gone")
        self.unheard += data
        if not self.has_proved:
            self._check_proof()
            return None
        return self._request()

    def _check_proof(self) -> None:
        if len(self.unheard) < ANSWER_BYTES:
            return
        if len(self.unheard) > ANSWER_BYTES:
            raise ValueError("a client that speaks before it has been let in")
        proof = counter_proof(self.secret, self.nonce, bytes(self.unheard))
        if proof is None:
            raise ConnectionRefusedError("the client does not know the secret")
        self.unheard.clear()
        self.has_proved = True
        self.sock.send(proof)

    def _request(self) -> list[Any] | None:
        if len(self.unheard) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self.unheard)
        if length > MOST_BYTES:
            raise ValueError(f"a request of {length} bytes")
        excess = len(self.unheard) - LENGTH.size - length
        if excess > 0 or self.outbox:
            raise ValueError("a client that does not wait for its answer")
        if excess < 0:
            return None
        words: list[Any] = json.loads(self.unheard[LENGTH.size :])
        self.unheard.clear()
        return words

    def send(self, words: list[Any]) -> None:
        """Sends words now, or as soon as there is room for them."""
        self.outbox.send(pack(words))
