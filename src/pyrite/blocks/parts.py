"""The parts of a map output: one block that holds a stretch of frames for each reducer.

It begins with the number of parts, then one more offset than parts, then the parts' frames. What
another node asks for is a selection of the parts, which begins with how many they are and which,
then one more offset than parts, then their frames.
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

# A map output may have a tebibyte.
OFFSET_BITS = 40
_OFFSET = (1 << OFFSET_BITS) - 1
# Marks the number at the start of a selection.
SELECTION = 1 << 63
_WORD = struct.Struct("<Q")
_PAIR = struct.Struct("<QQ")
# The bytes of a number that hold its check, of which they are the upper three.
_CHECK = (5, 6, 7)
# So few numbers are sealed faster one by one, and no slower than they are remembered.
_FEW = 8
# What a search for one number costs, where taking all from where they are costs 1 for each.
_LOOKS = 16
# Of so many choices of parts the numbers are remembered, each with up to 12 bytes per part.
_REMEMBERED = 32

# Where bytes of a block begin, and how many.
Span = tuple[int, int]


class LongPart(Protocol):
    """A part that is too long to be held: its bytes come in their order, some at a time."""

    size: int

    def read(self, size: int) -> bytes:
        """The next bytes, so many."""


def pack_header(sizes: Sequence[int]) -> bytes:
    """What a map output begins with whose parts have these sizes."""
    return _WORD.pack(len(sizes)) + _offsets(sizes)


def selection_header_bytes(parts: int) -> int:
    """How long a selection of so many parts is without their frames."""
    return 16 * (parts + 1)


def selection_bytes(output_bytes: int, parts: int) -> int:
    """How long the selection of all parts of a map output is."""
    return output_bytes - 8 * (parts + 2) + selection_header_bytes(parts)


def find_part(block: memoryview, part: int) -> memoryview | None:
    """One reducer's stretch of a map output, or of a selection of it; None where it is empty."""
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
    """The header of a selection of a map output, and which bytes of the output follow it.

    `read` gives bytes of the output by where they begin and how many; `parts` ascend. The output
    may itself be a selection: a copy of an output is one of all its parts.
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
    # Of all parts from the first on, the offsets are the same in the selection.
    is_same = low == firsts[0] == 0
    head += entries.tobytes() if is_same else _offsets(sizes)
    return head, _joined([(firsts[0], lasts[-1] - firsts[0])], start)


def _bounds(entries: memoryview, places: Sequence[int]) -> tuple[list[int], list[int]]:
    """Where the parts at these places begin and end; the entries are those from the first on."""
    low = places[0]
    if len(entries) == len(places) + 1:
        # They are neighbours, which share an offset.
        offsets = _unseal_all(range(low, low + len(entries)), entries)
        return offsets[:-1], offsets[1:]
    ends = [place + 1 for place in places]
    firsts = _unseal_all(places, _picked(entries, places, low))
    return firsts, _unseal_all(ends, _picked(entries, ends, low))


def _joined(spans: Iterable[Span], base: int) -> list[Span]:
    """The same bytes, counted from the base: neighbours as one, and without the empty ones."""
    found: list[Span] = []
    for start, size in spans:
        if found and sum(found[-1]) == base + start:
            found[-1] = found[-1][0], found[-1][1] + size
        elif size:
            found.append((base + start, size))
    return found


def _places(numbers: memoryview, parts: Sequence[int]) -> list[int]:
    """Where the parts are in a selection of these numbers."""
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
    """What a selection says of which parts it has."""
    if len(parts) < _FEW:
        return _seal_all(range(len(parts)), parts)
    return _remembered_numbers(array("I", parts).tobytes())


@lru_cache(_REMEMBERED)
def _remembered_numbers(parts: bytes) -> bytes:
    """The same for each output of an order."""
    numbers = array("I", parts)
    return _seal_all(range(len(numbers)), numbers)


def _offsets(sizes: Sequence[int]) -> bytes:
    offsets = list(accumulate(sizes, initial=0))
    return _seal_all(range(len(offsets)), offsets)


def _seal_all(places: Iterable[int], offsets: Sequence[int]) -> bytes:
    """`sealed` for many, in a quarter of the time: Python's numbers of 64 bits are slow."""
    if len(offsets) < _FEW:
        return array("Q", map(sealed, places, offsets)).tobytes()
    checks = array("I", map(crc32, map(_PAIR.pack, places, offsets))).tobytes()
    entries = bytearray(array("Q", offsets).tobytes())
    for byte in _CHECK:
        entries[byte::8] = checks[byte - 4 :: 4]
    return bytes(entries)


def _unseal_all(places: Sequence[int], entries: memoryview | array[int]) -> list[int]:
    """`unsealed` for many."""
    if len(places) >= _FEW:
        offsets = _bare_all(entries)
        if _seal_all(places, offsets) == entries.tobytes():
            return offsets
    return list(map(unsealed, places, entries))


def _bare_all(entries: memoryview | array[int]) -> list[int]:
    """The numbers without their checks, which nobody has looked at."""
    bare = bytearray(entries.tobytes())
    for byte in _CHECK:
        bare[byte::8] = bytes(len(entries))
    return array("Q", bytes(bare)).tolist()


def _picked(entries: memoryview, places: Sequence[int], low: int = 0) -> array[int]:
    return array("Q", [entries[place - low] for place in places])


def _words(data: Any) -> memoryview:
    return memoryview(data).cast("B").cast("Q")


def sealed(place: int, offset: int) -> int:
    """A number with a check in its upper bits: frames have a checksum each, an end has none."""
    return offset | (crc32(_PAIR.pack(place, offset)) >> 8) << OFFSET_BITS


def unsealed(place: int, entry: int) -> int:
    """The number again; raises CorruptBlock where the entry is not what was written."""
    offset = entry & _OFFSET
    if sealed(place, offset) != entry:
        raise CorruptBlock(f"the offset of part {place} in a map output has changed")
    return offset


def _bare(entry: int) -> int:
    return entry & _OFFSET
