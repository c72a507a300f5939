"""Reads blocks on any node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyrite.blocks.codec import decode_frames, read_frames
from pyrite.blocks.parts import LongPart, find_part
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.together import PartsTogether
from pyrite.ids import BlockRef
from pyrite.remote.neighbours import Neighbours


class NodeReader(SegmentReader):
    """Reads the own node's segments in place, and others through their block servers."""

    def __init__(self, folders: Folders, neighbours: Neighbours) -> None:
        super().__init__(folders)
        self.neighbours = neighbours

    def view(self, ref: BlockRef) -> memoryview:
        if ref.node == self.folders.node or ref.length == 0:
            return super().view(ref)
        return self.neighbours.read(ref)

    def rows(self, ref: BlockRef, writable: bool = False) -> Iterator[list[Any]]:
        if ref.node == self.folders.node:
            return super().rows(ref, writable)
        if ref.length <= self.neighbours.ahead_bytes:
            return decode_frames(self.view(ref), writable)
        from pyrite.remote.ahead import RangedReader

        far = RangedReader(self.neighbours, ref, self.neighbours.ahead_bytes)
        return read_frames(far.read, ref.length)

    def parts(
        self, refs: Sequence[BlockRef], part: int, together: PartsTogether | None = None
    ) -> Iterator[memoryview | LongPart | None]:
        own = self.folders.node
        # Copied: what this reducer brings along for the next ones is added meanwhile.
        held = {} if together is None else dict(together.held)
        far = [ref for ref in refs if ref.node != own and ref not in held]
        if not far and not held:
            yield from super().parts(refs, part)
            return
        from pyrite.remote.ahead import PartsAhead

        neighbours = self.neighbours
        neighbours.readers += 1
        try:
            ahead_bytes = neighbours.ahead_bytes // neighbours.readers
            ahead = PartsAhead(neighbours, far, part, ahead_bytes, together)
            for ref in refs:
                if ref.node == own:
                    yield find_part(self.view(ref), part)
                elif ref in held:
                    yield find_part(held[ref], part)
                else:
                    yield ahead.take(ref.node)
        finally:
            neighbours.readers -= 1

    def close(self) -> None:
        super().close()
        self.neighbours.close()
