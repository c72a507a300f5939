"""Parts of other nodes' map outputs, fetched some ahead of what is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.parts import find_part
from pyrite.ids import BlockRef, NodeId
from pyrite.remote.errors import BlockGone, BlockSpoilt
from pyrite.remote.neighbours import AHEAD_BYTES, Neighbours

AHEAD_BLOCKS = 1024


class PartsAhead:
    """One reducer's part of each of these map outputs, node by node in their order."""

    def __init__(
        self,
        neighbours: Neighbours,
        refs: Iterable[BlockRef],
        part: int,
        ahead_bytes: int = AHEAD_BYTES,
    ) -> None:
        self.neighbours = neighbours
        self.part = part
        self.wanted: dict[NodeId, deque[BlockRef]] = {}
        for ref in refs:
            self.wanted.setdefault(ref.node, deque()).append(ref)
        self.found: dict[NodeId, deque[memoryview | BlockGone]] = {}
        self.ahead_bytes = ahead_bytes
        self.share_bytes = ahead_bytes // max(1, len(self.wanted))
        self.held_bytes = 0

    def take(self, node: NodeId) -> memoryview | None:
        """The part of the node's next output; raises as reading it does."""
        found = self.found.get(node) or self._fetch(node)
        selection = found.popleft()
        if isinstance(selection, BlockSpoilt):
            raise CorruptBlock(str(selection))
        if isinstance(selection, BlockGone):
            raise selection
        self.held_bytes -= len(selection)
        return find_part(selection, self.part)

    def _fetch(self, node: NodeId) -> deque[memoryview | BlockGone]:
        wanted = self.wanted[node]
        refs = list(islice(wanted, AHEAD_BLOCKS))
        # However little room there is: one comes, which is needed now.
        room = min(self.share_bytes, self.ahead_bytes - self.held_bytes)
        found = self.neighbours.gather(node, refs, [self.part], max(0, room))
        for each in found:
            wanted.popleft()
            self.held_bytes += len(each) if isinstance(each, memoryview) else 0
        self.found[node] = deque(found)
        return self.found[node]
