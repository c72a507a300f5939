"""Lines of text from a split, in large blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Literal, overload

from pyrite.io import utf8
from pyrite.io.codecs import InputStream, codec_of
from pyrite.io.splits import Split
from pyrite.machine.linerows import LineRows
from pyrite.metrics import COUNTS

# Small enough that a block and its lines stay in the processor's cache.
READ_BYTES: Final = 64 * 1024
# Past its end a split reads on for the rest of one line only.
READ_ON_BYTES: Final = 16 * 1024


@overload
def read_lines(split: Split, use_unicode: Literal[True] = True) -> Iterator[str]: ...
@overload
def read_lines(split: Split, use_unicode: Literal[False]) -> Iterator[bytes]: ...
@overload
def read_lines(split: Split, use_unicode: bool) -> Iterator[str] | Iterator[bytes]: ...


def read_lines(split: Split, use_unicode: bool = True) -> Iterator[str] | Iterator[bytes]:
    """The lines of a split without their ends: those that start after its start, up to its end.

    A line that starts exactly where two splits meet belongs to the first of them.
    """
    if use_unicode:
        return iter(line_rows((split,)))
    # Rows come out of lists by C code: no Python runs per line.
    return chain.from_iterable(map(_byte_lines, _blocks(split)))


def line_rows(splits: Sequence[Split]) -> LineRows:
    """The lines of some splits, one after another."""
    return LineRows(chain.from_iterable(map(_blocks, splits)), _text_lines, _plain_block)


def _plain_block(block: bytes) -> bytes:
    """The same lines as valid UTF-8, with line feeds between them."""
    plain = utf8.repair(_with_line_feeds(block))
    COUNTS.rows_read += plain.count(b"\n") + (plain != b"" and not plain.endswith(b"\n"))
    return plain


def _with_line_feeds(block: bytes) -> bytes:
    if b"\r" in block:
        return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return block


def _text_lines(block: bytes) -> list[str]:
    # str.splitlines would also split at form feeds and Unicode separators.
    lines = utf8.decode(_with_line_feeds(block)).split("\n")
    if not lines[-1]:
        lines.pop()
    COUNTS.rows_read += len(lines)
    return lines


def _byte_lines(block: bytes) -> list[bytes]:
    lines = utf8.repair(block).splitlines()
    COUNTS.rows_read += len(lines)
    return lines


def _blocks(split: Split) -> Iterator[bytes]:
    """Blocks of complete lines, without the mark that may open the file."""
    is_part_of_packed = not split.whole and codec_of(split.path) is not None
    with InputStream(split.path, decompress=not is_part_of_packed) as stream:
        pieces = (_unpacked_pieces if is_part_of_packed else _pieces)(stream, split)
        blocks = _complete_lines(pieces, skipping=split.start > 0)
        if split.start == 0:
            yield next(blocks, b"").removeprefix(utf8.BYTE_ORDER_MARK)
        yield from blocks


def _pieces(stream: InputStream, split: Split) -> Iterator[tuple[bytes, int]]:
    """The bytes of a split, then those behind it, each piece with how far it is from its start
    to the split's end."""
    position = split.start
    if position:
        stream.seek(position)
    end = sys.maxsize if split.whole else split.end
    while data := stream.read(min(READ_BYTES, max(0, end - position)) or READ_ON_BYTES):
        yield data, end - position
        position += len(data)
    split.check_length(position)


def _unpacked_pieces(stream: InputStream, split: Split) -> Iterator[tuple[bytes, int]]:
    from pyrite.io.bzip2 import split_pieces

    return split_pieces(stream, split)


def _complete_lines(pieces: Iterable[tuple[bytes, int]], skipping: bool) -> Iterator[bytes]:
    """Blocks of lines, from the start or after the first line end, up to the split's end."""
    pending: list[bytes] = []
    for chunk, to_end in _chunks(pieces):
        begin = 0
        if skipping:
            begin = _after_line_end(chunk, 0)
            if begin < 0 and len(chunk) < to_end:
                continue
            if begin < 0 or begin > to_end:
                return
            skipping = False
        if to_end < len(chunk):
            stop = _after_line_end(chunk, max(to_end, 0))
            if stop >= 0:
                yield b"".join([*pending, memoryview(chunk)[begin:stop]])
                return
            pending.append(chunk[begin:])
            continue
        stop = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if stop > begin:
            yield b"".join([*pending, memoryview(chunk)[begin:stop]])
            pending = [chunk[stop:]]
        else:
            pending.append(chunk[begin:])
    if any(pending):
        yield b"".join(pending)


def _chunks(pieces: Iterable[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
    """The same bytes; a carriage return closes a chunk at the end of the file only."""
    held = b""
    to_end = 0
    for data, to_end_of_piece in pieces:
        # Whether a line feed follows decides where the line ends.
        chunk = held + data
        to_end = to_end_of_piece + len(held)
        held = b"\r" if data.endswith(b"\r") else b""
        if held:
            chunk = chunk[:-1]
        if chunk:
            yield chunk, to_end
            to_end -= len(chunk)
    if held:
        yield held, to_end


def _after_line_end(chunk: bytes, begin: int) -> int:
    """Where the line after the first line end begins, or -1 if the chunk has no line end."""
    feed = chunk.find(b"\n", begin)
    stop = feed if feed >= 0 else len(chunk)
    carriage = chunk.find(b"\r", begin, stop)
    if carriage < 0:
        return feed + 1 if feed >= 0 else -1
    return carriage + 2 if feed == carriage + 1 else carriage + 1
