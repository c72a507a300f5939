"""The control socket between a block server and its parent: one JSON list a line, both ways."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from typing import Any, NamedTuple

from pyrite.remote.outbox import Outbox

READ_BYTES = 1 << 16
# A peer that leaves so much unread is taken for dead.
MOST_UNSENT_BYTES = 16 << 20


class Moved(NamedTuple):
    """The outcome of an order to move a segment: None, or the reason of its failure."""

    id: int
    reason: str | None


class Fetched(NamedTuple):
    """The outcome of an order to fetch a segment: None, or the reason of its failure; and what it
    cost (MeasuredFetch)."""

    id: int
    reason: str | None
    link_s: float = 0.0
    taken_s: float = 0.0


Done = Moved | Fetched


class ControlSocket:
    """One end of the socket; non-blocking, so that neither side can hold up the other."""

    def __init__(self, sock: socket.socket, poll: select.epoll) -> None:
        sock.setblocking(False)
        self.sock = sock
        poll.register(sock, select.EPOLLIN)
        self.outbox = Outbox(sock, poll)
        self.unparsed = b""
        self.closed = False

    def send(self, *message: object) -> None:
        """Sends a message now, or as soon as there is room for it."""
        self.outbox.send(json.dumps(message).encode() + b"\n")
        if len(self.outbox) > MOST_UNSENT_BYTES:
            self.hang_up()

    def receive(self) -> list[list[Any]]:
        """Returns the messages that have arrived; sets `closed` once the other side has closed."""
        while not self.closed:
            try:
                data = self.sock.recv(READ_BYTES)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            self.unparsed += data
            self.closed = not data
        *lines, self.unparsed = self.unparsed.split(b"\n")
        return [json.loads(line) for line in lines]

    def hang_up(self) -> None:
        """Shuts the socket down: both sides will find it closed."""
        self.outbox.clear()
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
