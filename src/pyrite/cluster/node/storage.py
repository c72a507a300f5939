"""A node's storage: its folders, its block server, and the orders to remove, move and fetch."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from pyrite.blocks.segments import clear_segments, remove_segments
from pyrite.blocks.stretches import Stretches
from pyrite.bounded.space import remove_spills
from pyrite.cluster.scratch import Scratch
from pyrite.ids import ExecutorId, NodeId
from pyrite.remote.errors import family_of

if TYPE_CHECKING:
    from pyrite.remote.controlsocket import Done
    from pyrite.remote.errors import Address
    from pyrite.remote.fetcher import FetchOrder
    from pyrite.remote.mover import MoveOrder, Mover
    from pyrite.remote.process import ServerProcess

# How many clients may wait while the driver's block server restarts.
BACKLOG = 128

ReportMoved = Callable[[int, str | None], None]


class StorageWays(NamedTuple):
    """How a node serves its segments."""

    pool_bytes: int
    # Authenticates clients of block servers; None on a single node, which has no block server.
    secret: bytes | None
    # Where the block server listens; port 0 is one that the kernel chooses.
    listen: tuple[str, int]
    send_bytes_per_s: int


class NodeStorage:
    """The folders and the block server of the node that this process is on."""

    def __init__(
        self, node: NodeId, scratch: Scratch, ways: StorageWays, poll: select.epoll
    ) -> None:
        self.node = node
        self.ways = ways
        self.scratch = scratch
        self.folders = self.scratch.folders(node)
        self.stretches = Stretches(self.folders, knows_all=True)
        self.poll = poll
        self.mover: Mover | None = None
        self.server: ServerProcess | None = None
        # Who outlives his block server has its listening socket: clients connect to it, and wait
        # there for the next block server.
        self.listener: socket.socket | None = None

    def start_server(self) -> None:
        """Starts the block server, before there are folders that it has to remove."""
        from pyrite.remote.process import ServerProcess

        if self.ways.secret is not None:
            traces = self.scratch.traces()
            self.server = ServerProcess(self.folders, self.ways.secret, traces, self.listener)
            self.poll.register(self.server.poll, select.EPOLLIN)

    def keep_listener(self) -> None:
        """Listens in this process, so that the address outlives a block server."""
        if self.ways.secret is not None:
            self.listener = socket.create_server(
                self.ways.listen, family=family_of(self.ways.listen), backlog=BACKLOG
            )

    def open(self) -> None:
        """Makes the folders and has the block server listen."""
        if not self.scratch.locks:
            self.scratch.make()
        if self.server is not None:
            from pyrite.remote.server import ServerLimits

            limits = ServerLimits(
                segment_bytes=self.ways.pool_bytes, send_bytes_per_s=self.ways.send_bytes_per_s
            )
            self.server.open(self.ways.listen, limits)

    def restart_server(self) -> None:
        """Starts another block server for the same folders, after the last has ended."""
        assert self.server is not None
        self._hang_up(self.server)
        self.server.stop(timeout_s=0.0)
        self.start_server()
        self.open()

    @property
    def listens(self) -> bool:
        """Whether its block server listens, or none is needed."""
        return self.server is None or self.server.address is not None

    @property
    def address(self) -> Address | None:
        return None if self.server is None else self.server.address

    def receive(self) -> list[Done]:
        """Returns the outcomes that the block server has reported."""
        assert self.server is not None
        return self.server.receive()

    def remove(self, segments: Iterable[str]) -> None:
        remove_segments(self.folders, segments)
        self.stretches.remove(segments)
        if self.server is not None:
            self.server.forget(segments)

    def clear(self, executor: ExecutorId, known: Iterable[str]) -> None:
        """Removes what a lost executor wrote and nobody knows of."""
        clear_segments(self.folders, executor, known)

    def remove_spills(self, pid: int | None) -> None:
        """Removes the spills of an executor that has ended."""
        # The folders may have been removed with the node.
        with contextlib.suppress(FileNotFoundError):
            remove_spills(self.folders.disk, pid)

    def move(self, order: MoveOrder, report: ReportMoved) -> None:
        """Copies a segment: the block server does, or this process where there is none, whose
        thread calls `report`."""
        if self.server is not None:
            self.server.move(order)
            return
        if self.mover is None:
            from pyrite.remote.mover import Mover

            self.mover = Mover(self.folders, None, report)
        self.mover.take(order)

    def fetch(self, order: FetchOrder) -> None:
        """Fetches parts of map outputs; without an address from this node itself."""
        assert self.server is not None, "on the only node there is nothing to fetch"
        if order.stretch is not None:
            self.stretches.add(order.target, order.stretch)
        self.server.fetch(order)

    def hang_up(self) -> None:
        """Closes the control socket of the block server: it ends."""
        if self.server is not None:
            self._hang_up(self.server)

    def _hang_up(self, server: ServerProcess) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.poll.unregister(server.poll)
        server.hang_up()

    def end(self, timeout_s: float) -> None:
        """Ends the block server and removes the folders."""
        if self.server is not None:
            self._hang_up(self.server)
            self.server.stop(timeout_s)
        if self.mover is not None:
            self.mover.close()
        if self.listener is not None:
            self.listener.close()
        self.scratch.remove()
