"""A node as the driver knows it: its own, or one with an agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from pyrite.blocks.segments import Folders
from pyrite.cluster.node.options import AgentHello
from pyrite.cluster.real.agentlink import AgentLink
from pyrite.ids import ExecutorId, NodeId
from pyrite.remote.errors import Address

if TYPE_CHECKING:
    from pyrite.cluster.node.storage import ReportMoved
    from pyrite.remote.fetcher import FetchOrder
    from pyrite.remote.mover import MoveOrder


class NodeSegments(Protocol):
    """A node's segments: removed, moved and fetched there."""

    def remove(self, segments: Iterable[str]) -> None: ...

    def clear(self, executor: ExecutorId, known: Iterable[str]) -> None: ...

    def move(self, order: MoveOrder, report: ReportMoved) -> None: ...

    def fetch(self, order: FetchOrder) -> None: ...


class AgentStorage:
    """The storage of another node: its agent does what is ordered, and tells the outcome."""

    def __init__(self, agent: AgentLink) -> None:
        self.agent = agent

    def remove(self, segments: Iterable[str]) -> None:
        self.agent.send("remove", list(segments))

    def clear(self, executor: ExecutorId, known: Iterable[str]) -> None:
        self.agent.send("clear", executor, list(known))

    def move(self, order: MoveOrder, report: ReportMoved) -> None:
        self.agent.send("move", *order)

    def fetch(self, order: FetchOrder) -> None:
        *fields, blocks, stretch = order
        place = None if stretch is None else tuple(stretch)
        self.agent.send("fetch", *fields, [tuple(block) for block in blocks], place)


class ClusterNode:
    """A node that has joined."""

    def __init__(
        self,
        id: NodeId,
        executors: int,
        pool_bytes: int,
        storage: NodeSegments,
        folders: Folders,
        lends: bool = True,
    ) -> None:
        self.id = id
        # How many executors it should have.
        self.executors = executors
        self.pool_bytes = pool_bytes
        self.storage = storage
        self.folders = folders
        # Whether its pool may hold other nodes' partitions.
        self.lends = lends
        self.address: Address | None = None
        self.agent: AgentLink | None = None
        self.hello: AgentHello | None = None
        # Whether an executor of it has started: failed starts in a row are counted.
        self.proven = not executors

    @property
    def storage_only(self) -> bool:
        return self.lends and not self.executors


def agent_node(id: NodeId, executors: int, hello: AgentHello, agent: AgentLink) -> ClusterNode:
    """A node whose agent has said hello."""
    folders = Folders(hello.memory_folder, hello.disk_folder, id)
    node = ClusterNode(id, executors, hello.pool_bytes, AgentStorage(agent), folders)
    node.address = hello.address
    node.agent = agent
    node.hello = hello
    return node
