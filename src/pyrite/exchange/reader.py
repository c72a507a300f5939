"""Reading parts out of an exchange: in place, or through its block server."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from zlib import crc32

from pyrite.blocks.segments import SegmentReader
from pyrite.exchange.book import NODE
from pyrite.exchange.errors import TooManyFiles
from pyrite.exchange.outputs import PartRef
from pyrite.exchange.serverconnection import VISITS, Place, ServerConnection
from pyrite.ids import BlockRef
from pyrite.remote.errors import BlockGone

# So much is fetched through the block server before the first of it is used.
BATCH_BYTES = 8 << 20
NOTHING = memoryview(b"")


class PartReader:
    """Gives the bytes of stretches; for one thread, and for as long as one reducer reads.

    Not longer: a segment's memory is free when it is removed and nobody maps it any more.
    """

    def __init__(self, visit: ServerConnection) -> None:
        self.place: Place = visit.place
        self.files = SegmentReader(visit.folders) if visit.direct else None

    def parts(self, stretches: Sequence[PartRef]) -> Iterator[memoryview | str]:
        """Each stretch's bytes, or what is wrong with it."""
        read = self._map(stretches) if self.files is not None else self._fetch(stretches)
        for stretch, view in zip(stretches, read, strict=True):
            if view is None:
                yield "has gone with its file"
            elif crc32(view) != stretch.check:
                yield "is spoilt: its checksum is not that of what was put"
            else:
                yield view

    def _map(self, stretches: Sequence[PartRef]) -> Iterator[memoryview | None]:
        assert self.files is not None
        for segment, offset, length, _, medium in stretches:
            try:
                yield self.files.view(BlockRef(NODE, segment, offset, length, medium))
            except FileNotFoundError:
                yield None
            except OSError as error:
                # Whatever else is wrong here, the part may be whole: others can read it.
                if error.errno == errno.EMFILE:
                    raise TooManyFiles(segment) from None
                raise

    def _fetch(self, stretches: Sequence[PartRef]) -> Iterator[memoryview | None]:
        for batch in batches(stretches):
            views = iter(self._fetched([each for each in batch if each.length]))
            for stretch in batch:
                view = next(views) if stretch.length else NOTHING
                yield view if isinstance(view, memoryview) else None

    def _fetched(self, stretches: Sequence[PartRef]) -> list[memoryview | BlockGone]:
        return VISITS.move_bytes(self.place, lambda visit: visit.fetch(stretches))


def batches(stretches: Sequence[PartRef]) -> Iterator[list[PartRef]]:
    """The stretches in their order, some at a time."""
    batch: list[PartRef] = []
    size = 0
    for stretch in stretches:
        if batch and size + stretch.length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(stretch)
        size += stretch.length
    if batch:
        yield batch
