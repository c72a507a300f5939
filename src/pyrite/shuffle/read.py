"""The reduce side of a shuffle: one reducer's part of every map output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from pyrite.blocks.codec import CorruptBlock, decode_frames
from pyrite.blocks.parts import find_part
from pyrite.blocks.segments import SegmentReader
from pyrite.ids import BlockRef, ShuffleId


class MissingMapOutput(BaseException):
    """A map output can't be read: it is gone or its bytes are wrong.

    No Exception, so that a user's `except` does not take it for an end of the rows.
    """

    def __init__(self, shuffle: ShuffleId, lost: list[tuple[int, BlockRef]], reason: str) -> None:
        which = f"map output {lost[0][0]}" if lost else "map outputs"
        super().__init__(f"{which} of shuffle {shuffle}: {reason}")
        self.shuffle = shuffle
        self.lost = lost


class ShuffleRows:
    """What one reduce partition reads of one shuffle, in the order of the maps."""

    def __init__(
        self,
        shuffle: ShuffleId,
        refs: tuple[BlockRef, ...],
        part: int,
        reader: SegmentReader,
    ) -> None:
        self.shuffle = shuffle
        self.refs = refs
        self.part = part
        self.reader = reader

    def rows(self) -> Iterator[Any]:
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Any]]:
        for index, ref in enumerate(self.refs):
            try:
                view = find_part(self.reader.view(ref), self.part)
                if view is not None:
                    # Reducers may add arrays in place, as they do with PySpark.
                    yield from decode_frames(view, writable=True)
            except (OSError, CorruptBlock) as error:
                reason = f"{type(error).__name__}: {error}"
                lost = self._beside(ref) if isinstance(error, OSError) else [(index, ref)]
                raise MissingMapOutput(self.shuffle, lost, reason) from None

    def _beside(self, gone: BlockRef) -> list[tuple[int, BlockRef]]:
        """The outputs in a segment that is gone."""
        place = gone.node, gone.segment
        return [(i, ref) for i, ref in enumerate(self.refs) if (ref.node, ref.segment) == place]
