"""Reads a story: from a file that is complete, still grows, or was cut off."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from pyrite.story.format import (
    ANY_HEADLINE,
    BLOB,
    DICTIONARY,
    HEAD_BYTES,
    HEADER,
    HEADLINE,
    HOW_TO_MAKE,
    RECORDS,
    VERSION,
    BadStory,
    DamagedStory,
    StoryHeader,
    decode_header,
    decode_records,
    read_head,
    split_blob,
)
from pyrite.story.records import Record

# What malformed JSON, columns and compressed bytes raise.
MALFORMED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, zlib.error,
    StopIteration, RuntimeError,
)  # fmt: skip


class StoryFrame(NamedTuple):
    at_byte: int
    kind: bytes
    payload: bytes


class StoryReader:
    """A story file; `records` goes on where it stopped, as the file grows.

    The caller closes it, or uses it in a `with` block.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            self.file: BinaryIO = open(self.path, "rb")  # noqa: SIM115
        except OSError as error:
            raise BadStory(
                f"the story {self.path!r} can't be read: {error.strerror}. To have one, "
                f"{HOW_TO_MAKE}"
            ) from None
        self._at = 0
        # The dictionary that frames of records are compressed with.
        self._words = b""
        self._blobs: dict[int, tuple[int, int]] = {}
        try:
            self.header = self._read_header()
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> StoryReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()

    def records(self) -> Iterator[Record]:
        """The records since the last call, up to the last complete frame.

        Damage raises DamagedStory, after the records before it.
        """
        while (found := self._next_frame()) is not None:
            if found.kind == RECORDS:
                try:
                    yield from decode_records(found.payload, self._words)
                except MALFORMED as error:
                    problem = f"its records make no sense ({error})"
                    raise self._damaged(found.at_byte, problem) from None

    @property
    def rest_bytes(self) -> int:
        """The bytes behind the last complete frame; where nobody writes any more, the file was cut
        off there."""
        return os.fstat(self.file.fileno()).st_size - self._at

    def blob(self, number: int) -> bytes:
        """The bytes that a record refers to by this number; it was read before."""
        if number not in self._blobs:
            raise BadStory(f"{self.path!r} has no blob {number}: it was cut off, or left it out")
        at_byte, length = self._blobs[number]
        self.file.seek(at_byte)
        try:
            return zlib.decompress(split_blob(self.file.read(length))[1])
        except zlib.error as error:
            raise self._damaged(at_byte, str(error)) from None

    def _read_header(self) -> StoryHeader:
        headline = self._read(0, len(HEADLINE) + 16)
        found = ANY_HEADLINE.match(headline)
        if found is None:
            raise BadStory(f"{self.path!r} is no story of Pyrite. To have one, {HOW_TO_MAKE}")
        if int(found[1]) != VERSION:
            raise BadStory(
                f"{self.path!r} is a story of format {int(found[1])}, and Pyrite here reads format "
                f"{VERSION}: read it with the Pyrite that wrote it"
            )
        self._at = found.end()
        first = self._next_frame()
        if first is None:
            raise BadStory(f"{self.path!r} ends before its header: run the program again")
        try:
            if first.kind != HEADER:
                raise ValueError("no header")
            return decode_header(first.payload)
        except MALFORMED as error:
            raise self._damaged(first.at_byte, f"its header makes no sense ({error})") from None

    def _next_frame(self) -> StoryFrame | None:
        """The next frame; None if it is not complete yet."""
        at_byte = self._at
        data = self._read(at_byte, HEAD_BYTES)
        if len(data) < HEAD_BYTES:
            return None
        head = read_head(data)
        if head is None:
            raise self._damaged(at_byte, "no frame begins there")
        payload = self._read(at_byte + HEAD_BYTES, head.length)
        if len(payload) < head.length:
            return None
        if zlib.crc32(payload) != head.checksum:
            raise self._damaged(at_byte, "its checksum is another")
        self._at = at_byte + HEAD_BYTES + head.length
        if head.kind == DICTIONARY:
            try:
                self._words = zlib.decompress(payload)
            except zlib.error as error:
                raise self._damaged(at_byte, str(error)) from None
        if head.kind == BLOB:
            self._blobs[split_blob(payload)[0]] = at_byte + HEAD_BYTES, head.length
        return StoryFrame(at_byte, head.kind, payload)

    def _read(self, at_byte: int, length: int) -> bytes:
        try:
            self.file.seek(at_byte)
            return self.file.read(length)
        except OSError as error:
            raise BadStory(f"{self.path!r} can't be read: {error.strerror}") from None

    def _damaged(self, at_byte: int, problem: str) -> DamagedStory:
        return DamagedStory(self.path, at_byte, problem)
