"""One end of the socket between the driver and another process."""

from __future__ import annotations

import os
import select
import socket
import weakref

from pyrite.cluster.node.wire import CHUNK_BYTES, Message, Unpacker
from pyrite.remote.outbox import Outbox

# How much is read at once where sockets are passed along, and how many of them.
SMALL_CHUNK_BYTES = 4096
MOST_SOCKETS = 8

LINKS: weakref.WeakSet[Link] = weakref.WeakSet()


class Link:
    """A non-blocking socket: what can't be sent yet stays in the outbox."""

    def __init__(self, sock: socket.socket, poll: select.epoll) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.unpacker = Unpacker()
        self.outbox = Outbox(sock, poll)
        self.closed = False
        poll.register(sock, select.EPOLLIN)
        LINKS.add(self)

    def read(self) -> list[Message]:
        """Returns the messages that have arrived; sets `closed` when the other side has closed."""
        messages: list[Message] = []
        try:
            while True:
                data = self.sock.recv(CHUNK_BYTES)
                if not data:
                    self.closed = True
                    break
                messages.extend(self.unpacker.feed(data))
                if len(data) < CHUNK_BYTES:
                    break
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True
        return messages

    def read_with_sockets(self) -> tuple[list[Message], list[int]]:
        """As `read`, with the descriptors that were passed along."""
        try:
            data, fds, _, _ = socket.recv_fds(self.sock, SMALL_CHUNK_BYTES, MOST_SOCKETS)
        except BlockingIOError:
            return [], []
        except OSError:
            data, fds = b"", []
        self.closed = not data
        return list(self.unpacker.feed(data)), fds

    def close(self) -> None:
        self.sock.close()


def _close_in_fork() -> None:
    """Closes the sockets in a fork of this process, which would keep them open."""
    for link in list(LINKS):
        link.close()


os.register_at_fork(after_in_child=_close_in_fork)
