"""Reads parts of other nodes' map outputs, with read-ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.parts import LongPart, find_part, select
from pyrite.blocks.together import PartsTogether
from pyrite.ids import BlockRef, NodeId
from pyrite.remote.asking import ByteRange
from pyrite.remote.errors import BlockGone, OutputCorrupt
from pyrite.remote.neighbours import Neighbours

AHEAD_BLOCKS = 1024
# The bytes received at a time of a part that is too long to hold: no more, as many parts may be
# read at once, and no less, as each receive takes a round trip.
MOST_STRETCH_BYTES = 1 << 20
LEAST_STRETCH_BYTES = 64 << 10
NOTHING = memoryview(b"")


class PartsAhead:
    """One reducer's part of each of these map outputs, in their order on each node.

    Of parts that are read `together`, those of the next reducers come along, as long as no more
    than half of the bytes ahead are theirs.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        refs: Iterable[BlockRef],
        part: int,
        ahead_bytes: int,
        together: PartsTogether | None = None,
    ) -> None:
        self.neighbours = neighbours
        self.part = part
        self.together = together
        self.wanted: dict[NodeId, deque[ByteRange]] = {}
        for node, segment, offset, length, medium in refs:
            block = ByteRange(segment, offset, length, medium)
            self.wanted.setdefault(node, deque()).append(block)
        # How many outputs to request from each node; those without room are left for later.
        self.offers = dict.fromkeys(self.wanted, AHEAD_BLOCKS)
        self.found: dict[NodeId, deque[memoryview | BlockGone]] = {}
        self.ahead_bytes = ahead_bytes
        self.share_bytes = ahead_bytes // max(1, len(self.wanted))
        self.held_bytes = 0

    def take(self, node: NodeId) -> memoryview | LongPart | None:
        """Returns the part of the node's next output; raises the errors of reading it."""
        found = self.found.get(node) or self._fetch(node)
        if not found:
            return self._open_long(node, self.wanted[node].popleft())
        selection = found.popleft()
        if isinstance(selection, OutputCorrupt):
            raise CorruptBlock(str(selection))
        if isinstance(selection, BlockGone):
            raise selection
        self.held_bytes -= len(selection)
        return find_part(selection, self.part)

    def _fetch(self, node: NodeId) -> deque[memoryview | BlockGone]:
        wanted = self.wanted[node]
        blocks = list(islice(wanted, self.offers[node]))
        # One part is always fetched, even without room: it is needed now. It only must not be
        # longer than what may be held at all.
        room = max(0, min(self.share_bytes, self.ahead_bytes - self.held_bytes))
        found = self._gather_together(node, blocks, room)
        if not found:
            longest = max(self.ahead_bytes, LEAST_STRETCH_BYTES)
            found = self.neighbours.gather(node, blocks, [self.part], room, longest)
        for each in found:
            wanted.popleft()
            self.held_bytes += len(each) if isinstance(each, memoryview) else 0
        self.offers[node] = min(AHEAD_BLOCKS, 2 * max(1, len(found)))
        self.found[node] = deque(found)
        return self.found[node]

    def _gather_together(
        self, node: NodeId, blocks: list[ByteRange], room: int
    ) -> list[memoryview | BlockGone]:
        """Requests the next reducers' parts too, which stay; nothing if they are too long."""
        if self.together is None:
            return []
        room = min(room, self.ahead_bytes // 2 - self.together.held_bytes)
        if room < LEAST_STRETCH_BYTES:
            return []
        parts = self.together.wanted_with(self.part)
        found = self.neighbours.gather(node, blocks, parts, room, room)
        if not found:
            self.together = None
        elif len(parts) > 1:
            for block, selection in zip(blocks, found, strict=False):
                if isinstance(selection, memoryview):
                    self.together.hold(BlockRef(node, *block), selection)
        return found

    def _open_long(self, node: NodeId, block: ByteRange) -> RangedReader:
        whole = BlockRef(node, *block)

        def read(start: int, size: int) -> memoryview:
            return self.neighbours.read(bytes_of(whole, start, size))

        _, [(start, size)] = select(read, whole.length, [self.part])
        return RangedReader(self.neighbours, bytes_of(whole, start, size), self.ahead_bytes)


class RangedReader:
    """Another node's bytes that are too many to hold: they are received as they are read."""

    def __init__(self, neighbours: Neighbours, ref: BlockRef, ahead_bytes: int) -> None:
        self.neighbours = neighbours
        self.ref = ref
        self.size = ref.length
        self.stretch_bytes = max(LEAST_STRETCH_BYTES, min(MOST_STRETCH_BYTES, ahead_bytes))
        # The end of what was received, and the part of it that is still unread.
        self.position = 0
        self.view = NOTHING

    def read(self, size: int) -> bytes:
        """Returns the next bytes, fewer at the end; raises the errors of reading a block."""
        found = bytearray()
        while len(found) < size and (self.view or self.position < self.size):
            if not self.view:
                self._receive()
            missing = size - len(found)
            found += self.view[:missing]
            self.view = self.view[missing:]
        return bytes(found)

    def _receive(self) -> None:
        # Released first, so that the next range can use the same memory.
        self.view = NOTHING
        length = min(self.stretch_bytes, self.size - self.position)
        self.view = self.neighbours.read(bytes_of(self.ref, self.position, length))
        self.position += length


def bytes_of(ref: BlockRef, start: int, size: int) -> BlockRef:
    """Some bytes of a block, as a block."""
    return ref._replace(offset=ref.offset + start, length=size)
