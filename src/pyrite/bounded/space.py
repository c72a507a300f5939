"""The memory limit and the scratch folder of one task."""

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyrite.blocks.weight import WeighedRows, deep_size
from pyrite.bounded.processmemory import DataLimit, private_bytes, return_freed_memory

_MEBIBYTE = 1 << 20
MOST_ROWS_PER_STRIDE = 8192
_MOST_ROWS_PER_BATCH = 4096
# A sort merges up to 64 batches at once: together they should take an eighth of the limit.
_BATCHES_PER_LIMIT = 512
_CHUNKS_PER_LIMIT = 16
_STRIDES_PER_LIMIT = 8
# The share of the limit that should stay free below RLIMIT_DATA, for rows being encoded.
_RESERVED_PART = 4
# Number of pieces per batch, so that a piece is as large as `piece_values` makes a row.
PIECES_PER_BATCH = MOST_ROWS_PER_STRIDE * _STRIDES_PER_LIMIT // _BATCHES_PER_LIMIT


class Space:
    """The bounds of one task: when it has to move rows to disk, and where to.

    Python may keep freed memory, so after a spill the limit is counted from what remains: a task
    spills again only after growing by a sixteenth of its limit.
    """

    # The most rows that a task takes at a time, and that wait to be encoded: large batches are
    # encoded and decoded faster.
    chunk_rows = 4096
    waiting_rows = 200_000

    def __init__(
        self,
        limit_bytes: int,
        folder: str,
        make_room: Callable[[], bool] = lambda: False,
        measure: Callable[[], int] = private_bytes,
    ) -> None:
        self.limit_bytes = limit_bytes
        self.folder = folder
        self.spilled_bytes = 0
        self.stride_rows = 1
        """The most rows to take before calling `over` again."""
        # What can free memory for whoever needs it: map outputs being written, then kept rows.
        self._relievers: list[Callable[[], bool]] = [make_room]
        self._measure = measure
        self._data_limit = DataLimit(limit_bytes // _RESERVED_PART)
        self._least_growth_bytes = max(limit_bytes // 16, _MEBIBYTE)
        # What was taken since the last look at the process's memory.
        self._taken_rows = self._taken_bytes = 0
        self._paths: list[str] = []
        self._level = measure()
        if self._level > limit_bytes:
            # Memory freed by earlier tasks counts until it is returned to the system.
            self._level = self._trimmed_level()
        self._threshold = self._threshold_above(self._level)

    @property
    def chunk_bytes(self) -> int:
        """How many bytes are small compared to the limit."""
        return self.limit_bytes // _CHUNKS_PER_LIMIT

    def weighed(self, rows: Iterable[Any]) -> WeighedRows:
        """Returns the rows, to be taken in chunks that are small compared to the limit."""
        return WeighedRows(rows, self.chunk_bytes)

    def has_room(self, size_bytes: int) -> bool:
        """Whether the task may hold this much more than at its last call of `over`."""
        return self._level + size_bytes <= self._threshold

    def piece_values(self, value: Any) -> int:
        """Returns how many values like this one make a row so small that a stride of such rows is
        small compared to the limit: strides count rows, not bytes."""
        stride_bytes = self.limit_bytes // _STRIDES_PER_LIMIT
        return max(1, stride_bytes // deep_size(value) // MOST_ROWS_PER_STRIDE)

    def over(self) -> bool:
        """Whether the task exceeds its limit now."""
        level = self._measure()
        growth = level - self._level
        self._level = level
        # Large rows need more frequent checks: a stride should take a small part of what is left.
        if growth * 8 > self._threshold - level:
            self.stride_rows = max(1, self.stride_rows // 2)
        elif self.stride_rows < MOST_ROWS_PER_STRIDE:
            self.stride_rows *= 2
        if self._is_over() and gc.collect(0):
            # Cycles that nobody had looked for yet took memory.
            self._level = self._trimmed_level()
        while (is_over := self._is_over()) and self._relieve():
            # Others gave memory up for the caller: it need not spill yet.
            self._level = self._trimmed_level()
        return is_over

    def pieces(self, batch: list[Any]) -> Iterator[list[Any]]:
        """Splits a batch where it has more rows than should be taken before the next look."""
        start = 0
        while start < len(batch):
            end = start + self.stride_rows
            yield batch[start:end] if start or end < len(batch) else batch
            start = end

    def over_after(self, rows: list[Any]) -> bool:
        """Whether the task exceeds its limit after it has taken these rows; looks only when they
        and those before them are many or large."""
        if not rows:
            return False
        self._taken_rows += len(rows)
        self._taken_bytes += deep_size(rows[self._taken_rows % len(rows)]) * len(rows)
        if self._taken_rows < self.stride_rows and self._taken_bytes < self.chunk_bytes:
            return False
        self._taken_rows = self._taken_bytes = 0
        return self.over()

    def _is_over(self) -> bool:
        return self._level > self._threshold or self._data_limit.is_near()

    def relieve_by(self, reliever: Callable[[], bool]) -> None:
        """Has this called when the task is over its limit; it returns whether it freed memory.

        What a task has written costs less to move to disk than the tables of an operator before
        it, which would be read again.
        """
        self._relievers.insert(0, reliever)

    def _relieve(self) -> bool:
        return any(relieve() for relieve in self._relievers)

    def exhausted(self) -> bool:
        """Whether the task, at its last check, was so far over its limit that allocation may soon
        fail."""
        return self._level * 8 > self.limit_bytes * 11

    def relieved(self) -> None:
        """Resets the threshold after a task has moved its rows to disk."""
        level = self._trimmed_level()
        if level + self._least_growth_bytes > self.limit_bytes:
            gc.collect()
            level = self._trimmed_level()
        self._level = level
        self._threshold = self._threshold_above(level)

    def given_on(self) -> None:
        """Resets the threshold after a task has given its rows on: what they took may stay with
        the process, and is used again by the next ones."""
        self._level = level = self._measure()
        # Rows may have been given to an operator that holds them: the limit rises little.
        highest = max(self._threshold, self.limit_bytes + 2 * self._least_growth_bytes)
        self._threshold = min(self._threshold_above(level), highest)

    def batch_rows(self, held_rows: int) -> int:
        """Returns how many of the rows held make a batch that is small compared to the limit."""
        batch_bytes = min(max(self.limit_bytes // _BATCHES_PER_LIMIT, 64 * 1024), 4 * _MEBIBYTE)
        rows = held_rows * batch_bytes // max(self._level, 1)
        return max(1, min(rows, _MOST_ROWS_PER_BATCH))

    def spill_path(self) -> str:
        """Returns a new file name in the scratch folder, which `close` removes."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        path = os.path.join(self.folder, f"{_spill_prefix(os.getpid())}{os.urandom(8).hex()}")
        self._paths.append(path)
        return path

    def close(self) -> None:
        """Removes all spill files; open readers can still read theirs."""
        # They refer to this space: what they hold would wait for the garbage collector.
        self._relievers.clear()
        while self._paths:
            try:
                os.unlink(self._paths.pop())
            except FileNotFoundError:
                continue

    def _threshold_above(self, level: int) -> int:
        return max(self.limit_bytes, level + self._least_growth_bytes)

    def _trimmed_level(self) -> int:
        return_freed_memory()
        self._data_limit.relieved()
        return self._measure()


def _spill_prefix(pid: int) -> str:
    return f"spill-{pid}-"


def remove_spills(folder: str, pid: int | None) -> None:
    """Removes the spill files of a killed process."""
    if pid is None:
        return
    prefix = _spill_prefix(pid)
    for name in os.listdir(folder):
        if name.startswith(prefix):
            os.unlink(os.path.join(folder, name))
