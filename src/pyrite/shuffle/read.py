"""The reduce side of a shuffle: reads one reducer's part of every map output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from pyrite.blocks.codec import CorruptBlock, check_frames, open_frames, read_frames
from pyrite.blocks.fetched import FetchedPlace, Stretch, unpack_directory
from pyrite.blocks.parts import LongPart, find_part
from pyrite.blocks.segments import SegmentReader
from pyrite.blocks.stretches import map_stretch
from pyrite.blocks.together import PartsTogether
from pyrite.ids import BlockRef, ShuffleId
from pyrite.machine.chain import Chain
from pyrite.machine.framerows import AnyFrame, Frame, FrameRows, rows_of, without_records
from pyrite.metrics import COUNTS
from pyrite.probe import probe
from pyrite.rdd.fuse import run_steps
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

    `prefetched` are segments of the own node that hold its part of some maps' outputs: files, or
    stretches of files. `maps` limits it to the outputs of these maps. Parts of the shuffle may be
    read `together` with those of the task's other reducers.
    """

    def __init__(
        self,
        shuffle: ShuffleId,
        outputs: Sequence[BlockRef],
        part: int,
        reader: SegmentReader,
        prefetched: Sequence[FetchedPlace] = (),
        maps: range | None = None,
        together: PartsTogether | None = None,
    ) -> None:
        self.shuffle = shuffle
        self.outputs = outputs
        self.part = part
        self.reader = reader
        self.prefetched = prefetched
        self.maps = maps
        self.together = together

    def rows(self) -> Iterator[Any]:
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Any]]:
        return map(rows_of, self._frames())

    def chain(self) -> Chain:
        return Chain(FrameRows(self._frames()), [], run_steps, alone=True)

    def frames(self) -> Iterator[Frame]:
        """The batches, of which some may still be packed."""
        return map(without_records, self._frames())

    def _frames(self) -> Iterator[AnyFrame]:
        prefetched = self._open_prefetched()
        maps = range(len(self.outputs)) if self.maps is None else self.maps
        others = [self.outputs[index] for index in maps if index not in prefetched]
        parts = self.reader.parts(others, self.part, self.together)
        for index in maps:
            ref = self.outputs[index]
            found: memoryview | LongPart | None
            try:
                is_whole = False
                if index not in prefetched:
                    found = next(parts)
                else:
                    is_whole, found = self._from_prefetched(prefetched.pop(index))
                    if not is_whole:
                        found = next(self.reader.parts([ref], self.part))
                self._count(ref, found, is_whole)
                # Reducers may modify arrays in place, as they may with PySpark.
                batches: Iterator[AnyFrame] = iter(())
                if isinstance(found, memoryview):
                    batches = open_frames(found, writable=True)
                elif found is not None:
                    batches = read_frames(found.read, found.size)
                for batch in batches:
                    COUNTS.rows_read += len(batch)
                    yield batch
            except (OSError, CorruptBlock) as error:
                reason = f"{type(error).__name__}: {error}"
                lost = self._lost_with(ref, error) if isinstance(error, OSError) else [(index, ref)]
                raise MissingMapOutput(self.shuffle, lost, reason) from None

    def _count(self, ref: BlockRef, found: memoryview | LongPart | None, ahead: bool) -> None:
        if found is None:
            return
        size = len(found) if isinstance(found, memoryview) else found.size
        if ahead:
            COUNTS.shuffle_prefetched_bytes += size
        elif ref.node == self.reader.folders.node:
            COUNTS.shuffle_local_bytes += size
        else:
            COUNTS.shuffle_remote_bytes += size

    def _open_prefetched(self) -> dict[int, memoryview]:
        """Returns the prefetched selections of map outputs, by map."""
        found: dict[int, memoryview] = {}
        for segment in self.prefetched:
            try:
                if isinstance(segment, str):
                    fetched = self.reader.whole(segment, "memory")
                else:
                    fetched = map_stretch(self.reader.folders, Stretch(*segment))
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
