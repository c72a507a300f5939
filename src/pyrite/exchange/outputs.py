"""One map's output: a block with the parts in sequence, and their ends and checksums.

The book holds the ends and checksums, not the block: so a reducer reads only its own bytes, and a
corrupt block can't hide that it is corrupt.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from pyrite.ids import BlockRef, Medium

# Parts begin at multiples of this, so that arrays of numbers can be read in place.
ALIGNMENT = 8
PADDING = [bytes(count) for count in range(ALIGNMENT)]


class PartRef(NamedTuple):
    """The place of one part, and its checksum."""

    segment: str
    offset: int
    length: int
    check: int
    medium: Medium


class PutOutput(NamedTuple):
    """The place of a map's output, the ends of its parts, and their checksums."""

    block: BlockRef
    ends: array[int]
    checks: array[int]

    @classmethod
    def made(cls, block: BlockRef, ends: Sequence[int], checks: Sequence[int]) -> PutOutput:
        return cls(block, array("Q", ends), array("I", checks))

    def part_ref(self, part: int) -> PartRef:
        start = self._start(part)
        _, segment, offset, _, medium = self.block
        length = self.ends[part] - start
        return PartRef(segment, offset + start, length, self.checks[part], medium)

    def length(self, part: int) -> int:
        return self.ends[part] - self._start(part)

    def has_bytes_of(self, other: PutOutput) -> bool:
        """Whether both have the same parts, by sizes and checksums."""
        return self.ends == other.ends and self.checks == other.checks

    def _start(self, part: int) -> int:
        return aligned(self.ends[part - 1]) if part else 0


def aligned(offset: int) -> int:
    """The next offset at which a part may begin."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def are_ends(ends: Sequence[int], length: int) -> bool:
    """Whether these can be the ends of parts in a block of so many bytes."""
    start = 0
    for end in ends:
        if not start <= end <= length:
            return False
        start = aligned(end)
    return True
