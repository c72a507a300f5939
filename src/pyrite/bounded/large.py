"""Rows that are too large to be held in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyrite.blocks.codec import Buffer
from pyrite.blocks.live import deep_size
from pyrite.bounded.space import Space
from pyrite.errors import UserError
from pyrite.memory import bytes_text

# What memory that runs out can raise: where CPython finds none for the frame of a call, it fails
# without setting an exception, and a SystemError says so.
OUT_OF_MEMORY = (MemoryError, SystemError)
# A row that takes less than this part of the limit is not to blame.
_LARGE_PART = 4
_MOST_SHOWN = 80


class RowTooLarge(UserError, MemoryError):
    """One row needs more memory than a task has."""


def too_large_row(rows: Iterable[Any], space: Space) -> RowTooLarge | None:
    """The row for which memory ran out, if one of these takes a good part of it."""
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
    """The rows as frames; an error that names the row if memory runs out for one."""
    try:
        return encode(rows)
    except RowTooLarge:
        raise
    except OUT_OF_MEMORY as error:
        raise too_large_row(rows, space) or error from None


def shown(key: Any) -> str:
    """A key as an error shows it."""
    text = repr(key)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
