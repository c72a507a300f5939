"""What an agent does beside its executors: storage, the addresses of other nodes, files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrite.cluster.node.filefetches import FileFetches, SharedArchive
from pyrite.cluster.node.storage import NodeStorage
from pyrite.cluster.node.watch import Probed, Watch
from pyrite.cluster.node.wire import Message
from pyrite.ids import ExecutorId, NodeId
from pyrite.remote.errors import Address
from pyrite.remote.fetcher import unpacked_order
from pyrite.remote.mover import MoveOrder


class Serving:
    """The part of an agent that a node of many has, and the only node has not."""

    def __init__(
        self,
        storage: NodeStorage,
        secret: bytes,
        timeout_s: float,
    ) -> None:
        self.storage = storage
        self.secret = secret
        # Set by the agent: how to reach the driver, and all executors.
        self.tell: Callable[..., None] = lambda *_: None
        self.tell_executors: Callable[[Message], None] = lambda _: None
        self.give_up_peer: Callable[[tuple[str, int]], None] = lambda _: None
        self.addresses: dict[NodeId, Address] = {}
        # Why the node can't go on.
        self.failed = ""
        self.watch: Watch[int] = Watch(timeout_s, lambda text: self.tell("warn", text))
        self.orders: dict[str, Callable[..., None]] = {
            "remove": storage.remove,
            "clear": self._clear,
            "move": self._move,
            "fetch": lambda *order: storage.fetch(unpacked_order(list(order))),
            "nodes": self._meet,
            "files": self._fetch_files,
        }
        self.files = FileFetches(storage.folders, secret, timeout_s, self._files_fetched)
        # Called once all files that the driver has told of are there.
        self.files_ready: Callable[[], None] = lambda: None

    def known_nodes(self) -> Message:
        """What a new executor has to know of the other nodes."""
        return ("nodes", self.secret, self.addresses)

    def _meet(self, addresses: dict[NodeId, Address], gone: list[NodeId]) -> None:
        self.addresses.update(addresses)
        lost = [self.addresses.pop(node, None) for node in gone]
        self.tell_executors(self.known_nodes())
        for address in lost:
            if isinstance(address, tuple):
                self.give_up_peer(address)

    def _clear(self, executor: ExecutorId, known: list[str]) -> None:
        self.storage.clear(executor, known)

    def _move(self, *order: Any) -> None:
        self.storage.move(MoveOrder(*order), lambda move, reason: None)

    def _fetch_files(self, number: int, segment: str, size: int, sources: list[Address]) -> None:
        self.files.take(SharedArchive(number, segment, size, tuple(sources)))

    def _files_fetched(self, number: int, fetched: bool) -> None:
        if not fetched:
            self.failed = "it could not fetch the added files; see its error output"
            self.tell("ends", self.failed)
            return
        self.tell("files", number)
        self.files_ready()

    def receive(self) -> None:
        """Tells the driver what the block server has done."""
        server = self.storage.server
        assert server is not None
        self.watch.mark_alive(server.process.pid)
        for done in self.storage.receive():
            self.tell("done", type(done).__name__, *done)
        if server.closed:
            reason = self.watch.end_of(server.process.pid, "its block server was killed")
            self.failed = reason
            self.tell("ends", reason)

    def tend(self, now_s: float) -> float:
        """Pings the block server when it is time to; returns the seconds until the next ping."""
        server = self.storage.server
        assert server is not None
        what = f"the block server of {self.storage.node} (pid {server.process.pid})"
        asked = {server.process.pid: Probed(what, server.ping)}
        for _ in self.watch.tend(lambda: asked, now_s):
            server.process.kill()
        return max(0.0, self.watch.next_s() - now_s)

    def close_in_child(self) -> None:
        server = self.storage.server
        if server is not None:
            server.hang_up()
