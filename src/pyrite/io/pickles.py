"""Files of pickled rows: saveAsPickleFile and pickleFile.

A file is a signature, then frames of rows, each after its length, then a length of zero. The zero
tells a complete file from one that was cut between two frames.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from pyrite.io.codecs import InputStream, output_stream
from pyrite.io.errors import CorruptInput
from pyrite.io.filesystem import display
from pyrite.io.records import read_exactly
from pyrite.io.splits import Split
from pyrite.metrics import COUNTS

SIGNATURE: Final = b"PYRITE\x00\x01"
_LENGTH: Final = struct.Struct("<Q")
# The memory of a batch's rows: also a small executor has that much.
_MOST_BATCH_BYTES: Final = 16 << 20


def write_rows(path: str, rows: Iterable[Any], batch_rows: int = 10) -> None:
    """Write rows to a file, starting with batches of `batch_rows`, then of a fitting size."""
    with output_stream(path, None) as output:
        write_stream(output, rows, batch_rows)


def write_stream(output: Any, rows: Iterable[Any], batch_rows: int = 10) -> None:
    """As `write_rows`, to an open file."""
    from pyrite.blocks.codec import Encoder, frame_size

    output.write(SIGNATURE)
    first_rows = max(1, batch_rows)
    for batch, frame in Encoder().batches(iter(rows), first_rows, most_bytes=_MOST_BATCH_BYTES):
        COUNTS.rows_written += len(batch)
        output.write(_LENGTH.pack(frame_size(frame)))
        for buffer in frame:
            output.write(buffer)
    output.write(_LENGTH.pack(0))


def read_rows(split: Split) -> Iterator[Any]:
    """The rows of the frames that start in a split."""
    return chain.from_iterable(_batches(split))


def _batches(split: Split) -> Iterator[list[Any]]:
    from pyrite.blocks.codec import CorruptBlock, decode_frames

    with InputStream(split.path, decompress=False) as stream:
        _check_signature(split.path, read_exactly(stream, len(SIGNATURE)))
        position = len(SIGNATURE)
        while position < split.end:
            size = _frame_size(stream, split.path, position)
            if size == 0:
                return
            if position >= split.start:
                frame = read_exactly(stream, size)
                if len(frame) < size:
                    raise _damaged(split.path, position, "it ends within a frame")
                try:
                    for batch in decode_frames(memoryview(frame), writable=True):
                        COUNTS.rows_read += len(batch)
                        yield batch
                except CorruptBlock as error:
                    raise _damaged(split.path, position, str(error)) from error
            position += _LENGTH.size + size
            stream.seek(position)
        if split.end == split.file_bytes:
            # The end mark lies behind what was the end.
            raise split.changed()


def _frame_size(stream: InputStream, path: str, position: int) -> int:
    header = read_exactly(stream, _LENGTH.size)
    if len(header) < _LENGTH.size:
        raise _damaged(path, position, "it ends before its end mark")
    size: int = _LENGTH.unpack(header)[0]
    return size


def _damaged(path: str, position: int, reason: str) -> CorruptInput:
    return CorruptInput(f"{display(path)} is damaged at byte {position}: {reason}", path)


def _check_signature(path: str, found: bytes) -> None:
    if found == SIGNATURE:
        return
    message = f"{display(path)} was not written by Pyrite's saveAsPickleFile"
    if found.startswith(b"SEQ"):
        message += ": it is a Hadoop sequence file, which only a JVM can read; save it as text"
    raise CorruptInput(message, path)
