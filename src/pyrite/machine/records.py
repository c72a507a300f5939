"""Records: rows that are bytes, packed one after another.

They can be read without the extension too: a map output may come from a node that has it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import accumulate, chain, pairwise
from typing import Any

from pyrite.machine.packed import BadLayout

Buffer = memoryview | bytes
# The sizes of records: an int if all have the same one, or four bytes each.
Sizes = int | Buffer
_SIZE = struct.Struct("<I")
# Rows that take more than this on average are looked at: many may be one object.
_LONG_BYTES = 64
# Longer ones are not worth it: packing copies them, and a pickle refers to them.
_LONGEST_BYTES = 1024


class PackedRecords:
    """Some packed records."""

    __slots__ = ("data", "sizes")

    def __init__(self, sizes: Sizes, data: Buffer) -> None:
        self.sizes = sizes
        self.data = data

    def __len__(self) -> int:
        if isinstance(self.sizes, int):
            return len(self.data) // self.sizes
        return len(self.sizes) // _SIZE.size

    def check(self) -> None:
        """Raises BadLayout where the sizes are not those of the data."""
        if isinstance(self.sizes, int):
            is_sound = 0 < self.sizes <= len(self.data) and len(self.data) % self.sizes == 0
        else:
            # Cast, since that adds up in C.
            is_whole = len(self.sizes) % _SIZE.size == 0
            is_sound = is_whole and sum(memoryview(self.sizes).cast("I")) == len(self.data)
        if not is_sound:
            raise BadLayout(f"{len(self.data)} bytes are not whole records")

    def rows(self) -> list[bytes]:
        """The records, as Python's objects."""
        native = _native()
        if native is not None:
            rows: list[bytes] = native.unpack_records(self.sizes, self.data)
            return rows
        ends = accumulate(self._each(), initial=0)
        return [bytes(self.data[start:end]) for start, end in pairwise(ends)]

    def _each(self) -> Iterator[int]:
        if isinstance(self.sizes, int):
            return iter([self.sizes] * len(self))
        return (size for (size,) in _SIZE.iter_unpack(self.sizes))


def packed_records(rows: list[Any]) -> PackedRecords | None:
    """Rows packed; None without the extension, for other rows than bytes, for long ones, and where
    many of them are the same object, which packing would copy."""
    if type(rows[0]) is not bytes:
        return None
    native = _native()
    found = native and native.pack_records(rows, _LONGEST_BYTES * len(rows))
    if found is None:
        return None
    sizes, data = found
    if len(data) > _LONG_BYTES * len(rows) and 2 * len(set(map(id, rows))) <= len(rows):
        return None
    return PackedRecords(sizes, data)


class RecordRows:
    """Records of one size that can be read one by one, by C code alone; instead, they can be had
    as blocks."""

    def __init__(
        self, blocks: Callable[[int], Iterator[bytes]], size: int, block_bytes: int
    ) -> None:
        """`blocks` returns all records, in blocks of about so many bytes."""
        self.size = size
        self.blocks = blocks
        self._rows = chain.from_iterable(map(self._cut, blocks(block_bytes)))

    def _cut(self, block: bytes) -> list[bytes]:
        size = self.size
        return [block[start : start + size] for start in range(0, len(block), size)]

    def __iter__(self) -> Iterator[bytes]:
        # Not this object: whoever iterates shall not run Python for each record.
        return self._rows

    def __next__(self) -> bytes:
        return next(self._rows)


def _native() -> Any:
    try:
        from pyrite.machine import _rows
    except ImportError:
        return None
    return _rows
