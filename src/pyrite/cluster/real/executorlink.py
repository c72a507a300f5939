"""The driver's side of an executor: over a socket of its own, or through its node's agent."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyrite.cluster.conversation import Peer
from pyrite.cluster.node.link import Link
from pyrite.cluster.node.wire import Message, Unpacker, pack
from pyrite.ids import ExecutorId, NodeId

if TYPE_CHECKING:
    from pyrite.cluster.real.agentlink import AgentLink


class ExecutorLink(Peer):
    """One executor process, as the driver knows it."""

    def __init__(
        self, id: ExecutorId, node: NodeId, agent: AgentLink, wrote: Callable[[ExecutorLink], None]
    ) -> None:
        super().__init__(id, node)
        self.agent = agent
        # Told of each message that waits to be flushed.
        self.wrote = wrote
        self.pid: int | None = None
        self.joined = False
        self.kill_reason = ""

    def close(self) -> None:
        """Closes what is its own."""


class SocketExecutor(ExecutorLink):
    """An executor with a socket of its own to the driver."""

    def __init__(
        self,
        id: ExecutorId,
        node: NodeId,
        agent: AgentLink,
        wrote: Callable[[ExecutorLink], None],
        sock: socket.socket,
        poll: select.epoll,
    ) -> None:
        super().__init__(id, node, agent, wrote)
        self.link = Link(sock, poll)

    def put(self, message: Message) -> None:
        self.link.outbox.add(pack(message))
        self.wrote(self)

    def flush(self) -> None:
        if not self.link.closed:
            self.link.outbox.flush()

    def close(self) -> None:
        self.link.close()


class RelayedExecutor(ExecutorLink):
    """An executor whose messages its agent carries."""

    def __init__(
        self, id: ExecutorId, node: NodeId, agent: AgentLink, wrote: Callable[[ExecutorLink], None]
    ) -> None:
        super().__init__(id, node, agent, wrote)
        self.unpacker = Unpacker()
        self.unsent = bytearray()

    def put(self, message: Message) -> None:
        self.unsent += pack(message)
        self.wrote(self)

    def flush(self) -> None:
        if self.unsent:
            data = bytes(self.unsent)
            self.unsent.clear()
            self.agent.send_to_executor(self.id, data)
