"""Rows that are too large for memory, and errors that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyrite.blocks.codec import Buffer
from pyrite.blocks.weight import deep_size
from pyrite.bounded.space import Space
from pyrite.errors import UserError
from pyrite.memory import bytes_text

# The errors of exhausted memory: where CPython has none for the frame of a call, it fails without
# setting an exception, which raises a SystemError.
OUT_OF_MEMORY = (MemoryError, SystemError)
# A row that takes less than one in this many of the limit is not the cause.
_LARGE_PART = 4
_MOST_SHOWN = 80


class RowTooLarge(UserError, MemoryError):
    """One row needs more memory than a task has."""


def too_large_row(rows: Iterable[Any], space: Space) -> RowTooLarge | None:
    """Returns an error about the largest row, if that takes a large share of the limit."""
    sized = ((deep_size(row), row) for row in rows)
    size_bytes, row = max(sized, key=lambda each: each[0], default=(0, None))
    if size_bytes * _LARGE_PART < space.limit_bytes:
        return None
    name = f"the row of key {shown(row[0])}" if type(row) is tuple and row else "one row"
    return RowTooLarge(
        f"{name} takes about {bytes_text(size_bytes)} by itself, and there is no memory left to "
        "make or to send it: make it smaller, or raise spark.executor.memory. Only the groups of "
        "groupByKey and cogroup may be larger than memory"
    )


def encode_rows(
    encode: Callable[[list[Any]], list[Buffer]], rows: list[Any], space: Space
) -> list[Buffer]:
    """Encodes rows as frames; if memory runs out, raises an error that names the row."""
    try:
        return encode(rows)
    except RowTooLarge:
        raise
    except OUT_OF_MEMORY as error:
        raise too_large_row(rows, space) or error from None


def shown(key: Any) -> str:
    """Returns a key as text for errors."""
    text = repr(key)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
