"""The layout of a map output: one block with a part, a run of frames, for each reducer.

It begins with the number of parts, then one more offset than parts, then the parts' frames. Other
nodes request a selection of the parts, which begins with their number and their indices, then one
more offset than parts, then their frames.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import le, sub
from typing import Any, Protocol
from zlib import crc32

from pyrite.blocks.codec import CorruptBlock

# A map output may be up to a tebibyte.
OFFSET_BITS = 40
_OFFSET = (1 << OFFSET_BITS) - 1
# Marks the number at the start of a selection.
SELECTION = 1 << 63
_WORD = struct.Struct("<Q")
_PAIR = struct.Struct("<QQ")
# The bytes of an entry that hold its check: the upper three.
_CHECK = (5, 6, 7)
# Fewer numbers than this are sealed faster one by one, and need no cache.
_FEW = 8
# The cost of one bisection, relative to converting one entry of a full table.
_LOOKS = 16
# Number of selections whose indices are cached, each with up to 12 bytes per part.
_REMEMBERED = 32

# The offset and length of bytes in a block.
Span = tuple[int, int]


class LongPart(Protocol):
    """A part that is too long for memory: it is read sequentially."""

    size: int

    def read(self, size: int) -> bytes:
        """Returns the next `size` bytes."""


def pack_header(sizes: Sequence[int]) -> bytes:
    """Returns the header of a map output whose parts have these sizes."""
    return _WORD.pack(len(sizes)) + _offsets(sizes)


def selection_header_bytes(parts: int) -> int:
    """Returns the length of a selection's header."""
    return 16 * (parts + 1)


def selection_bytes(output_bytes: int, parts: int) -> int:
    """Returns the length of the selection of all parts of a map output."""
    return output_bytes - 8 * (parts + 2) + selection_header_bytes(parts)


def find_part(block: memoryview, part: int) -> memoryview | None:
    """Returns one reducer's part of a map output, or of a selection; None where it is empty."""
    if len(block) < 16:
        raise CorruptBlock("a map output ends within its header")
    (count,) = _WORD.unpack_from(block)
    table, place = 8, part
    if count & SELECTION:
        count ^= SELECTION
        table += 8 * count
    start = table + 8 * (count + 1)
    if len(block) < start:
        raise CorruptBlock(f"a map output of {len(block)} bytes is said to have {count} parts")
    if table > 8:
        numbers = block[8:table].cast("Q")
        place = bisect_left(numbers, part, key=_bare)
        if place < count and unsealed(place, numbers[place]) != part:
            place = count
    if place >= count:
        raise _no_part(count, part)
    offsets = _PAIR.unpack_from(block, table + 8 * place)
    first, last = unsealed(place, offsets[0]), unsealed(place + 1, offsets[1])
    if not first <= last <= len(block) - start:
        raise CorruptBlock(f"part {part} of a map output is said to end behind it")
    return None if first == last else block[start + first : start + last]


def select(
    read: Callable[[int, int], Any], length: int, parts: Sequence[int]
) -> tuple[bytes, list[Span]]:
    """Returns the header of a selection of a map output, and which bytes of the output follow it.

    `read` returns bytes of the output by offset and length; `parts` ascend. The output may itself
    be a selection: a replica is a selection of all parts.
    """
    if length < 16:
        raise CorruptBlock("a map output ends within its header")
    (count,) = _WORD.unpack(read(0, 8))
    table, places = 8, parts
    if count & SELECTION:
        count ^= SELECTION
        table += 8 * count
        if length >= table:
            places = _places(_words(read(8, 8 * count)), parts)
    start = table + 8 * (count + 1)
    if not places or places[-1] >= count or length < start:
        raise _no_part(count, parts[-1:])
    low, high = places[0], places[-1]
    entries = _words(read(table + 8 * low, 8 * (high + 2 - low)))
    firsts, lasts = _bounds(entries, places)
    if not all(map(le, firsts, lasts)) or max(lasts) > length - start:
        raise CorruptBlock("a part of a map output is said to end behind it")
    sizes = list(map(sub, lasts, firsts))
    head = _WORD.pack(SELECTION | len(parts)) + _numbers(parts)
    if len(entries) > len(places) + 1:
        return head + _offsets(sizes), _joined(zip(firsts, sizes, strict=True), start)
    # A selection of all parts from the first on has the same offsets.
    is_same = low == firsts[0] == 0
    head += entries.tobytes() if is_same else _offsets(sizes)
    return head, _joined([(firsts[0], lasts[-1] - firsts[0])], start)


def _bounds(entries: memoryview, places: Sequence[int]) -> tuple[list[int], list[int]]:
    """Returns the starts and ends of the parts at these places; entries begin at the first
    place."""
    low = places[0]
    if len(entries) == len(places) + 1:
        # Adjacent parts share an offset.
        offsets = _unseal_all(range(low, low + len(entries)), entries)
        return offsets[:-1], offsets[1:]
    ends = [place + 1 for place in places]
    firsts = _unseal_all(places, _picked(entries, places, low))
    return firsts, _unseal_all(ends, _picked(entries, ends, low))


def _joined(spans: Iterable[Span], base: int) -> list[Span]:
    """Merges adjacent spans, drops empty ones, and adds the base to their offsets."""
    found: list[Span] = []
    for start, size in spans:
        if found and sum(found[-1]) == base + start:
            found[-1] = found[-1][0], found[-1][1] + size
        elif size:
            found.append((base + start, size))
    return found


def _places(numbers: memoryview, parts: Sequence[int]) -> list[int]:
    """Returns the places of the parts in a selection with these indices."""
    count = len(numbers)
    if len(parts) * _LOOKS < count:
        places = [bisect_left(numbers, part, key=_bare) for part in parts]
    else:
        known = dict(zip(_bare_all(numbers), range(count), strict=True))
        places = [known.get(part, count) for part in parts]
    if max(places, default=count) == count:
        raise _no_part(count, parts[-1:])
    for part, found in zip(parts, _unseal_all(places, _picked(numbers, places)), strict=True):
        if part != found:
            raise _no_part(count, part)
    return places


def _no_part(count: int, part: Any) -> CorruptBlock:
    return CorruptBlock(f"a map output, or a selection, of {count} parts has no part {part}")


def _numbers(parts: Sequence[int]) -> bytes:
    """Returns the encoded indices of a selection's parts."""
    if len(parts) < _FEW:
        return _seal_all(range(len(parts)), parts)
    return _remembered_numbers(array("I", parts).tobytes())


@lru_cache(_REMEMBERED)
def _remembered_numbers(parts: bytes) -> bytes:
    """Encodes indices; cached, since all outputs of an order have the same."""
    numbers = array("I", parts)
    return _seal_all(range(len(numbers)), numbers)


def _offsets(sizes: Sequence[int]) -> bytes:
    offsets = list(accumulate(sizes, initial=0))
    return _seal_all(range(len(offsets)), offsets)


def _seal_all(places: Iterable[int], offsets: Sequence[int]) -> bytes:
    """Does `sealed` for many in a quarter of the time: Python's 64-bit arithmetic is slow."""
    if len(offsets) < _FEW:
        return array("Q", map(sealed, places, offsets)).tobytes()
    checks = array("I", map(crc32, map(_PAIR.pack, places, offsets))).tobytes()
    entries = bytearray(array("Q", offsets).tobytes())
    for byte in _CHECK:
        entries[byte::8] = checks[byte - 4 :: 4]
    return bytes(entries)


def _unseal_all(places: Sequence[int], entries: memoryview | array[int]) -> list[int]:
    """Does `unsealed` for many."""
    if len(places) >= _FEW:
        offsets = _bare_all(entries)
        if _seal_all(places, offsets) == entries.tobytes():
            return offsets
    return list(map(unsealed, places, entries))


def _bare_all(entries: memoryview | array[int]) -> list[int]:
    """Returns the numbers without their checks, unverified."""
    bare = bytearray(entries.tobytes())
    for byte in _CHECK:
        bare[byte::8] = bytes(len(entries))
    return array("Q", bytes(bare)).tolist()


def _picked(entries: memoryview, places: Sequence[int], low: int = 0) -> array[int]:
    return array("Q", [entries[place - low] for place in places])


def _words(data: Any) -> memoryview:
    return memoryview(data).cast("B").cast("Q")


def sealed(place: int, offset: int) -> int:
    """Adds a check to a number, in its upper bits: frames have a checksum each, offsets need one
    too."""
    return offset | (crc32(_PAIR.pack(place, offset)) >> 8) << OFFSET_BITS


def unsealed(place: int, entry: int) -> int:
    """Returns the number; raises CorruptBlock where the entry is corrupt."""
    offset = entry & _OFFSET
    if sealed(place, offset) != entry:
        raise CorruptBlock(f"the offset of part {place} in a map output has changed")
    return offset


def _bare(entry: int) -> int:
    return entry & _OFFSET
