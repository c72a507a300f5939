"""Reads parts of an exchange: in place, or through its block server."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from zlib import crc32

from pyrite.blocks.segments import SegmentReader
from pyrite.exchange.book import NODE
from pyrite.exchange.errors import TooManyFiles
from pyrite.exchange.outputs import PartRef
from pyrite.exchange.serverconnection import CONNECTIONS, Place, ServerConnection
from pyrite.ids import BlockRef
from pyrite.remote.errors import BlockGone

# How much is fetched through the block server at a time.
BATCH_BYTES = 8 << 20
NOTHING = memoryview(b"")


class PartReader:
    """Reads parts for one thread, while one reducer reads.

    Not for longer: a removed segment's memory is freed when no process maps it any more.
    """

    def __init__(self, connection: ServerConnection) -> None:
        self.place: Place = connection.place
        self.files = SegmentReader(connection.folders) if connection.direct else None

    def parts(self, refs: Sequence[PartRef]) -> Iterator[memoryview | str]:
        """Returns the bytes of each part, or what is wrong with it."""
        read = self._map(refs) if self.files is not None else self._fetch(refs)
        for ref, view in zip(refs, read, strict=True):
            if view is None:
                yield "has gone with its file"
            elif crc32(view) != ref.check:
                yield "is corrupt: its checksum is not that of what was put"
            else:
                yield view

    def _map(self, refs: Sequence[PartRef]) -> Iterator[memoryview | None]:
        assert self.files is not None
        for segment, offset, length, _, medium in refs:
            try:
                yield self.files.view(BlockRef(NODE, segment, offset, length, medium))
            except FileNotFoundError:
                yield None
            except OSError as error:
                # After any other error the part may be intact: other processes can read it.
                if error.errno == errno.EMFILE:
                    raise TooManyFiles(segment) from None
                raise

    def _fetch(self, refs: Sequence[PartRef]) -> Iterator[memoryview | None]:
        for batch in batches(refs):
            views = iter(self._fetched([each for each in batch if each.length]))
            for ref in batch:
                view = next(views) if ref.length else NOTHING
                yield view if isinstance(view, memoryview) else None

    def _fetched(self, refs: Sequence[PartRef]) -> list[memoryview | BlockGone]:
        return CONNECTIONS.move_bytes(self.place, lambda connection: connection.fetch(refs))


def batches(refs: Sequence[PartRef]) -> Iterator[list[PartRef]]:
    """Splits the refs into batches, in their order."""
    batch: list[PartRef] = []
    size = 0
    for ref in refs:
        if batch and size + ref.length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(ref)
        size += ref.length
    if batch:
        yield batch
