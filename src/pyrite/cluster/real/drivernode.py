"""The driver's own node: its folders and block server; on a single node also the executors'."""

from __future__ import annotations

import select
from collections.abc import Callable, Hashable

from pyrite.cluster.node.storage import NodeStorage, StorageWays
from pyrite.cluster.node.watch import Probed
from pyrite.cluster.real.agentlink import AgentLink
from pyrite.cluster.real.clusternode import ClusterNode
from pyrite.cluster.real.forkserver import ForkServer, StartForkServer
from pyrite.cluster.real.nodes import FAILED_STARTS
from pyrite.cluster.scratch import Scratch
from pyrite.errors import ClusterError
from pyrite.ids import NodeId

SERVER = "the driver's block server"
FORKING = "the process that executors are forked from"


class DriverNode:
    """Never lost: its folders outlive its processes, which are started again."""

    def __init__(
        self,
        id: NodeId,
        executors: int,
        local_dir: str,
        ways: StorageWays,
        poll: select.epoll,
        start_fork_server: StartForkServer | None,
    ) -> None:
        self.storage = NodeStorage(id, Scratch(local_dir), ways, poll)
        self.node = ClusterNode(
            id,
            executors,
            ways.pool_bytes,
            self.storage,
            self.storage.folders,
            lends=bool(executors),
        )
        self.start_fork_server = start_fork_server
        self.fork_server: ForkServer | None = None
        self.failed_starts = 0

    def start(self) -> None:
        """Starts its processes, then makes its folders: whenever the driver is killed, a process
        is there to remove them."""
        self.storage.keep_listener()
        self.storage.start_server()
        if self.start_fork_server is not None:
            self.agent()
        self.storage.open()

    def agent(self) -> AgentLink:
        """Returns the fork server's link; starts one if there is none."""
        if self.fork_server is None or self.fork_server.agent.closed:
            assert self.start_fork_server is not None
            self.fork_server = self.start_fork_server(self.storage)
        return self.fork_server.agent

    def asked(self) -> dict[Hashable, Probed]:
        """Its processes that are pinged."""
        found: dict[Hashable, Probed] = {}
        fork_server = self.fork_server
        if fork_server is not None and fork_server.agent.heard and not fork_server.agent.closed:
            what = f"{FORKING} on {self.node.id} (pid {fork_server.process.pid})"
            found[FORKING] = Probed(what, fork_server.agent.ping)
        if self.storage.server is not None:
            what = f"the block server of {self.node.id} (pid {self.storage.server.process.pid})"
            found[SERVER] = Probed(what, self.storage.server.ping)
        return found

    def kill(self, what: Hashable) -> None:
        """Kills one of its processes, which was given up."""
        if what == FORKING and self.fork_server is not None:
            self.fork_server.process.kill()
        elif what == SERVER and self.storage.server is not None:
            self.storage.server.process.kill()

    def restart_server(self, describe: Callable[[str], str]) -> None:
        """Starts another block server: the driver's blocks are still in its folders."""
        server = self.storage.server
        assert server is not None
        reason = describe("its block server was killed") if self.storage.listens else server.problem
        self.failed_starts = 0 if self.storage.listens else self.failed_starts + 1
        if self.failed_starts >= FAILED_STARTS:
            raise ClusterError(
                f"{self.node.id} could not be started, {FAILED_STARTS} times in a row: {reason}"
            )
        self.storage.restart_server()

    def hang_up(self) -> None:
        if self.fork_server is not None:
            self.fork_server.agent.hang_up()
        self.storage.hang_up()

    def end(self, timeout_s: float) -> None:
        """Ends its processes and removes its folders."""
        self.hang_up()
        if self.fork_server is not None:
            self.fork_server.close(timeout_s)
        self.storage.end(timeout_s)
