"""Whole files as one row each: wholeTextFiles and binaryFiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from pyrite.io import utf8
from pyrite.io.codecs import InputStream
from pyrite.io.filesystem import display
from pyrite.io.splits import Split
from pyrite.metrics import COUNTS

NamedText: TypeAlias = tuple[str, str] | tuple[bytes, bytes]


def read_text(split: Split, use_unicode: bool = True) -> Iterator[NamedText]:
    """The name of a file and its text, unpacked; both as bytes if not unicode."""
    name = display(split.path)
    content = _read(split, decompress=True)
    if use_unicode:
        yield name, utf8.decode(content)
    else:
        yield name.encode(), utf8.repair(content)


def read_binary(split: Split) -> Iterator[tuple[str, bytes]]:
    """The name of a file and its bytes as they lie there, packed or not."""
    yield display(split.path), _read(split, decompress=False)


def _read(split: Split, *, decompress: bool) -> bytes:
    COUNTS.rows_read += 1
    with InputStream(split.path, decompress=decompress) as stream:
        return stream.read()
