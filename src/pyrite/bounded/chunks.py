"""Splits a task's rows into chunks: of many rows, but of few where they are large."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pyrite.bounded.space import Space

_FASTEST_GROWTH = 8


class Chunks:
    """A task's rows, in chunks that are small compared to its memory limit.

    Sizes are estimated from a few rows: the process's memory says nothing about rows that reuse
    freed memory.
    """

    def __init__(self, rows: Iterator[Any], space: Space) -> None:
        self.rows = rows
        self.space = space
        self.fitting_rows = 1
        """How many rows like the last ones are small compared to the limit."""

    def __iter__(self) -> Iterator[list[Any]]:
        while chunk := self._take(self._most_rows()):
            while missing := max(0, self._most_rows() - len(chunk)):
                more = self._take(min(missing, _FASTEST_GROWTH * len(chunk)))
                if not more:
                    break
                chunk += more
            yield chunk

    def _most_rows(self) -> int:
        return min(self.fitting_rows, self.space.chunk_rows)

    def _take(self, count: int) -> list[Any]:
        some = list(islice(self.rows, count))
        if some:
            fitting = self.space.fitting_rows
            self.fitting_rows = min(fitting(some[0]), fitting(some[-1]))
        return some
