"""Writes blocks to any node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyrite.blocks.segments import Folders
from pyrite.blocks.writer import SEGMENT_BYTES, Lease, OpenSegment, SegmentWriter
from pyrite.ids import ExecutorId
from pyrite.remote.neighbours import Neighbours


class NodeWriter(SegmentWriter):
    """Writes to the own node, and to others through their block servers."""

    def __init__(
        self,
        folders: Folders,
        writer: ExecutorId,
        lease: Lease,
        neighbours: Neighbours,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        super().__init__(folders, writer, lease, segment_bytes)
        self.neighbours = neighbours

    def _send(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        place, name, offset = segment.place, segment.name, segment.offset
        self.neighbours.write(place, name, offset, buffers, segment.length, "memory")
