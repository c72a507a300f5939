"""Rows of numbers and texts packed as words, by a layout such as "(s(ffi))": ints, floats and bools
of 8 bytes in tuples and lists. The word of a text says where its UTF-8 lies in a heap beside the
words: the offset below, the size above.

They can be read without the extension too: a map output may come from a node that has it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

WORD_BYTES = 8
MOST_WORDS = 255
_DEEPEST = 16
_FORMATS = {"i": "q", "f": "d", "b": "q", "s": "Q"}
_HALF = (1 << 32) - 1
_WORD = (1 << 64) - 1
_WIDTHS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class BadLayout(ValueError):
    """A layout that no rows have, or words that are not whole rows of it."""


class PackedRows:
    """Some packed rows."""

    __slots__ = ("heap", "layout", "words")

    def __init__(
        self, layout: str, words: memoryview | bytes, heap: memoryview | bytes = b""
    ) -> None:
        if len(words) % (words_of(layout) * WORD_BYTES):
            raise BadLayout(f"{len(words)} bytes are not whole rows of {layout}")
        self.layout = layout
        self.words = words
        self.heap = heap

    @property
    def has_text(self) -> bool:
        return "s" in self.layout

    def check_texts(self) -> None:
        """Raises BadLayout where a text is none: only what was packed elsewhere can have one."""
        if not self.has_text:
            return
        try:
            native = _native()
            if native is not None:
                native.check_texts(self.layout, self.words, self.heap)
            else:
                _unpacked(self.layout, self.words, self.heap)
        except ValueError as error:
            raise BadLayout(str(error)) from error

    def narrowed(self) -> bytes | None:
        """The words in less room, which `widened` makes whole again; None where that saves
        little."""
        native = _native()
        return None if native is None else native.narrow(self.layout, self.words)

    def part(self, start: int, stop: int) -> PackedRows:
        """The rows from one number up to another."""
        size = words_of(self.layout) * WORD_BYTES
        return PackedRows(self.layout, self.words[start * size : stop * size], self.heap)

    def __len__(self) -> int:
        return len(self.words) // (words_of(self.layout) * WORD_BYTES)

    def rows(self) -> list[Any]:
        """The rows, as Python's objects."""
        native = _native()
        if native is not None:
            rows: list[Any] = native.unpack(self.layout, self.words, self.heap)
            return rows
        return _unpacked(self.layout, self.words, self.heap)


def widened(layout: str, narrowed: memoryview | bytes) -> bytes:
    """The words of rows that were narrowed: their number, the width of each column, its least int,
    and the columns."""
    count = words_of(layout)
    try:
        native = _native()
        if native is not None:
            words: bytes = native.widen(layout, narrowed)
            return words
        return _widened(count, bytes(narrowed))
    except (ValueError, struct.error) as error:
        raise BadLayout(str(error)) from error


def _widened(count: int, narrowed: bytes) -> bytes:
    (rows,) = struct.unpack_from("<Q", narrowed)
    widths = narrowed[8 : 8 + count]
    at = 8 + count + -count % 8
    bases = struct.unpack_from(f"<{count}q", narrowed, at)
    at += 8 * count
    if not set(widths) <= _WIDTHS.keys() or at + rows * sum(widths) != len(narrowed):
        raise ValueError("not the columns of packed rows")
    columns = []
    for width, base in zip(widths, bases, strict=True):
        column = struct.unpack_from(f"<{rows}{_WIDTHS[width]}", narrowed, at)
        columns.append([(value + base) & _WORD for value in column])
        at += rows * width
    words = (word for row in zip(*columns, strict=True) for word in row)
    return struct.pack(f"<{rows * count}Q", *words)


class Undealt(NamedTuple):
    """Rows that stayed with the interpreter, between packed ones."""

    rows: Iterator[Any]


@lru_cache(maxsize=256)
def words_of(layout: str) -> int:
    """How many words a row of this layout has.

    >>> words_of("(i(ff))")
    3
    """
    try:
        end, words = _checked(layout, 0, 0)
    except IndexError:
        end, words = -1, 0
    if end != len(layout) or not 0 < words <= MOST_WORDS:
        raise BadLayout(f"{layout[:40]!r} is not a layout of packed rows")
    return words


def _checked(layout: str, at: int, depth: int) -> tuple[int, int]:
    """Returns the end of the value at a place, and its number of words."""
    opened = layout[at]
    if opened in _FORMATS:
        return at + 1, 1
    if opened not in "([" or depth == _DEEPEST:
        return -1, 0
    closing = ")" if opened == "(" else "]"
    at, words = at + 1, 0
    while layout[at] != closing:
        at, inner = _checked(layout, at, depth + 1)
        if at < 0:
            return -1, 0
        words += inner
    return at + 1, words


def _unpacked(layout: str, words: memoryview | bytes, heap: memoryview | bytes) -> list[Any]:
    kinds = [each for each in layout if each in _FORMATS]
    numbers = struct.Struct("<" + "".join(_FORMATS[each] for each in kinds))
    rows = numbers.iter_unpack(words)
    return [_built(layout, 0, iter(row), memoryview(heap))[0] for row in rows]


def _built(layout: str, at: int, numbers: Any, heap: memoryview) -> tuple[Any, int]:
    opened = layout[at]
    if opened in _FORMATS:
        number = next(numbers)
        if opened == "s":
            return _text(number, heap), at + 1
        return (number != 0 if opened == "b" else number), at + 1
    items = []
    at += 1
    while layout[at] not in ")]":
        item, at = _built(layout, at, numbers, heap)
        items.append(item)
    return (items if opened == "[" else tuple(items)), at + 1


def _text(word: int, heap: memoryview) -> str:
    start, size = word & _HALF, word >> 32
    if start + size > len(heap):
        raise ValueError("a text that lies outside of its heap")
    return str(heap[start : start + size], "utf-8")


@lru_cache(maxsize=1)
def _native() -> Any:
    try:
        from pyrite.machine import _rows
    except ImportError:
        return None
    return _rows
