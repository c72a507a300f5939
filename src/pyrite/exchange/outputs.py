"""One map's output as the exchange keeps it: parts one behind another, and what tells them apart.

Where the parts end and their checksums lie with the book and not in the block, so that a reducer
reads its own bytes only, and a block that is spoilt can't mislead about itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from pyrite.ids import BlockRef, Medium

# Parts begin at multiples of this, so that arrays of numbers are read in place.
ALIGNMENT = 8
PADDING = [bytes(count) for count in range(ALIGNMENT)]


class PartRef(NamedTuple):
    """Where one part lies, and its checksum."""

    segment: str
    offset: int
    length: int
    check: int
    medium: Medium


class PutOutput(NamedTuple):
    """Where a map's output lies, where its parts end within it, and their checksums."""

    block: BlockRef
    ends: array[int]
    checks: array[int]

    @classmethod
    def made(cls, block: BlockRef, ends: Sequence[int], checks: Sequence[int]) -> PutOutput:
        return cls(block, array("Q", ends), array("I", checks))

    def stretch(self, part: int) -> PartRef:
        start = self._start(part)
        _, segment, offset, _, medium = self.block
        length = self.ends[part] - start
        return PartRef(segment, offset + start, length, self.checks[part], medium)

    def length(self, part: int) -> int:
        return self.ends[part] - self._start(part)

    def has_bytes_of(self, other: PutOutput) -> bool:
        """Whether both hold the same parts, as far as sizes and checksums tell."""
        return self.ends == other.ends and self.checks == other.checks

    def _start(self, part: int) -> int:
        return aligned(self.ends[part - 1]) if part else 0


def aligned(offset: int) -> int:
    """The next multiple at which a part may begin."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def are_ends(ends: Sequence[int], length: int) -> bool:
    """Whether these can be the ends of parts in a block of so many bytes."""
    start = 0
    for end in ends:
        if not start <= end <= length:
            return False
        start = aligned(end)
    return True
