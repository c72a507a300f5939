"""Records that are sent by ranges of their keys, by the row machine: dealt out as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyrite.bounded.space import Space
from pyrite.machine._rows import deal_records
from pyrite.machine.recordkeys import KeySpan
from pyrite.machine.records import PackedRecords, RecordRows

# Of a block each part gets a frame, which should be worth its head.
_MOST_BLOCK_BYTES = 4 << 20


class DealtRecords:
    """Records that can be read once, or be dealt out packed."""

    dealt_by = "range"

    def __init__(
        self, rows: RecordRows, span: KeySpan, bounds: list[bytes], ascending: bool, space: Space
    ) -> None:
        self._rows = rows
        self._span = span
        self._bounds = bounds
        self._ascending = ascending
        self._block_bytes = min(_MOST_BLOCK_BYTES, space.chunk_bytes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __next__(self) -> Any:
        return next(self._rows)

    def deal(self, parts: int, most_rows: int) -> Iterator[list[PackedRecords]]:
        """The records of each range."""
        assert parts == len(self._bounds) + 1
        size = self._rows.size
        for block in self._rows.blocks(min(self._block_bytes, most_rows * size)):
            dealt = deal_records(size, block, *self._span, self._bounds, self._ascending)
            yield [PackedRecords(size, data) for data in dealt]
