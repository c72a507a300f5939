"""What a node offers to its executors: segments, and scratch space for one task at a time."""

from __future__ import annotations

from collections.abc import Callable

from pyrite.blocks.live import LiveStore
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.writer import Lease, SegmentWriter
from pyrite.bounded.space import Space
from pyrite.remote.neighbours import Neighbours
from pyrite.remote.reader import NodeReader
from pyrite.remote.writer import NodeWriter


class Store:
    """The node's memory and disk, as they are, and the way to other nodes."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.neighbours = Neighbours()

    def reader(self) -> SegmentReader:
        return NodeReader(self.folders, self.neighbours)

    def writer(self, owner: str, lease: Lease, segment_bytes: int) -> SegmentWriter:
        return NodeWriter(self.folders, owner, lease, self.neighbours, segment_bytes)

    def live(self, limit_bytes: int, protected_bytes: int) -> LiveStore:
        return LiveStore(limit_bytes, protected_bytes)

    def space(self, limit_bytes: int, make_room: Callable[[], bool]) -> Space:
        return Space(limit_bytes, self.folders.disk, make_room)
