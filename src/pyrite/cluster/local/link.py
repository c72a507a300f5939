"""The driver's end of the socket to one process."""

from __future__ import annotations

import os
import select
import socket
import weakref

from pyrite.cluster.local.wire import CHUNK_BYTES, Message, Unpacker
from pyrite.remote.outbox import Outbox

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
        except ConnectionResetError:
            self.closed = True
        return messages

    def close(self) -> None:
        self.sock.close()


def _close_in_fork() -> None:
    """Closes the executors' sockets in a fork of the driver, which would keep them open."""
    for link in list(LINKS):
        link.close()


os.register_at_fork(after_in_child=_close_in_fork)
