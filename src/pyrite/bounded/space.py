"""The memory limit and the scratch folder of one task."""

import gc
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from pyrite.blocks.live import deep_size

_MEBIBYTE = 1 << 20
MOST_ROWS_PER_STRIDE = 8192
_MOST_ROWS_PER_BATCH = 4096
# A sort merges up to 64 batches at once: together they should take an eighth of the limit.
_BATCHES_PER_LIMIT = 512
_CHUNKS_PER_LIMIT = 8
# Number of pieces per batch, so that a piece is as large as `piece_values` makes a row.
PIECES_PER_BATCH = MOST_ROWS_PER_STRIDE * _CHUNKS_PER_LIMIT // _BATCHES_PER_LIMIT


class _Statm:
    """The kernel's count of this process's pages, read from a file that stays open."""

    def __init__(self) -> None:
        self._fd = -1
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        os.register_at_fork(after_in_child=self._forget)

    def private_bytes(self) -> int:
        if self._fd < 0:
            self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        fields = os.pread(self._fd, 256, 0).split()
        return (int(fields[1]) - int(fields[2])) * self._page_bytes

    def _forget(self) -> None:
        # The inherited file still counts the parent's pages.
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@cache
def _statm() -> _Statm | None:
    return _Statm() if os.path.exists("/proc/self/statm") else None


def private_bytes() -> int:
    """Returns the bytes of memory private to this process, without shared memory and files."""
    statm = _statm()
    if statm is not None:
        return statm.private_bytes()
    import resource
    import sys

    # Without /proc only the peak is known; it never falls, so the limit rises with each spill.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


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
        """How many rows to read before calling `over` again."""
        self._make_room = make_room
        self._measure = measure
        self._least_growth_bytes = max(limit_bytes // 16, _MEBIBYTE)
        self._paths: list[str] = []
        self._level = measure()
        if self._level > limit_bytes:
            # Memory freed by earlier tasks counts until it is returned to the system.
            self._level = self._trimmed_level()
        self._threshold = self._threshold_above(self._level)

    def fitting_rows(self, row: Any) -> int:
        """Returns how many rows like this one are small compared to the limit."""
        return max(1, self.limit_bytes // _CHUNKS_PER_LIMIT // deep_size(row))

    def has_room(self, size_bytes: int) -> bool:
        """Whether the task may hold this much more than at its last call of `over`."""
        return self._level + size_bytes <= self._threshold

    def piece_values(self, value: Any) -> int:
        """Returns how many values like this one make a row so small that a stride of such rows is
        small compared to the limit: strides count rows, not bytes."""
        return max(1, self.fitting_rows(value) // MOST_ROWS_PER_STRIDE)

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
        while level > self._threshold and self._make_room():
            # Kept partitions were evicted for this task: it need not spill yet.
            self._level = level = self._trimmed_level()
        return level > self._threshold

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
        while self._paths:
            try:
                os.unlink(self._paths.pop())
            except FileNotFoundError:
                continue

    def _threshold_above(self, level: int) -> int:
        return max(self.limit_bytes, level + self._least_growth_bytes)

    def _trimmed_level(self) -> int:
        _return_freed_memory()
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


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    import ctypes

    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None  # not glibc
    return trim


def _return_freed_memory() -> None:
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
