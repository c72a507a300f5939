"""Reading blocks wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyrite.blocks.codec import decode_frames
from pyrite.blocks.parts import find_part
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.ids import BlockRef
from pyrite.remote.neighbours import Neighbours


class NodeReader(SegmentReader):
    """Reads the own node's segments in place, and those of others through their block servers."""

    def __init__(self, folders: Folders, neighbours: Neighbours) -> None:
        super().__init__(folders)
        self.neighbours = neighbours

    def view(self, ref: BlockRef) -> memoryview:
        if ref.node == self.folders.node or ref.length == 0:
            return super().view(ref)
        return self.neighbours.read(ref)

    def rows(self, ref: BlockRef) -> Iterator[list[Any]]:
        if ref.node == self.folders.node:
            return super().rows(ref)
        return decode_frames(self.view(ref))

    def parts(self, refs: Sequence[BlockRef], part: int) -> Iterator[memoryview | None]:
        own = self.folders.node
        far = [ref for ref in refs if ref.node != own]
        if not far:
            yield from super().parts(refs, part)
            return
        from pyrite.remote.ahead import PartsAhead

        ahead = PartsAhead(self.neighbours, far, part, self.neighbours.ahead_bytes)
        for ref in refs:
            yield find_part(self.view(ref), part) if ref.node == own else ahead.take(ref.node)

    def close(self) -> None:
        super().close()
        self.neighbours.close()
