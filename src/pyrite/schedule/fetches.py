"""Fetch orders: parts of map outputs that one node fetches from another."""

from __future__ import annotations

from collections.abc import Mapping

from pyrite.blocks.ledger import Ledger
from pyrite.blocks.names import fetched_name
from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, Medium, NodeId
from pyrite.schedule.commands import FetchParts
from pyrite.schedule.turn import Turn


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

    def order(
        self,
        source: NodeId,
        target: NodeId,
        medium: Medium,
        size: int,
        parts: tuple[int, ...],
        blocks: Mapping[int, BlockRef],
    ) -> tuple[int, Segment]:
        """Orders `target` to fetch parts of the source's blocks; returns the order's number and the
        new segment."""
        self._last += 1
        name = fetched_name(self._last)
        segment = self.ledger.begin_fetched(target, name, size, medium)
        maps, refs = tuple(blocks), tuple(blocks.values())
        self.turn.add(FetchParts(self._last, target, name, size, source, parts, maps, refs, medium))
        return self._last, segment
