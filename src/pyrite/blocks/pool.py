"""One node's pool: the segments in its shared memory, and their owners."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrite.ids import ExecutorId, Medium, NodeId, RddId


@dataclass(slots=True)
class Content:
    """A segment's blocks of one RDD."""

    blocks: int = 0
    bytes: int = 0


@dataclass(slots=True, eq=False)
class Segment:
    """A file that blocks are packed into; it is removed once it is sealed and no block in it is
    live."""

    name: str
    # The node that stores it, and the node whose data it holds.
    place: NodeId
    owner: NodeId
    bytes: int
    # The process that writes it; None where block servers make it from others.
    writer: ExecutorId | None = None
    # The ledger limits memory only.
    medium: Medium = "memory"
    # Whether a fetch makes it: then its blocks are selections of map outputs.
    fetched: bool = False
    # Whether it holds kept partitions in memory, which may be moved, and whether these may go to
    # disk.
    kept: bool = False
    to_disk: bool = True
    # Whether it holds a block of an input file, which can be read again.
    cached: bool = False
    live: int = 0
    sealed: bool = False
    # Number of running tasks that read it: it is not moved under them.
    readers: int = 0
    moving: bool = False
    # Its kept blocks.
    rdds: dict[RddId, Content] = field(default_factory=dict)

    @property
    def kept_bytes(self) -> int:
        return sum(content.bytes for content in self.rdds.values())

    @property
    def in_memory(self) -> bool:
        return self.medium == "memory"

    @property
    def movable(self) -> bool:
        return self.kept and self.sealed and not self.readers and not self.moving


class Pool:
    """The quantities of R3S for one node: M, U, L, R and Q (equation 4)."""

    def __init__(
        self, node: NodeId, capacity_bytes: int, lends: bool = True, storage_only: bool = False
    ) -> None:
        self.node = node
        self.capacity_bytes = capacity_bytes
        self.lends = lends
        self.storage_only = storage_only
        self.used_bytes = 0
        # Bytes promised to waiting writers, and bytes being moved out for them.
        self.promised_bytes = 0
        self.outgoing_bytes = 0
        self.own_bytes = 0
        self.borrowed_bytes = 0
        # A leaving node accepts nothing.
        self.leaves = False
        # Segments of kept partitions by owner, the least recently used first.
        self.kept: dict[NodeId, dict[str, Segment]] = {}
        # Cached blocks of input files, which belong to no owner; those that no task reads go
        # before anything else, the least recently used first.
        self.input_bytes = 0
        self.idle_inputs: dict[str, Segment] = {}
        self._idle_bytes = 0

    @property
    def free_bytes(self) -> int:
        """The bytes that nothing needs: cached input gives way to everything."""
        return self.capacity_bytes - self.used_bytes + self._idle_bytes

    @property
    def unused_bytes(self) -> int:
        """The bytes that can be granted now, without those promised to waiting writers."""
        if self.leaves:
            return 0
        meant = max(0, self.promised_bytes - self.outgoing_bytes)
        return self.free_bytes - meant

    @property
    def footprint_bytes(self) -> int:
        return self.own_bytes + self.borrowed_bytes

    def add(self, segment: Segment) -> None:
        """Adds a segment that this node stores."""
        self.used_bytes += segment.bytes
        if segment.cached:
            self.input_bytes += segment.bytes
        elif segment.owner == self.node:
            self.own_bytes += segment.bytes
        if segment.kept:
            self.kept.setdefault(segment.owner, {})[segment.name] = segment

    def remove(self, segment: Segment) -> None:
        self.used_bytes -= segment.bytes
        if segment.cached:
            self.input_bytes -= segment.bytes
            self.begin_reading(segment)
        elif segment.owner == self.node:
            self.own_bytes -= segment.bytes
        if segment.kept:
            del self.kept[segment.owner][segment.name]
            if not self.kept[segment.owner]:
                del self.kept[segment.owner]

    def touch(self, segment: Segment) -> None:
        """Marks the segment as its owner's most recently used."""
        order = self.kept[segment.owner]
        order[segment.name] = order.pop(segment.name)

    def begin_reading(self, segment: Segment) -> None:
        """Keeps cached input from giving way."""
        if self.idle_inputs.pop(segment.name, None) is not None:
            self._idle_bytes -= segment.bytes

    def end_reading(self, segment: Segment) -> None:
        """Lets cached input give way, as the most recently used."""
        if segment.name not in self.idle_inputs:
            self.idle_inputs[segment.name] = segment
            self._idle_bytes += segment.bytes
