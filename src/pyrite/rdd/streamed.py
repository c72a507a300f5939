"""Results that are rows: they are sent batch by batch, and need not fit in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Streamed(NamedTuple):
    """What a task returns where its result is a sequence of rows."""

    rows: Iterable[Any]
