"""Writes map outputs into an exchange's pool: in place, or through its block server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from pyrite.blocks.segments import Folders, write_all
from pyrite.blocks.writer import DiskBlock, OpenSegment, Want
from pyrite.exchange.book import NODE, ClientId
from pyrite.ids import BlockRef
from pyrite.remote.neighbours import Neighbours
from pyrite.remote.writer import NodeWriter

# Returns the length of a segment of this number for a block of this size; 0 if there is no room.
Grant = Callable[[int, int], int]


class OutputWriter(NodeWriter):
    """Writes blocks into leased segments; to disk if there is no room, after announcing the file.

    `folders` are of the exchange's node if this process can enter them, else of another node.
    """

    def __init__(
        self,
        folders: Folders,
        client: ClientId,
        grant: Grant,
        announce: Callable[[int], None],
        neighbours: Neighbours,
    ) -> None:
        # It asks for the room of its block; the exchange grants as much more as it can.
        super().__init__(folders, client, lambda want: NODE, neighbours, segment_bytes=0)
        self.grant = grant
        self.announce = announce

    def _open(self, want: Want) -> OpenSegment | None:
        granted = self.grant(self.number, want.bytes)
        segment = super()._open(want._replace(bytes=granted)) if granted else None
        if segment is not None:
            # An open file would keep its memory after the exchange is closed.
            segment.close()
        return segment

    def _fill(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        fd = os.open(self.folders.path(segment.name, "memory"), os.O_WRONLY | os.O_CLOEXEC)
        try:
            write_all(fd, buffers, segment.offset)
        finally:
            os.close(fd)

    def write_to_disk(self, buffers: Sequence[Any]) -> BlockRef:
        name = self._new_name()
        self.announce(self.number)
        if self.folders.node == NODE:
            file = DiskBlock(name, self.folders)
            file.append(buffers)
            return file.finish()
        size = sum(map(len, buffers))
        self.neighbours.write(NODE, name, 0, buffers, size, "disk")
        return BlockRef(NODE, name, 0, size, "disk")
