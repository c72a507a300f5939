"""A host of the local adapter: folders of its own, a forge for its executors, a block server."""

from __future__ import annotations

import select
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.cluster.local.launcher import Launcher
from pyrite.cluster.scratch import Scratch
from pyrite.ids import NodeId

if TYPE_CHECKING:
    from pyrite.remote.errors import Address
    from pyrite.remote.process import ServerProcess


class NodeShape(NamedTuple):
    """How large a node is; a storage-only one has no executors."""

    executors: int
    pool_bytes: int


class LocalNode:
    """One host, played by processes and folders of this machine."""

    def __init__(self, id: NodeId, shape: NodeShape, scratch: Scratch, poll: select.epoll) -> None:
        self.id = id
        self.shape = shape
        self.scratch = scratch
        self.folders = scratch.folders(id)
        self.poll = poll
        self.launcher: Launcher | None = None
        self.server: ServerProcess | None = None

    @property
    def address(self) -> Address | None:
        return None if self.server is None else self.server.address

    def start_forge(self, options: Mapping[str, Any], environment: dict[str, str]) -> Launcher:
        """The process that executors are forked from; another one if the last has died."""
        if self.launcher is None or self.launcher.link.closed:
            whole = {**options, "folders": list(self.folders)}
            self.launcher = Launcher(whole, environment)
            self.poll.register(self.launcher.link.sock, select.EPOLLIN)
        return self.launcher

    def start_server(self, secret: bytes) -> None:
        from pyrite.remote.process import ServerProcess

        self.server = ServerProcess.start(self.folders, secret)
        self.poll.register(self.server.control, select.EPOLLIN)

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
        self.scratch.remove()
