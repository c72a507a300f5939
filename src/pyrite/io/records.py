"""Records of a fixed length: binaryRecords."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from pyrite.io.codecs import InputStream
from pyrite.io.splits import Split
from pyrite.metrics import COUNTS

READ_BYTES: Final = 128 * 1024


def read_records(split: Split, record_length: int) -> Iterator[bytes]:
    """The records of a split, which was cut between records."""
    return chain.from_iterable(_batches(split, record_length))


def _batches(split: Split, record_length: int) -> Iterator[list[bytes]]:
    batch_bytes = max(1, READ_BYTES // record_length) * record_length
    with InputStream(split.path, decompress=False) as stream:
        stream.seek(split.start)
        left = split.length
        while left:
            data = read_exactly(stream, min(batch_bytes, left))
            if len(data) % record_length or not data:
                raise split.changed()
            left -= len(data)
            COUNTS.rows_read += len(data) // record_length
            yield [data[i : i + record_length] for i in range(0, len(data), record_length)]


def read_exactly(stream: InputStream, size: int) -> bytes:
    """`size` bytes, fewer only where the file ends."""
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
