"""The nodes of a local cluster: those that have joined, and those that start."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Sequence

from pyrite.cluster.local.node import LocalNode, NodeShape, NodeWays
from pyrite.cluster.local.watch import Probed, Watch
from pyrite.cluster.space import DRIVER_NODE
from pyrite.errors import ClusterError
from pyrite.ids import NodeId
from pyrite.remote.errors import Address
from pyrite.schedule.events import Event

# After so many failed starts in a row the context ends.
FAILED_STARTS = 4


class Hosts:
    """Starts nodes, and restarts lost ones; the driver's own node is never lost.

    Calls `joined` for each node that joins, and `left` for each joined node that ends.
    """

    def __init__(
        self,
        local_dir: str,
        poll: select.epoll,
        post: Callable[[Event], None],
        watch: Watch,
        joined: Callable[[LocalNode], None],
        left: Callable[[LocalNode, str], None],
    ) -> None:
        self.local_dir = local_dir
        self.poll = poll
        self.post = post
        self.watch = watch
        self.joined = joined
        self.left = left
        self.ways: NodeWays
        self.driver: LocalNode
        self.nodes: dict[NodeId, LocalNode] = {}
        self.starting: dict[NodeId, LocalNode] = {}
        self.failed_starts: dict[NodeId, int] = {}
        self.next_storage = 0
        # Whether nodes join as soon as they listen; until then they wait for each other.
        self.open = False

    def plan(
        self, shapes: Sequence[NodeShape], driver_pool_bytes: int, served: bool
    ) -> list[LocalNode]:
        """Returns the nodes to start, the driver's first; starts none of them."""
        hosts = [shape for shape in shapes if shape.executors]
        nodes = [self.new(NodeId(f"node-{n}"), shape) for n, shape in enumerate(hosts)]
        if served:
            nodes.insert(0, self.new(DRIVER_NODE, NodeShape(0, driver_pool_bytes)))
        nodes += [self.new_storage(each) for each in shapes if not each.executors]
        self.driver = nodes[0]
        return nodes

    def new(self, id: NodeId, shape: NodeShape) -> LocalNode:
        return LocalNode(id, shape, self.local_dir, self.poll, self.post)

    def new_storage(self, shape: NodeShape) -> LocalNode:
        self.next_storage += 1
        return self.new(NodeId(f"storage-{self.next_storage - 1}"), shape)

    @property
    def all(self) -> tuple[LocalNode, ...]:
        """The nodes that have joined, and those that start."""
        return (*self.nodes.values(), *self.starting.values())

    def addresses(self) -> dict[NodeId, Address]:
        """The addresses of the joined nodes' block servers."""
        return {node.id: node.address for node in self.nodes.values() if node.address}

    def asked(self) -> dict[int, Probed]:
        """All processes that are pinged."""
        return {pid: asked for node in self.all for pid, asked in node.asked().items()}

    def begin(self, node: LocalNode) -> None:
        """Starts a node; it joins once its block server listens."""
        self.starting[node.id] = node
        try:
            node.start(self.ways)
        except OSError as error:
            self.lose(node, str(error))
        else:
            self.admit_if_ready(node)

    def admit_if_ready(self, node: LocalNode) -> None:
        if self.open and node.listens:
            self.admit(node)

    def admit(self, node: LocalNode) -> None:
        """The node joins the cluster."""
        self.starting.pop(node.id, None)
        self.nodes[node.id] = node
        node.proven = not node.shape.executors
        self.joined(node)

    def lose_server(self, node: LocalNode) -> None:
        """Handles the end of a node's block server."""
        server = node.server
        assert server is not None
        reason = self.watch.end_of(server.process.pid, "its block server was killed")
        reason = reason if node.listens else server.problem
        if node is not self.driver:
            self.lose(node, reason)
            return
        # The driver's blocks are still in its folders.
        self.watch.forget(server.process.pid)
        self._count_failure(node, node.listens, reason)
        node.restart_server(self.ways)

    def lose(self, node: LocalNode, reason: str) -> None:
        """Ends a node that has lost a process, and starts it again, empty."""
        self.end(node, reason)
        self._count_failure(node, node.proven, reason)
        if node is self.driver:
            raise ClusterError(f"{node.id} could not be started: {reason}")
        self.begin(self.new(node.id, node.shape))

    def end(self, node: LocalNode, reason: str) -> None:
        """Ends a node for good."""
        had_joined = self.nodes.pop(node.id, None) is not None
        self.starting.pop(node.id, None)
        for pid in node.asked():
            self.watch.forget(pid)
        node.end(timeout_s=1.0)
        if had_joined:
            self.left(node, reason)

    def _count_failure(self, node: LocalNode, had_started: bool, reason: str) -> None:
        """Raises if a node, or the driver's block server, fails to start too often in a row."""
        failed = 0 if had_started else self.failed_starts.get(node.id, 0) + 1
        self.failed_starts[node.id] = failed
        if failed >= FAILED_STARTS:
            raise ClusterError(f"{node.id} could not be started, {failed} times in a row: {reason}")

    def remove(self, newcomers: Iterable[LocalNode]) -> None:
        """Ends all nodes at once, those that have not been admitted yet included."""
        nodes = (*self.all, *newcomers)
        for node in nodes:
            node.hang_up()
        for node in nodes:
            node.end(timeout_s=5.0)
