"""The layout of a fetched segment: selections of many map outputs' parts.

It begins with a directory: the number of map outputs and a checksum, then for each output its map
and where in the segment its selection lies.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.parts import selection_header_bytes

# Selections begin at multiples of this.
ALIGNMENT = 64
# Stretches of a file begin at multiples of this, as a map of it does on every kernel. What lies
# between them takes no memory.
STRETCH_ALIGNMENT = 64 << 10
_HEAD = struct.Struct("<QQ")
_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")


class Stretch(NamedTuple):
    """The place of a fetched segment that has no file of its own: in one in its node's memory."""

    file: str
    offset: int
    size_bytes: int

    def behind(self) -> int:
        """Returns where the next stretch of the file can begin."""
        return -(-(self.offset + self.size_bytes) // STRETCH_ALIGNMENT) * STRETCH_ALIGNMENT


# A fetched segment's own file, or its stretch of another one, as messages have it.
FetchedPlace = str | tuple[str, int, int]


class SelectionEntry(NamedTuple):
    """The location of one map output's selection in the segment."""

    map: int
    offset: int
    length: int


def aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def directory_bytes(maps: int) -> int:
    """Returns the offset of the first selection."""
    return aligned(_HEAD.size + maps * _ENTRY.size)


def fetched_bytes(maps: int, parts: int, frames_bytes: int) -> int:
    """Returns the size to reserve for a segment with so many parts of so many map outputs."""
    return directory_bytes(maps) + maps * (selection_header_bytes(parts) + ALIGNMENT) + frames_bytes


def entry_behind(end: int, map: int, length: int) -> SelectionEntry:
    """Returns the entry of a selection that follows the directory, or another one, ending at
    `end`."""
    return SelectionEntry(map, aligned(end), length)


def lay_out(maps: Sequence[int], lengths: Iterable[int]) -> list[SelectionEntry]:
    """Returns the entries of selections of these lengths in one segment."""
    entries: list[SelectionEntry] = []
    end = directory_bytes(len(maps))
    for map, length in zip(maps, lengths, strict=True):
        entries.append(entry_behind(end, map, length))
        end = entries[-1].offset + length
    return entries


def pack_directory(entries: Sequence[SelectionEntry]) -> bytes:
    packed = b"".join(_ENTRY.pack(*entry) for entry in entries)
    return _HEAD.pack(len(entries), _check(len(entries), packed)) + packed


def _check(count: int, packed: bytes | memoryview) -> int:
    """Returns a directory's checksum, which is not 0 for one of zeros: a stretch that was freed
    reads as such."""
    return crc32(packed, crc32(_COUNT.pack(count)))


def unpack_directory(fetched: memoryview) -> list[SelectionEntry]:
    """Returns the entries of a segment; raises CorruptBlock where its directory is corrupt."""
    if len(fetched) < _HEAD.size:
        raise CorruptBlock("a prefetched segment ends within its directory")
    count, check = _HEAD.unpack(fetched[: _HEAD.size])
    packed = fetched[_HEAD.size : _HEAD.size + count * _ENTRY.size]
    if len(packed) < count * _ENTRY.size or _check(count, packed) != check:
        raise CorruptBlock("the directory of a prefetched segment has changed")
    return [SelectionEntry(*entry) for entry in _ENTRY.iter_unpack(packed)]
