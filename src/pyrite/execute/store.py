"""What a node offers to its executors: segments, and scratch space for one task at a time."""

from __future__ import annotations

from collections.abc import Callable

from pyrite.blocks.live import LiveStore
from pyrite.blocks.segments import Folders, SegmentReader, SegmentWriter
from pyrite.bounded.space import Space
from pyrite.remote.reader import NodeReader


class Store:
    """The node's memory and disk, as they are."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders

    def reader(self) -> SegmentReader:
        return NodeReader(self.folders)

    def writer(self, owner: str, lease: Callable[[str, int], bool]) -> SegmentWriter:
        return SegmentWriter(self.folders, owner, lease)

    def live(self, limit_bytes: int, protected_bytes: int) -> LiveStore:
        return LiveStore(limit_bytes, protected_bytes)

    def space(self, limit_bytes: int, make_room: Callable[[], bool]) -> Space:
        return Space(limit_bytes, self.folders.disk, make_room)
