"""Records of a fixed length: binaryRecords."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from pyrite.io.codecs import InputStream
from pyrite.io.splits import Split
from pyrite.machine.records import RecordRows
from pyrite.metrics import COUNTS

READ_BYTES: Final = 128 * 1024


def record_rows(splits: Sequence[Split], record_length: int) -> RecordRows:
    """The records of splits, which were cut between records."""
    return RecordRows(partial(_blocks, splits, record_length), record_length, READ_BYTES)


def _blocks(splits: Sequence[Split], record_length: int, block_bytes: int) -> Iterator[bytes]:
    """The bytes of whole records, of about so many bytes at a time."""
    most = max(1, block_bytes // record_length) * record_length
    for split in splits:
        with InputStream(split.path, decompress=False) as stream:
            stream.seek(split.start)
            left = split.length
            while left:
                data = read_exactly(stream, min(most, left))
                if len(data) % record_length or not data:
                    raise split.changed()
                left -= len(data)
                COUNTS.rows_read += len(data) // record_length
                yield data


def read_exactly(stream: InputStream, size: int) -> bytes:
    """`size` bytes, fewer only where the file ends."""
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
