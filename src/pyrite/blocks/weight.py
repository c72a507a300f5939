"""How much memory values take, and rows that are weighed while they are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from sys import getsizeof
from typing import Any

SAMPLE_ROWS = 16
DEEPEST = 6
_ATOMS = frozenset((str, bytes, int, float, bool, complex, type(None)))

# Rows are taken in steps, and one row of each is weighed. A step is so short that rows of this
# size, where there were only tiny ones before, take no more than the whole may.
_SUDDEN_ROW_BYTES = 256 * 1024
_LONGEST_STEP = 256


class WeighedRows:
    """Rows that are taken many at a time, but few where they are large, or where one raises.

    They are weighed because the process's size says nothing about rows that reuse freed memory,
    and while they are taken because rows of a megabyte may follow thousands of a few bytes.
    """

    def __init__(self, rows: Iterable[Any], most_bytes: int) -> None:
        self.rows: Iterator[Any] = iter(rows)
        self.most_bytes = most_bytes
        self._longest_step = max(1, min(most_bytes // _SUDDEN_ROW_BYTES, _LONGEST_STEP))
        self._step = 1
        self._row_bytes = 1
        self._size = 1
        self._dice = 0

    @property
    def fitting_rows(self) -> int:
        """How many rows like the last ones may be taken at once."""
        return max(1, self.most_bytes // self._row_bytes)

    def take(self, count: int) -> list[Any]:
        """Returns up to `count` rows: fewer where they are large, none at their end."""
        rows, step, longest_step = self.rows, self._step, self._longest_step
        taken: list[Any] = []
        end = 0
        left_bytes = self.most_bytes
        while left_bytes > 0:
            start = end
            try:
                taken.extend(islice(rows, min(count - start, step)))
            except Exception as error:
                if not taken:
                    raise
                # The rows before may raise something by themselves, and come first.
                self.rows = _raising(error)
                return taken
            end = len(taken)
            if start == end:
                break
            # Chosen as if by chance, and remembered for a while: sizes may alternate.
            self._dice = dice = self._dice * 1103515245 + 12345 & 0x7FFFFFFF
            size = deep_size(taken[start + (dice >> 8) % (end - start)])
            self._size = size = max(size, self._size * 7 // 8)
            left_bytes -= size * (end - start)
            step = max(1, min(2 * step, longest_step, left_bytes // size))
        self._step = step
        if taken:
            self._row_bytes = max(1, (self.most_bytes - left_bytes) // end)
        return taken

    def chunks(self, most_rows: int) -> Iterator[list[Any]]:
        """Returns all rows, up to so many at a time."""
        return iter(lambda: self.take(most_rows), [])


def _raising(error: Exception) -> Iterator[Any]:
    raise error
    yield


def estimate_bytes(rows: list[Any]) -> int:
    """Estimates the rows' memory from a sample."""
    count = len(rows)
    if count == 0:
        return 0
    step = max(1, count // SAMPLE_ROWS)
    sample = rows[::step]
    return 8 * count + sum(map(deep_size, sample)) * count // len(sample)


def deep_size(value: Any, depth: int = 0) -> int:
    """Returns the size of a value and of what it holds, to some depth."""
    size = getsizeof(value, 64)
    kind = type(value)
    if kind in _ATOMS or depth == DEEPEST:
        return size
    if kind is dict:
        return size + sampled(value.keys(), depth) + sampled(value.values(), depth)
    if kind in (tuple, list, set, frozenset) or isinstance(value, tuple):
        return size + sampled(value, depth)
    # sys.getsizeof ignores a buffer that an array does not own, such as a block.
    buffered = getattr(value, "nbytes", 0)
    if isinstance(buffered, int):
        size = max(size, buffered)
    attributes = getattr(value, "__dict__", None)
    return size + (deep_size(attributes, depth + 1) if isinstance(attributes, dict) else 0)


def sampled(values: Iterable[Any], depth: int) -> int:
    count = len(values)  # type: ignore[arg-type]
    if count <= SAMPLE_ROWS:
        if _ATOMS.issuperset(map(type, values)):
            return sum(map(getsizeof, values))
        return sum(deep_size(each, depth + 1) for each in values)
    sample = islice(values, SAMPLE_ROWS)
    return sum(deep_size(each, depth + 1) for each in sample) * count // SAMPLE_ROWS
