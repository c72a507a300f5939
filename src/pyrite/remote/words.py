"""The control socket between a block server and its parent: one JSON list a line, both ways."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from typing import Any, NamedTuple

from pyrite.remote.unsent import Unsent

READ_BYTES = 1 << 16
# Who has not read so much for so long does not live, whatever the kernel says.
MOST_UNSENT_BYTES = 16 << 20


class Moved(NamedTuple):
    """An order to move a segment is done, or why it can't be."""

    id: int
    reason: str | None


class Fetched(NamedTuple):
    """An order to fetch a parcel is done, or why it can't be."""

    id: int
    reason: str | None


Done = Moved | Fetched


class Words:
    """One end of the socket; it never waits, so that neither side can hold up the other."""

    def __init__(self, sock: socket.socket, poll: select.epoll) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.poll = poll
        self.poll.register(sock, select.EPOLLIN)
        self.unsent = Unsent(sock)
        self.waits_to_send = False
        self.unheard = b""
        self.closed = False

    def say(self, *words: object) -> None:
        """Sends a line now, or as soon as there is room for it."""
        self.flush(json.dumps(words).encode() + b"\n")
        if len(self.unsent) > MOST_UNSENT_BYTES:
            self.hang_up()

    def flush(self, data: bytes = b"") -> None:
        """Sends what there is room for; the rest when the poll says that there is more."""
        self.unsent.send(data)
        if bool(self.unsent) != self.waits_to_send:
            self.waits_to_send = bool(self.unsent)
            self.poll.modify(
                self.sock, select.EPOLLIN | (select.EPOLLOUT if self.waits_to_send else 0)
            )

    def hear(self) -> list[list[Any]]:
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
        self.unsent.clear()
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
