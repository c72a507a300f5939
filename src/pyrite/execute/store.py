"""A node's storage for its executors: segments, and scratch space for one task at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyrite.blocks.live import LiveStore
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.writer import Lease, SegmentWriter
from pyrite.bounded.space import Space
from pyrite.execute.meter import ProcessClock, TaskClock
from pyrite.execute.nodecopies import NodeCopies
from pyrite.ids import ExecutorId, NodeId
from pyrite.remote.errors import Address
from pyrite.remote.neighbours import TIMEOUT_S, Neighbours
from pyrite.remote.reader import NodeReader
from pyrite.remote.writer import NodeWriter

# Shares of an executor's memory: for warm buffers that receive blocks, and for read-ahead from
# other nodes.
WARM_PART = 8
AHEAD_PART = 32


class Store:
    """The node's memory and disk, and the client of other nodes."""

    def __init__(self, folders: Folders, network_timeout_s: float = TIMEOUT_S) -> None:
        self.folders = folders
        self.neighbours = Neighbours(network_timeout_s)

    def meet(self, secret: bytes, addresses: Mapping[NodeId, Address], memory_bytes: int) -> None:
        """Sets the other nodes' addresses, and limits buffers to the executor's memory."""
        self.neighbours.meet(secret, addresses)
        ahead_bytes = memory_bytes // AHEAD_PART
        self.neighbours.ahead_bytes = min(self.neighbours.ahead_bytes, ahead_bytes)
        if self.neighbours.client is not None:
            buffers = self.neighbours.client.buffers
            buffers.kept_bytes = min(buffers.kept_bytes, memory_bytes // WARM_PART)

    @property
    def is_one_of_many(self) -> bool:
        """Whether there are other nodes, which may have what this one lacks."""
        return self.neighbours.client is not None

    def give_up(self, address: Address) -> None:
        """Waits no longer for a node that was given up; called from a signal handler."""
        self.neighbours.give_up(address)

    def clock(self) -> TaskClock:
        return ProcessClock()

    def reader(self) -> SegmentReader:
        return NodeReader(self.folders, self.neighbours)

    def copies(self, reader: SegmentReader) -> NodeCopies:
        """What is fetched once for all executors of the node."""
        return NodeCopies(self.folders, reader.view)

    def writer(self, writer: ExecutorId, lease: Lease, segment_bytes: int) -> SegmentWriter:
        return NodeWriter(self.folders, writer, lease, self.neighbours, segment_bytes)

    def live(self, limit_bytes: int, protected_bytes: int) -> LiveStore:
        return LiveStore(limit_bytes, protected_bytes)

    def space(self, limit_bytes: int, make_room: Callable[[], bool]) -> Space:
        return Space(limit_bytes, self.folders.disk, make_room)
