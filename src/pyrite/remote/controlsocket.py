"""The control socket between a block server and its parent: one JSON list a line, both ways."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from typing import Any, NamedTuple

from pyrite.remote.outbox import Outbox

READ_BYTES = 1 << 16
# Who has not read so much for so long does not live, whatever the kernel says.
MOST_UNSENT_BYTES = 16 << 20


class Moved(NamedTuple):
    """An order to move a segment is done, or why it can't be."""

    id: int
    reason: str | None


class Fetched(NamedTuple):
    """An order to fetch a prefetched segment is done, or why it can't be."""

    id: int
    reason: str | None


Done = Moved | Fetched


class ControlSocket:
    """One end of the socket; it never waits, so that neither side can hold up the other."""

    def __init__(self, sock: socket.socket, poll: select.epoll) -> None:
        sock.setblocking(False)
        self.sock = sock
        poll.register(sock, select.EPOLLIN)
        self.outbox = Outbox(sock, poll)
        self.unheard = b""
        self.closed = False

    def send(self, *words: object) -> None:
        """Sends a line now, or as soon as there is room for it."""
        self.outbox.send(json.dumps(words).encode() + b"\n")
        if len(self.outbox) > MOST_UNSENT_BYTES:
            self.hang_up()

    def receive(self) -> list[list[Any]]:
        """The lines that have come since; `closed` once the other side has gone."""
        while not self.closed:
            try:
                data = self.sock.recv(READ_BYTES)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            self.unheard += data
            self.closed = not data
        *lines, self.unheard = self.unheard.split(b"\n")
        return [json.loads(line) for line in lines]

    def hang_up(self) -> None:
        """Ends the conversation: both sides will hear that the other has gone."""
        self.outbox.clear()
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
