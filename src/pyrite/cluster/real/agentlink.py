"""The driver's end of the connection to an agent."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from typing import Any

from pyrite.cluster.node.link import Link
from pyrite.cluster.node.wire import Message, pack
from pyrite.cluster.real.addressbook import AddressBook
from pyrite.cluster.real.executorlink import ExecutorLink, RelayedExecutor, SocketExecutor
from pyrite.ids import ExecutorId, NodeId


class AgentLink:
    """Orders to one agent, and its messages."""

    def __init__(
        self,
        node: NodeId,
        sock: socket.socket,
        poll: select.epoll,
        book: AddressBook | None = None,
    ) -> None:
        self.node = node
        self.link = Link(sock, poll)
        self.poll = poll
        # Of an agent that carries its executors' messages; others get sockets of their own.
        self.book = book
        self.executors: dict[ExecutorId, ExecutorLink] = {}
        # How many changes of addresses it has been told.
        self.changes_told = 0
        # Whether it has said anything yet: one that starts on a busy machine may take its time.
        self.heard = False

    @property
    def fd(self) -> int:
        return self.link.sock.fileno()

    @property
    def closed(self) -> bool:
        return self.link.closed

    def send(self, *message: Any) -> None:
        self.link.outbox.send(pack(message))

    def send_to_executor(self, executor: ExecutorId, data: bytes) -> None:
        """Sends messages to an executor, which will find all nodes that they name."""
        self.tell_changes()
        self.send("x", executor, data)

    def tell_changes(self) -> None:
        """Tells the agent which nodes have come and gone."""
        book = self.book
        if book is not None and self.changes_told != len(book.changes):
            self.send("nodes", *book.since(self.changes_told))
            self.changes_told = len(book.changes)

    def start_executor(self, id: ExecutorId, wrote: Callable[[ExecutorLink], None]) -> ExecutorLink:
        """Orders an executor."""
        executor: ExecutorLink
        if self.book is not None:
            self.tell_changes()
            self.send("fork", id)
            executor = RelayedExecutor(id, self.node, self, wrote)
        else:
            ours, theirs = socket.socketpair()
            self.link.outbox.send(pack(("fork", id)), theirs)
            executor = SocketExecutor(id, self.node, self, wrote, ours, self.poll)
        self.executors[id] = executor
        return executor

    def cancel(self, executor: ExecutorId, attempt: int) -> None:
        self.send("cancel", executor, attempt)

    def kill(self, executor: ExecutorId) -> None:
        self.send("kill", executor)

    def ping(self) -> None:
        """Requests an answer; whatever the agent says shows that it lives."""
        self.send("ping")

    def read(self) -> list[Message]:
        """Returns its messages; `closed` is set once it has ended."""
        self.link.outbox.flush()
        messages = self.link.read()
        self.heard = self.heard or bool(messages)
        return messages

    def hang_up(self) -> None:
        """Closes the connection: the agent ends, with its executors."""
        self.link.outbox.clear()
        with contextlib.suppress(OSError, ValueError):
            self.poll.unregister(self.link.sock)
        self.link.close()
