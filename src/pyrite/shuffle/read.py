"""The reduce side of a shuffle: one reducer's part of every map output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from pyrite.blocks.codec import CorruptBlock, decode_frames
from pyrite.blocks.segments import SegmentReader
from pyrite.ids import BlockRef, ShuffleId


class MissingMapOutput(BaseException):
    """A map output can't be read: it is gone or its bytes are wrong.

    No Exception, so that a user's `except` does not take it for an end of the rows.
    """

    def __init__(
        self,
        shuffle: ShuffleId,
        index: int,
        epoch: int,
        reason: str,
        also: tuple[int, ...] = (),
    ) -> None:
        super().__init__(f"map output {index} of shuffle {shuffle}: {reason}")
        self.shuffle = shuffle
        self.index = index
        self.epoch = epoch
        self.also = also


class ShuffleRows:
    """What one reduce partition reads of one shuffle, in the order of the maps."""

    def __init__(
        self,
        shuffle: ShuffleId,
        epoch: int,
        refs: tuple[BlockRef, ...],
        part: int,
        reader: SegmentReader,
    ) -> None:
        self.shuffle = shuffle
        self.epoch = epoch
        self.refs = refs
        self.part = part
        self.reader = reader

    def rows(self) -> Iterator[Any]:
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Any]]:
        for index, ref in enumerate(self.refs):
            try:
                view = find_part(self.reader.view(BlockRef(*ref)), self.part)
                if view is not None:
                    # Reducers may add arrays in place, as they do with PySpark.
                    yield from decode_frames(view, writable=True)
            except (OSError, CorruptBlock) as error:
                reason = f"{type(error).__name__}: {error}"
                also = self._beside(index) if isinstance(error, OSError) else ()
                raise MissingMapOutput(self.shuffle, index, self.epoch, reason, also) from None

    def _beside(self, index: int) -> tuple[int, ...]:
        """The other outputs in a segment that is gone."""
        place = self.refs[index][:2]
        return tuple(i for i, ref in enumerate(self.refs) if ref[:2] == place and i != index)


def find_part(block: memoryview, part: int) -> memoryview | None:
    """One reducer's stretch of a map output; None where it is empty."""
    if len(block) < 16:
        raise CorruptBlock("a map output ends within its header")
    parts = block[:8].cast("Q")[0]
    start = 8 * (parts + 2)
    if part >= parts or len(block) < start:
        raise CorruptBlock(f"a map output of {parts} parts has no part {part}")
    offsets = block[8 + 8 * part : 24 + 8 * part].cast("Q")
    first, last = offsets[0], offsets[1]
    return None if first == last else block[start + first : start + last]
