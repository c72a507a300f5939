"""Fetch orders: parts of map outputs that one node fetches from another."""

from __future__ import annotations

from collections.abc import Mapping

from pyrite.blocks.fetched import Stretch
from pyrite.blocks.ledger import Ledger
from pyrite.blocks.names import fetched_name, shared_file_name
from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, Medium, NodeId
from pyrite.schedule.commands import FetchParts
from pyrite.schedule.turn import Turn

# Segments that share a file begin another one at this size, as those of executors do.
FILE_BYTES = 16 << 20


class Fetches:
    """Issues fetch orders, numbered in one sequence."""

    def __init__(self, turn: Turn, ledger: Ledger) -> None:
        self.turn = turn
        self.ledger = ledger
        self._last = 0

    @property
    def last(self) -> int:
        """The number of the last order."""
        return self._last

    def stretch_behind(self, last: Stretch | None, size: int) -> Stretch:
        """Returns where the next order's segment can lie: behind another one, or in a new file
        where that one's is full."""
        if last is None or last.behind() + size > FILE_BYTES:
            return Stretch(shared_file_name(self._last + 1), 0, size)
        return Stretch(last.file, last.behind(), size)

    def order(
        self,
        source: NodeId,
        target: NodeId,
        medium: Medium,
        size: int,
        parts: tuple[int, ...],
        blocks: Mapping[int, BlockRef],
        stretch: Stretch | None = None,
    ) -> tuple[int, Segment]:
        """Orders `target` to fetch parts of the source's blocks; returns the order's number and the
        new segment, which has a file of its own or a stretch of one."""
        self._last += 1
        name = fetched_name(self._last)
        segment = self.ledger.begin_fetched(target, name, size, medium)
        maps, refs = tuple(blocks), tuple(blocks.values())
        order = FetchParts(
            self._last, target, name, size, source, parts, maps, refs, medium, stretch
        )
        self.turn.add(order)
        return self._last, segment
