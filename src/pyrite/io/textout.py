"""Rows as lines of text: saveAsTextFile."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from pyrite.io import utf8
from pyrite.io.codecs import Codec, output_stream
from pyrite.metrics import COUNTS


def write_lines(path: str, rows: Iterable[Any], codec: Codec | None = None) -> None:
    """Write one line per row: text and bytes as UTF-8, anything else as `str` shows it."""
    from pyrite.blocks.codec import FIRST_ROWS, fitting_rows

    iterator = iter(rows)
    count = FIRST_ROWS
    with output_stream(path, codec) as output:
        while batch := list(islice(iterator, count)):
            COUNTS.rows_written += len(batch)
            lines = encode_lines(batch)
            output.write(lines)
            count = fitting_rows(count, len(lines))


def encode_lines(rows: list[Any]) -> bytes:
    """The lines of some rows, each with its line feed."""
    try:
        text = "\n".join(rows)
    except TypeError:
        return b"".join([_encode(row) + b"\n" for row in rows])
    return text.encode() + b"\n"


def _encode(row: Any) -> bytes:
    if isinstance(row, bytes):
        return utf8.repair(row)
    return (row if isinstance(row, str) else str(row)).encode()
