"""The reduce side of a shuffle: reads one reducer's part of every map output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from pyrite.blocks.codec import CorruptBlock, check_frames, decode_frames, read_frames
from pyrite.blocks.fetched import unpack_directory
from pyrite.blocks.parts import LongPart, find_part
from pyrite.blocks.segments import SegmentReader
from pyrite.ids import BlockRef, ShuffleId
from pyrite.probe import probe
from pyrite.remote.errors import PeerLost


class MissingMapOutput(BaseException):
    """A map output can't be read: it is lost or corrupt.

    Not an Exception, so that a user's `except` does not take it for the end of the rows.
    """

    def __init__(self, shuffle: ShuffleId, lost: list[tuple[int, BlockRef]], reason: str) -> None:
        which = f"map output {lost[0][0]}" if lost else "map outputs"
        super().__init__(f"{which} of shuffle {shuffle}: {reason}")
        self.shuffle = shuffle
        self.lost = lost


class ShuffleRows:
    """What one reduce partition reads of one shuffle, in the order of the maps.

    `prefetched` names segments of the own node that hold its part of some maps' outputs. `maps`
    limits it to the outputs of these maps.
    """

    def __init__(
        self,
        shuffle: ShuffleId,
        outputs: Sequence[BlockRef],
        part: int,
        reader: SegmentReader,
        prefetched: Sequence[str] = (),
        maps: range | None = None,
    ) -> None:
        self.shuffle = shuffle
        self.outputs = outputs
        self.part = part
        self.reader = reader
        self.prefetched = prefetched
        self.maps = maps

    def rows(self) -> Iterator[Any]:
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Any]]:
        prefetched = self._open_prefetched()
        maps = range(len(self.outputs)) if self.maps is None else self.maps
        others = [self.outputs[index] for index in maps if index not in prefetched]
        parts = self.reader.parts(others, self.part)
        for index in maps:
            ref = self.outputs[index]
            found: memoryview | LongPart | None
            try:
                if index not in prefetched:
                    found = next(parts)
                else:
                    is_whole, found = self._from_prefetched(prefetched.pop(index))
                    if not is_whole:
                        found = next(self.reader.parts([ref], self.part))
                # Reducers may modify arrays in place, as they may with PySpark.
                if isinstance(found, memoryview):
                    yield from decode_frames(found, writable=True)
                elif found is not None:
                    yield from read_frames(found.read, found.size)
            except (OSError, CorruptBlock) as error:
                reason = f"{type(error).__name__}: {error}"
                lost = self._lost_with(ref, error) if isinstance(error, OSError) else [(index, ref)]
                raise MissingMapOutput(self.shuffle, lost, reason) from None

    def _open_prefetched(self) -> dict[int, memoryview]:
        """Returns the prefetched selections of map outputs, by map."""
        found: dict[int, memoryview] = {}
        for segment in self.prefetched:
            try:
                fetched = self.reader.whole(segment, "memory")
                for entry in unpack_directory(fetched):
                    found[entry.map] = fetched[entry.offset : entry.offset + entry.length]
            except (OSError, CorruptBlock):
                probe("a prefetched segment can't be read")
        return found

    def _from_prefetched(self, selection: memoryview) -> tuple[bool, memoryview | None]:
        """Returns whether the part can be read from a selection, and its frames.

        All frames are verified before the first is read: an output that was recomputed since has
        the same rows, but perhaps in another order, so reading could not continue with it halfway.
        """
        try:
            view = find_part(selection, self.part)
            if view is not None:
                check_frames(view)
        except CorruptBlock:
            probe("a part in a prefetched segment can't be read")
            return False, None
        return True, view

    def _lost_with(self, lost: BlockRef, error: OSError) -> list[tuple[int, BlockRef]]:
        """Returns all outputs in a lost segment, or on a node that does not respond."""
        node_only = isinstance(error, PeerLost)
        return [
            (index, ref)
            for index, ref in enumerate(self.outputs)
            if ref.node == lost.node and (node_only or ref.segment == lost.segment)
        ]
