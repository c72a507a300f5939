"""The nodes of a local cluster: those that take part, and those that start."""

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

# A node that was of no use so often in a row is not started again.
FAILED_STARTS = 4


class Hosts:
    """Starts nodes, and starts lost ones anew; the driver's own is never lost.

    `joined` is told of nodes that begin to take part, `left` of those that did and have gone.
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
        # Whether nodes take part as soon as they can; until then they wait for each other.
        self.open = False

    def plan(
        self, shapes: Sequence[NodeShape], driver_pool_bytes: int, served: bool
    ) -> list[LocalNode]:
        """The nodes to start, the driver's first; nothing is made of them yet."""
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
        """Those that take part and those that start."""
        return (*self.nodes.values(), *self.starting.values())

    def addresses(self) -> dict[NodeId, Address]:
        """Where the block servers of those that take part listen."""
        return {node.id: node.address for node in self.nodes.values() if node.address}

    def asked(self) -> dict[int, Probed]:
        """All processes that are asked whether they live."""
        return {pid: asked for node in self.all for pid, asked in node.asked().items()}

    def begin(self, node: LocalNode) -> None:
        """Starts a node; it takes part once its block server listens."""
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
        """The node takes part from now on."""
        self.starting.pop(node.id, None)
        self.nodes[node.id] = node
        node.proven = not node.shape.executors
        self.joined(node)

    def lose_server(self, node: LocalNode) -> None:
        """A node's block server has ended, of itself or since it was killed."""
        server = node.server
        assert server is not None
        reason = self.watch.end_of(server.process.pid, "its block server was killed")
        reason = reason if node.listens else server.problem
        if node is not self.driver:
            self.lose(node, reason)
            return
        # What the driver has put into its folders is still there.
        self.watch.forget(server.process.pid)
        self._count_failure(node, node.listens, reason)
        node.restart_server(self.ways)

    def lose(self, node: LocalNode, reason: str) -> None:
        """All of a node goes with a part of it; it starts anew, with nothing."""
        self.end(node, reason)
        self._count_failure(node, node.proven, reason)
        if node is self.driver:
            raise ClusterError(f"{node.id} could not be started: {reason}")
        self.begin(self.new(node.id, node.shape))

    def end(self, node: LocalNode, reason: str) -> None:
        """Ends a node, for good."""
        took_part = self.nodes.pop(node.id, None) is not None
        self.starting.pop(node.id, None)
        for pid in node.asked():
            self.watch.forget(pid)
        node.end(timeout_s=1.0)
        if took_part:
            self.left(node, reason)

    def _count_failure(self, node: LocalNode, was_of_use: bool, reason: str) -> None:
        """Raises where a node, or the driver's block server, fails to start again and again."""
        failed = 0 if was_of_use else self.failed_starts.get(node.id, 0) + 1
        self.failed_starts[node.id] = failed
        if failed >= FAILED_STARTS:
            raise ClusterError(f"{node.id} could not be started, {failed} times in a row: {reason}")

    def remove(self, newcomers: Iterable[LocalNode]) -> None:
        """Ends all of them at once, with those that have not been admitted yet."""
        nodes = (*self.all, *newcomers)
        for node in nodes:
            node.hang_up()
        for node in nodes:
            node.end(timeout_s=5.0)
