"""A client's connection to a block server."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyrite.blocks.segments import MOST_BUFFERS
from pyrite.remote.errors import Address, PeerLost, family_of
from pyrite.remote.handshake import (
    NONCE_BYTES,
    PROOF_BYTES,
    answer,
    fresh_nonce,
    server_proved,
)
from pyrite.remote.protocol import REPLY, Malformed, Reply, Status, unpack_reply

if TYPE_CHECKING:
    from pyrite.remote.tls import Gate

NOTHING = memoryview(bytearray())
# How many bytes are received at once while the length of the reply is unknown.
PEEK_BYTES = 64 << 10


class Broken(Exception):
    """The connection broke; the server may still be alive."""


class PeerLink:
    """Sends requests and receives replies, waiting as long as the server makes progress."""

    def __init__(self, address: Address, timeout_s: float, gate: Gate | None = None) -> None:
        self.sock: socket.socket = socket.socket(family_of(address), socket.SOCK_STREAM)
        self.address = address
        self.timeout_s = timeout_s
        self.gate = gate
        self.header = memoryview(bytearray(REPLY.size))
        # The start of the next replies, if it arrived together with an earlier one.
        self.early = NOTHING
        self.ahead = NOTHING

    def connect(self, secret: bytes) -> None:
        """Returns when both sides have proved that they know the secret; raises PeerLost."""
        try:
            # The kernel's timeouts: Python's own would take a second system call each time.
            limit = struct.pack("ll", int(self.timeout_s), int(self.timeout_s % 1 * 1e6))
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            if self.sock.family != socket.AF_UNIX:
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock.connect(self.address)
            if self.gate is not None and not isinstance(self.address, str):
                self.sock = self.gate.enter(self.sock, self.address[0], self.timeout_s)
            self._prove(secret)
        except (BlockingIOError, TimeoutError):
            raise self._silent() from None
        except (OSError, Broken) as error:
            raise PeerLost(self.address, str(error)) from None

    def _prove(self, secret: bytes) -> None:
        server_nonce = self._receive_exactly(NONCE_BYTES)
        client_nonce = fresh_nonce()
        self.sock.sendall(answer(secret, server_nonce, client_nonce))
        try:
            proof = self._receive_exactly(PROOF_BYTES)
        except (Broken, ConnectionError):
            raise Broken("it did not accept this application's secret, or is busy") from None
        if not server_proved(secret, server_nonce, client_nonce, proof):
            raise Broken("it does not know this application's secret")

    def ask(self, buffers: Sequence[Any], view: memoryview = NOTHING) -> Reply:
        """Sends one request and returns its reply."""
        self.send(buffers)
        return self.receive(view)

    def send(self, buffers: Sequence[Any]) -> None:
        """Sends all buffers."""
        pending = [memoryview(each) for each in buffers]
        position = 0
        try:
            while position < len(pending):
                sent = self.sock.sendmsg(pending[position : position + MOST_BUFFERS])
                while position < len(pending) and sent >= len(pending[position]):
                    sent -= len(pending[position])
                    position += 1
                if sent:
                    pending[position] = pending[position][sent:]
        except BlockingIOError:
            raise self._silent() from None
        except OSError as error:
            raise Broken(str(error)) from None

    def receive(self, view: memoryview = NOTHING) -> Reply:
        """Receives the next reply; its bytes, if any, are in the view."""
        try:
            got = self._take_early(view) if self.early else self._receive_some(view)
            if got < REPLY.size:
                self._fill(self.header[got:], got)
                got = REPLY.size
            reply = unpack_reply(self.header)
            if reply.length != (len(view) if reply.status is Status.OK else 0):
                raise Malformed("a reply of another length")
            rest = got - REPLY.size
            if reply.length:
                self._fill(view[rest:], got)
            elif rest:
                self.early = memoryview(bytes(view[:rest]) + self.early)
        except BlockingIOError:
            raise self._silent() from None
        except Malformed as error:
            raise PeerLost(self.address, f"it speaks another protocol: {error}") from None
        except OSError as error:
            raise Broken(str(error)) from None
        return reply

    def receive_any(
        self, take: Callable[[int], memoryview], most: int | None = None
    ) -> tuple[Reply, memoryview]:
        """Receives the next reply, of any length up to `most`, and its bytes into the view that
        `take` returns."""
        try:
            if not self.early:
                self._receive_ahead()
            got = self._take_early(NOTHING)
            if got < REPLY.size:
                self._fill(self.header[got:], got)
            reply = unpack_reply(self.header)
            most = most if reply.status is Status.OK else 0
            if most is not None and reply.length > most:
                raise Malformed("a reply of another length")
            view = take(reply.length) if reply.length else NOTHING
            early = self.early[: len(view)]
            view[: len(early)] = early
            self.early = self.early[len(early) :]
            self._fill(view[len(early) :], REPLY.size)
        except BlockingIOError:
            raise self._silent() from None
        except Malformed as error:
            raise PeerLost(self.address, f"it speaks another protocol: {error}") from None
        except OSError as error:
            raise Broken(str(error)) from None
        return reply, view

    def _receive_ahead(self) -> None:
        if not self.ahead:
            self.ahead = memoryview(bytearray(PEEK_BYTES))
        got = self.sock.recv_into(self.ahead)
        if not got:
            raise Broken("it closed the connection")
        self.early = self.ahead[:got]

    def _receive_some(self, view: memoryview) -> int:
        return self.sock.recvmsg_into([self.header, view])[0]

    def _take_early(self, view: memoryview) -> int:
        head, rest = self.early[: REPLY.size], self.early[REPLY.size :][: len(view)]
        self.header[: len(head)] = head
        view[: len(rest)] = rest
        got = len(head) + len(rest)
        self.early = self.early[got:]
        return got

    def close(self) -> None:
        """Ends the connection."""
        self.sock.close()

    def hang_up(self) -> None:
        """Breaks the connection for a thread that waits on it."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def _receive_exactly(self, size: int) -> bytes:
        buffer = bytearray(size)
        self._fill(memoryview(buffer), size)
        return bytes(buffer)

    def _fill(self, view: memoryview, got: int) -> None:
        """Receives until the view is full; `got` is the last count, 0 if the peer has closed."""
        while got and view:
            got = self.sock.recv_into(view, len(view), socket.MSG_WAITALL)
            view = view[got:]
        if not got:
            raise Broken("it closed the connection")

    def _silent(self) -> PeerLost:
        return PeerLost(self.address, f"it did not answer within {self.timeout_s:g} s")
