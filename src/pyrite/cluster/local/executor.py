"""An executor of the local adapter, as the driver holds it."""

from __future__ import annotations

import contextlib
import select
import socket

from pyrite.cluster.conversation import Peer
from pyrite.cluster.local.cancel import CancelWord
from pyrite.cluster.local.link import Link
from pyrite.cluster.local.node import LocalNode
from pyrite.cluster.local.wire import Message
from pyrite.ids import ExecutorId


class ExecutorLink(Peer):
    """One executor process."""

    def __init__(
        self, id: ExecutorId, host: LocalNode, sock: socket.socket, poll: select.epoll
    ) -> None:
        super().__init__(id, host.id)
        self.host = host
        self.link = Link(sock)
        try:
            self.word = CancelWord(host.folders, id)
        except OSError:
            sock.close()
            raise
        self.poll = poll
        self.pid: int | None = None
        self.joined = False
        self.kill_reason = ""

    def put(self, message: Message) -> None:
        self.link.put(message)

    def flush(self) -> None:
        if self.link.closed:
            return
        wanted = select.EPOLLIN
        if not self.link.flush():
            wanted |= select.EPOLLOUT
        with contextlib.suppress(FileNotFoundError):
            self.poll.modify(self.link.sock, wanted)
