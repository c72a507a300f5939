"""The driver's side of an executor process."""

from __future__ import annotations

import select
import socket

from pyrite.cluster.conversation import Peer
from pyrite.cluster.local.cancelflag import CancelFlag
from pyrite.cluster.local.link import Link
from pyrite.cluster.local.node import LocalNode
from pyrite.cluster.local.wire import Message, pack
from pyrite.ids import ExecutorId


class ExecutorLink(Peer):
    """The connection to one executor process."""

    def __init__(
        self, id: ExecutorId, host: LocalNode, sock: socket.socket, poll: select.epoll
    ) -> None:
        super().__init__(id, host.id)
        self.host = host
        self.link = Link(sock, poll)
        try:
            self.flag = CancelFlag(host.folders, id)
        except OSError:
            sock.close()
            raise
        self.pid: int | None = None
        self.joined = False
        self.kill_reason = ""

    def put(self, message: Message) -> None:
        self.link.outbox.add(pack(message))

    def flush(self) -> None:
        if not self.link.closed:
            self.link.outbox.flush()
