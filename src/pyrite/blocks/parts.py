"""The parts of a map output: one block that holds a stretch of frames for each reducer.

It begins with the number of parts, then one more offset than parts, then the parts' frames. What
another node asks for is a selection of the parts, which begins with how many they are and which,
then one more offset than parts, then their frames.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

from pyrite.blocks.codec import CorruptBlock

# A map output may have a tebibyte.
OFFSET_BITS = 40
_OFFSET = (1 << OFFSET_BITS) - 1
# Marks the number at the start of a selection.
SELECTION = 1 << 63
_WORD = struct.Struct("<Q")
_PAIR = struct.Struct("<QQ")

Stretch = tuple[int, int]


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
        raise CorruptBlock(f"a map output, or a selection, of {count} parts has no part {part}")
    offsets = _PAIR.unpack_from(block, table + 8 * place)
    first, last = unsealed(place, offsets[0]), unsealed(place + 1, offsets[1])
    if not first <= last <= len(block) - start:
        raise CorruptBlock(f"part {part} of a map output is said to end behind it")
    return None if first == last else block[start + first : start + last]


def select(
    read: Callable[[int, int], Any], length: int, parts: Sequence[int]
) -> tuple[bytes, list[Stretch]]:
    """The header of a selection of a map output, and which stretches of the output follow it.

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
            places = _places(read(8, 8 * count), parts)
    start = table + 8 * (count + 1)
    if not places or places[-1] >= count or length < start:
        raise CorruptBlock(f"a map output of {count} parts has no part {parts[-1:]}")
    low = places[0]
    offsets = memoryview(read(table + 8 * low, 8 * (places[-1] + 2 - low))).cast("B").cast("Q")
    stretches: list[Stretch] = []
    before, last = -1, 0
    for place in places:
        # Neighbours share an offset, which is checked once.
        first = last if place == before + 1 and stretches else unsealed(place, offsets[place - low])
        last, before = unsealed(place + 1, offsets[place + 1 - low]), place
        if not first <= last <= length - start:
            raise CorruptBlock(f"part {place} of a map output is said to end behind it")
        stretches.append((start + first, last - first))
    numbers = array("Q", map(sealed, range(len(parts)), parts))
    head = _WORD.pack(SELECTION | len(parts)) + numbers.tobytes()
    return head + _offsets([size for _, size in stretches]), stretches


def _places(numbers: Any, parts: Sequence[int]) -> list[int]:
    """Where the parts are in a selection of these numbers."""
    entries = memoryview(numbers).cast("B").cast("Q")
    known = {unsealed(place, entry): place for place, entry in enumerate(entries)}
    return [known.get(part, len(known)) for part in parts]


def _offsets(sizes: Sequence[int]) -> bytes:
    offsets = array("Q", [sealed(0, 0)])
    total = 0
    for place, size in enumerate(sizes, 1):
        total += size
        offsets.append(sealed(place, total))
    return offsets.tobytes()


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
