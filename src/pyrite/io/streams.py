"""Packed streams that lie one after another in a file, and have to be complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final, Protocol

# So little that what it unpacks to is not much, however well it was packed.
FEED_BYTES: Final = 4 * 1024


class Decompressor(Protocol):
    """What unpacks one stream: zlib's and zstandard's objects are alike."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class StreamsReader:
    """The unpacked bytes of a file of streams."""

    def __init__(self, raw: BinaryIO, make_unpacker: Callable[[], Decompressor]) -> None:
        self._raw = raw
        self._make_unpacker = make_unpacker
        self._unpacker: Decompressor | None = None
        self._ready = b""
        self._given = 0

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, none at the end; all that are left where it is negative."""
        if size < 0:
            return b"".join(iter(lambda: self.read(1 << 20), b""))
        while self._given == len(self._ready):
            if not self._unpack_more():
                return b""
        piece = self._ready[self._given : self._given + size]
        self._given += len(piece)
        return piece

    def close(self) -> None:
        """Nothing to do: whoever opened the file closes it."""

    def _unpack_more(self) -> bool:
        """False where the file ends after a stream; one that ends within a stream is an error."""
        rest = b""
        if self._unpacker is not None and self._unpacker.eof:
            rest = self._unpacker.unused_data
            self._unpacker = None
        data = rest or self._raw.read(FEED_BYTES)
        if not data and self._unpacker is not None:
            raise EOFError("it ends before its packed data does")
        if data:
            self._unpacker = self._unpacker or self._make_unpacker()
            self._ready, self._given = self._unpacker.decompress(data), 0
        return bool(data)
