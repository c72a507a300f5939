"""Splits of bzip2 files, whose blocks can be unpacked one by one.

A block begins with a mark of 48 bits, at any bit of the file, and ends where the next mark begins:
that of another block, or that of a stream's end. As with Hadoop a split has the blocks whose marks
begin in it, by the byte with the first bit; the first block of the file is always the first
split's.
"""

from __future__ import annotations

import sys
from bz2 import BZ2Decompressor
from collections.abc import Iterator
from typing import Final, NamedTuple

from pyrite.io.codecs import InputStream
from pyrite.io.errors import CorruptInput
from pyrite.io.filesystem import display
from pyrite.io.splits import Split

READ_BYTES: Final = 64 * 1024
FETCH_BYTES: Final = 256 * 1024
# The header of streams with the largest blocks, with which all others can be unpacked too.
HEADER: Final = b"BZh9"
BLOCK: Final = 0x314159265359
STREAM_END: Final = 0x177245385090
MARK_BITS: Final = 48
CHECKSUM_BITS: Final = 32
# More than any block has: 900,000 bytes are packed into one at most.
MOST_BLOCK_BITS: Final = 8 * 1_200_000


class Mark(NamedTuple):
    """The first bit of a block, or of a stream's end, from the start of the file."""

    bit: int
    is_block: bool

    @property
    def byte(self) -> int:
        return self.bit // 8


def split_pieces(stream: InputStream, split: Split) -> Iterator[tuple[bytes, int]]:
    """The unpacked bytes of a split, then those behind it, each piece with how far it is from its
    start to the split's end; that is out of sight until it is reached."""
    blocks = _Blocks(stream, split)
    mark = blocks.first()
    while mark is not None and (mark.byte < split.end or mark.bit == 8 * len(HEADER)):
        for piece in blocks.unpack(mark):
            yield piece, sys.maxsize
        mark = blocks.after
    if not blocks.was_read:
        return
    behind = 0
    while mark is not None:
        for piece in blocks.unpack(mark):
            yield piece, -behind
            behind += len(piece)
        mark = blocks.after


class _Blocks:
    """The blocks of a file from some split on."""

    def __init__(self, stream: InputStream, split: Split) -> None:
        self._split = split
        # The others leave the first block, whose mark follows the header, to the first split.
        start = split.start and max(split.start, len(HEADER) + 1)
        self._window = _Window(stream, start, split)
        self.after: Mark | None = None
        """The block behind the one that was unpacked last."""
        self.was_read = False

    def first(self) -> Mark | None:
        if self._split.start == 0 and not self._window.starts_with(HEADER[:3]):
            raise self._corrupt(0, "it does not begin as such a file")
        return self._window.find_block(8 * self._window.start)

    def unpack(self, mark: Mark) -> Iterator[bytes]:
        """The bytes of one block, checked at its end."""
        self.was_read = True
        unpacker, piece, end = self._begin(mark)
        yield piece
        while not unpacker.eof:
            try:
                piece = unpacker.decompress(b"", READ_BYTES)
            except OSError as error:
                raise self._corrupt(mark.byte, str(error)) from error
            yield piece
        self.after = end if end.is_block else self._window.find_block(end.bit + MARK_BITS)
        self._window.forget_before(end.byte)

    def _begin(self, mark: Mark) -> tuple[BZ2Decompressor, bytes, Mark]:
        """The first bytes of a block, and the mark behind it."""
        end = self._window.find(mark.bit + MARK_BITS)
        while end is not None and end.bit - mark.bit <= MOST_BLOCK_BITS:
            unpacker = BZ2Decompressor()
            try:
                piece = unpacker.decompress(self._alone(mark.bit, end.bit), READ_BYTES)
            except OSError:
                piece = b""
            if piece:
                return unpacker, piece, end
            # Packed bytes that look like a mark: the block goes on behind them.
            end = self._window.find(end.bit + 1)
        reason = "it ends within a block" if end is None else "a block is damaged"
        raise self._corrupt(mark.byte, reason)

    def _alone(self, first_bit: int, end_bit: int) -> bytes:
        """A block as a file of its own."""
        bits = end_bit - first_bit
        block = self._window.number(first_bit, end_bit)
        # Of one block alone, the checksum of the stream is that of the block.
        checksum = (block >> (bits - MARK_BITS - CHECKSUM_BITS)) & ones(CHECKSUM_BITS)
        whole = (((block << MARK_BITS) | STREAM_END) << CHECKSUM_BITS) | checksum
        bits += MARK_BITS + CHECKSUM_BITS
        padding = -bits % 8
        return HEADER + (whole << padding).to_bytes((bits + padding) // 8, "big")

    def _corrupt(self, byte: int, reason: str) -> CorruptInput:
        path = self._split.path
        return CorruptInput(
            f"{display(path)} can't be decompressed from byte {byte} on: {reason}", path
        )


def ones(bits: int) -> int:
    return (1 << bits) - 1


class _Needle(NamedTuple):
    """A mark at one of the eight bits of a byte, and the five whole bytes that it fills then."""

    is_block: bool
    shift: int
    filled: bytes
    lead: int


def _needles(mark: int, is_block: bool) -> list[_Needle]:
    return [
        _Needle(is_block, shift, (mark << (8 - shift)).to_bytes(7, "big")[lead : lead + 5], lead)
        for shift in range(8)
        for lead in [min(shift, 1)]
    ]


_BLOCK_NEEDLES: Final = _needles(BLOCK, is_block=True)
_NEEDLES: Final = _BLOCK_NEEDLES + _needles(STREAM_END, is_block=False)


class _Window:
    """A stretch of the file that is in memory, and the search for marks in it."""

    def __init__(self, stream: InputStream, start: int, split: Split) -> None:
        self.start = start
        self._stream = stream
        self._split = split
        self._data = b""
        stream.seek(start)

    def starts_with(self, text: bytes) -> bool:
        self._fetch()
        return self._data.startswith(text)

    def find_block(self, bit: int) -> Mark | None:
        """The first mark of a block, from this bit on; what lies before it is of no use then."""
        self.forget_before(bit // 8)
        return self._find(bit, _BLOCK_NEEDLES, forgets=True)

    def find(self, bit: int) -> Mark | None:
        """The first mark of either kind, from this bit on."""
        return self._find(bit, _NEEDLES)

    def number(self, first_bit: int, end_bit: int) -> int:
        """Bits of the file as a number."""
        first, end = first_bit // 8 - self.start, -(-end_bit // 8) - self.start
        number = int.from_bytes(self._data[first:end], "big") >> (-end_bit % 8)
        return number & ones(end_bit - first_bit)

    def forget_before(self, byte: int) -> None:
        kept = max(0, byte - self.start)
        self._data = self._data[kept:]
        self.start += kept

    def _find(self, bit: int, needles: list[_Needle], forgets: bool = False) -> Mark | None:
        while not (found := self._look(bit, needles)):
            # A mark that is only partly there is looked for again.
            bit = max(bit, 8 * (self.start + len(self._data) - 6))
            if forgets:
                self.forget_before(bit // 8)
            if not self._fetch():
                return None
        return found

    def _look(self, bit: int, needles: list[_Needle]) -> Mark | None:
        found: list[Mark] = []
        end = len(self._data)
        for needle in needles:
            at = self._look_for(needle, bit - 8 * self.start, end)
            if at is not None:
                found.append(Mark(8 * self.start + at, needle.is_block))
                # Only an earlier one is of interest.
                end = min(end, at // 8 + 8)
        return min(found, default=None)

    def _look_for(self, needle: _Needle, bit: int, end: int) -> int | None:
        mark = BLOCK if needle.is_block else STREAM_END
        filled = self._data.find(needle.filled, max(0, bit // 8 + needle.lead), end)
        while filled >= 0:
            at = 8 * (filled - needle.lead) + needle.shift
            whole = self._data[at // 8 : at // 8 + 7].ljust(7, b"\0")
            is_mark = (int.from_bytes(whole, "big") >> (8 - needle.shift)) & ones(MARK_BITS) == mark
            if is_mark and bit <= at <= 8 * len(self._data) - MARK_BITS:
                return at
            filled = self._data.find(needle.filled, filled + 1, end)
        return None

    def _fetch(self) -> bool:
        data = self._stream.read(FETCH_BYTES)
        self._data += data
        if not data:
            self._split.check_length(self.start + len(self._data))
        return bool(data)
