"""A host of the local cluster: its folders, a fork server for its executors, a block server."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.cluster.local.forkserverprocess import ForkServerProcess
from pyrite.cluster.local.watch import Probed
from pyrite.cluster.scratch import Scratch
from pyrite.cluster.space import DRIVER_NODE
from pyrite.ids import NodeId
from pyrite.schedule.commands import FetchParts, MoveSegment
from pyrite.schedule.events import (
    Event,
    PartsFetched,
    PartsNotFetched,
    SegmentMoved,
    SegmentNotMoved,
)

if TYPE_CHECKING:
    from pyrite.remote.errors import Address
    from pyrite.remote.mover import Mover
    from pyrite.remote.process import ServerProcess


# How many clients may wait while the driver's block server restarts.
BACKLOG = 128


class NodeShape(NamedTuple):
    """The size of a node; a storage-only one has no executors."""

    executors: int
    pool_bytes: int


class NodeWays(NamedTuple):
    """How all nodes of a cluster are started."""

    # Passed to executors at their start.
    options: dict[str, Any]
    environment: dict[str, str]
    # Authenticates clients of block servers; None on a single node, which has no block server.
    secret: bytes | None
    send_bytes_per_s: int


class LocalNode:
    """One host, made of processes and folders of this machine."""

    def __init__(
        self,
        id: NodeId,
        shape: NodeShape,
        local_dir: str,
        poll: select.epoll,
        post: Callable[[Event], None],
    ) -> None:
        self.id = id
        self.shape = shape
        self.scratch = Scratch(local_dir)
        self.folders = self.scratch.folders(id)
        self.poll = poll
        self.post = post
        self.mover: Mover | None = None
        self.fork_server: ForkServerProcess | None = None
        self.server: ServerProcess | None = None
        self.address: Address | None = None
        # The driver's node outlives its block server: its clients connect to this socket, and wait
        # there for the next block server.
        self.listener: socket.socket | None = None
        # Whether its start has succeeded; failed starts in a row are counted.
        self.proven = False

    def start(self, ways: NodeWays) -> None:
        """Starts its processes, then makes its folders: whenever the driver is killed, a process
        is there to remove them."""
        self._start_server(ways)
        if self.shape.executors:
            self.start_fork_server(ways)
        self.scratch.make()
        self._open_server(ways)

    def start_fork_server(self, ways: NodeWays) -> ForkServerProcess:
        """Returns the running fork server; starts one if there is none."""
        if self.fork_server is None or self.fork_server.link.closed:
            paths = {"folders": list(self.folders), "traces": self.scratch.traces()}
            options = {**ways.options, **paths}
            self.fork_server = ForkServerProcess(options, ways.environment, self.poll)
        return self.fork_server

    def restart_server(self, ways: NodeWays) -> None:
        """Starts another block server for the same folders, after the last has ended."""
        assert self.server is not None
        self._hang_up_server(self.server)
        self.server.stop(timeout_s=0.0)
        self._start_server(ways)
        self._open_server(ways)

    def _start_server(self, ways: NodeWays) -> None:
        from pyrite.remote.process import LOOPBACK, ServerProcess

        if ways.secret is None:
            return
        if self.id == DRIVER_NODE and self.listener is None:
            self.listener = socket.create_server(LOOPBACK, backlog=BACKLOG)
        traces = self.scratch.traces()
        self.server = ServerProcess(self.folders, ways.secret, traces, self.listener)
        self.poll.register(self.server.poll, select.EPOLLIN)

    def _open_server(self, ways: NodeWays) -> None:
        from pyrite.remote.process import LOOPBACK
        from pyrite.remote.server import ServerLimits

        if self.server is not None:
            pool_bytes, rate = self.shape.pool_bytes, ways.send_bytes_per_s
            limits = ServerLimits(segment_bytes=pool_bytes, send_bytes_per_s=rate)
            self.server.open(LOOPBACK, limits)

    def wait(self) -> None:
        """Waits until its block server listens."""
        assert self.server is not None
        self.address = self.server.wait()

    @property
    def listens(self) -> bool:
        """Whether its block server listens, or none is needed."""
        return self.server is None or self.server.address is not None

    def move(self, command: MoveSegment, address: Address | None) -> None:
        """Copies a segment: the block server does, or this process where there is none."""
        from pyrite.remote.mover import MoveOrder, Mover

        source, target = command.segment, command.new_segment
        order = MoveOrder(command.move, source, target, command.medium, address)
        if self.server is not None:
            self.server.move(order)
            return
        if self.mover is None:
            self.mover = Mover(self.folders, None, self._report_moved)
        self.mover.take(order)

    def _report_moved(self, move: int, problem: str | None) -> None:
        self.post(moved(move, problem))

    def fetch(self, command: FetchParts, address: Address | None) -> None:
        """Fetches parts of map outputs; without an address from this node itself."""
        from pyrite.remote.asking import ByteRange
        from pyrite.remote.fetcher import FetchOrder

        assert self.server is not None, "on the only node there is nothing to fetch"
        blocks = tuple(
            ByteRange(ref.segment, ref.offset, ref.length, ref.medium) for ref in command.refs
        )
        self.server.fetch(
            FetchOrder(
                command.fetch,
                command.segment,
                command.medium,
                command.bytes,
                address,
                command.parts,
                command.maps,
                blocks,
            )
        )

    def receive(self) -> list[Event]:
        """Returns the outcomes that its block server has reported, as events."""
        from pyrite.remote.controlsocket import Moved

        assert self.server is not None
        done = self.server.receive()
        self.address = self.server.address or self.address
        return [(moved if isinstance(each, Moved) else fetched)(*each) for each in done]

    def asked(self) -> dict[int, Probed]:
        """Its processes that are pinged, by pid."""
        found = {}
        if self.fork_server is not None and not self.fork_server.link.closed:
            what = f"the process that executors on {self.id} are forked from"
            found[self.fork_server.process.pid] = Probed(what, self.fork_server.ping)
        if self.server is not None:
            what = f"the block server of {self.id}"
            found[self.server.process.pid] = Probed(what, self.server.ping)
        return found

    def hang_up(self) -> None:
        """Closes the sockets of its processes: they end."""
        if self.fork_server is not None:
            self.fork_server.hang_up()
        if self.server is not None:
            self._hang_up_server(self.server)

    def _hang_up_server(self, server: ServerProcess) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.poll.unregister(server.poll)
        server.hang_up()

    def end(self, timeout_s: float) -> None:
        """Ends its processes and removes its folders."""
        self.hang_up()
        if self.fork_server is not None:
            self.fork_server.close(timeout_s)
        if self.server is not None:
            self.server.stop(timeout_s)
        if self.mover is not None:
            self.mover.close()
        if self.listener is not None:
            self.listener.close()
        self.scratch.remove()


def moved(move: int, problem: str | None) -> Event:
    """The outcome of an order to move a segment, as an event."""
    return SegmentMoved(move) if problem is None else SegmentNotMoved(move, problem)


def fetched(fetch: int, problem: str | None) -> Event:
    """The outcome of an order to fetch parts, as an event."""
    return PartsFetched(fetch) if problem is None else PartsNotFetched(fetch, problem)
