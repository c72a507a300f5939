"""A host of the local adapter: folders of its own, a forge for its executors, a block server."""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.cluster.local.launcher import Launcher
from pyrite.cluster.scratch import Scratch
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


class NodeShape(NamedTuple):
    """How large a node is; a storage-only one has no executors."""

    executors: int
    pool_bytes: int


class LocalNode:
    """One host, played by processes and folders of this machine."""

    def __init__(
        self,
        id: NodeId,
        shape: NodeShape,
        scratch: Scratch,
        poll: select.epoll,
        post: Callable[[Event], None],
    ) -> None:
        self.id = id
        self.shape = shape
        self.scratch = scratch
        self.folders = scratch.folders(id)
        self.poll = poll
        self.post = post
        self.mover: Mover | None = None
        self.launcher: Launcher | None = None
        self.server: ServerProcess | None = None

    @property
    def address(self) -> Address | None:
        return None if self.server is None else self.server.address

    def orphans(self) -> tuple[str, str]:
        """What must be removed when the driver could not do it."""
        return self.folders.memory, self.folders.disk

    def start_forge(
        self, options: Mapping[str, Any], environment: dict[str, str], orphans: list[str]
    ) -> Launcher:
        """The process that executors are forked from; another one if the last has died."""
        if self.launcher is None or self.launcher.link.closed:
            whole = {**options, "folders": list(self.folders), "orphans": orphans}
            self.launcher = Launcher(whole, environment)
            self.poll.register(self.launcher.link.sock, select.EPOLLIN)
        return self.launcher

    def start_server(self, secret: bytes | None, send_bytes_per_s: int) -> None:
        """The block server, for who knows the secret; none where there are no other nodes."""
        if secret is None:
            return
        from pyrite.remote.process import ServerProcess
        from pyrite.remote.server import Limits

        limits = Limits(segment_bytes=self.shape.pool_bytes, send_bytes_per_s=send_bytes_per_s)
        self.server = ServerProcess.start(self.folders, secret, limits=limits)
        self.poll.register(self.server.control, select.EPOLLIN)

    def move(self, command: MoveSegment, address: Address | None) -> None:
        """Copies a segment: by the block server, or, on the only node, by this process."""
        from pyrite.remote.mover import MoveOrder, Mover

        order = MoveOrder(command.move, command.segment, command.new_segment, address)
        if self.server is not None:
            self.server.move(order)
            return
        if self.mover is None:
            self.mover = Mover(self.folders, None, self._tell_moved)
        self.mover.take(order)

    def _tell_moved(self, move: int, problem: str | None) -> None:
        self.post(moved(move, problem))

    def fetch(self, command: FetchParts, address: Address | None) -> None:
        """Fetches parts of map outputs; without an address those of this node itself."""
        from pyrite.remote.asking import Stretch
        from pyrite.remote.fetcher import FetchOrder

        assert self.server is not None, "on the only node there is nothing to fetch"
        blocks = tuple(Stretch(ref.segment, ref.offset, ref.length) for ref in command.refs)
        self.server.fetch(
            FetchOrder(
                command.fetch,
                command.segment,
                command.bytes,
                address,
                command.parts,
                command.maps,
                blocks,
            )
        )

    def hear(self) -> list[Event]:
        """What became of the orders that its block server had, as far as it has told."""
        from pyrite.remote.words import Moved

        assert self.server is not None
        return [
            (moved if isinstance(done, Moved) else fetched)(*done) for done in self.server.hear()
        ]

    def fds(self) -> list[int]:
        """What is heard of while the node lives."""
        found = []
        if self.launcher is not None and not self.launcher.link.closed:
            found.append(self.launcher.link.sock.fileno())
        if self.server is not None:
            found.append(self.server.control.fileno())
        return found

    def end(self, timeout_s: float) -> None:
        """Ends all of its processes and removes its folders."""
        if self.launcher is not None:
            self.launcher.close(timeout_s)
        if self.server is not None:
            self.server.stop()
        if self.mover is not None:
            self.mover.close()
        self.scratch.remove()


def moved(move: int, problem: str | None) -> Event:
    """What became of an order to move a segment."""
    return SegmentMoved(move) if problem is None else SegmentNotMoved(move, problem)


def fetched(fetch: int, problem: str | None) -> Event:
    """What became of an order to fetch parts."""
    return PartsFetched(fetch) if problem is None else PartsNotFetched(fetch, problem)
