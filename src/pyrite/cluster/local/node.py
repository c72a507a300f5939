"""A host of the local adapter: folders of its own, a fork server for its executors, a block
server."""

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


# So many clients wait for the next block server.
BACKLOG = 128


class NodeShape(NamedTuple):
    """How large a node is; a storage-only one has no executors."""

    executors: int
    pool_bytes: int


class NodeWays(NamedTuple):
    """How all nodes of a cluster are started."""

    # What executors are told as they start.
    options: dict[str, Any]
    environment: dict[str, str]
    # What block servers demand; None where there are none, as no other node would read.
    secret: bytes | None
    send_bytes_per_s: int


class LocalNode:
    """One host, played by processes and folders of this machine."""

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
        self.launcher: ForkServerProcess | None = None
        self.server: ServerProcess | None = None
        self.address: Address | None = None
        # The driver's node outlives its block server: clients come to a socket of its own, and wait
        # there for the next one.
        self.listener: socket.socket | None = None
        # Whether it has been of use: one that never is can't be started for ever.
        self.proven = False

    def start(self, ways: NodeWays) -> None:
        """Starts its processes, then makes its folders: whenever the driver is killed, there is
        somebody to remove what there is."""
        self._start_server(ways)
        if self.shape.executors:
            self.start_fork_server(ways)
        self.scratch.make()
        self._open_server(ways)

    def start_fork_server(self, ways: NodeWays) -> ForkServerProcess:
        """The process that executors are forked from; another one if the last has died."""
        if self.launcher is None or self.launcher.link.closed:
            told = {"folders": list(self.folders), "traces": self.scratch.traces()}
            self.launcher = ForkServerProcess({**ways.options, **told}, ways.environment, self.poll)
        return self.launcher

    def restart_server(self, ways: NodeWays) -> None:
        """Has another block server serve the folders, after the last has gone."""
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
        self.poll.register(self.server.control, select.EPOLLIN)

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
        """Whether others can read its blocks, where there are others."""
        return self.server is None or self.server.address is not None

    def move(self, command: MoveSegment, address: Address | None) -> None:
        """Copies a segment: by the block server, or, on the only node, by this process."""
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
        """Fetches parts of map outputs; without an address those of this node itself."""
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
        """What became of the orders that its block server had, as far as it has told."""
        from pyrite.remote.controlsocket import Moved

        assert self.server is not None
        done = self.server.receive()
        self.address = self.server.address or self.address
        return [(moved if isinstance(each, Moved) else fetched)(*each) for each in done]

    def asked(self) -> dict[int, Probed]:
        """Its processes that are asked whether they live, by their ids."""
        found = {}
        if self.launcher is not None and not self.launcher.link.closed:
            what = f"the process that executors on {self.id} are forked from"
            found[self.launcher.process.pid] = Probed(what, self.launcher.ping)
        if self.server is not None:
            what = f"the block server of {self.id}"
            found[self.server.process.pid] = Probed(what, self.server.ping)
        return found

    def hang_up(self) -> None:
        """Tells all of its processes to end."""
        if self.launcher is not None:
            self.launcher.hang_up()
        if self.server is not None:
            self._hang_up_server(self.server)

    def _hang_up_server(self, server: ServerProcess) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.poll.unregister(server.control)
        server.hang_up()

    def end(self, timeout_s: float) -> None:
        """Ends all of its processes and removes its folders."""
        self.hang_up()
        if self.launcher is not None:
            self.launcher.close(timeout_s)
        if self.server is not None:
            self.server.stop(timeout_s)
        if self.mover is not None:
            self.mover.close()
        if self.listener is not None:
            self.listener.close()
        self.scratch.remove()


def moved(move: int, problem: str | None) -> Event:
    """What became of an order to move a segment."""
    return SegmentMoved(move) if problem is None else SegmentNotMoved(move, problem)


def fetched(fetch: int, problem: str | None) -> Event:
    """What became of an order to fetch parts."""
    return PartsFetched(fetch) if problem is None else PartsNotFetched(fetch, problem)
