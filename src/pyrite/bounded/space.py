"""The memory and the scratch folder that one task may use."""

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
# Of a batch, as much as `piece_values` makes one row.
PIECES_PER_BATCH = MOST_ROWS_PER_STRIDE * _CHUNKS_PER_LIMIT // _BATCHES_PER_LIMIT


class _Statm:
    """The kernel's count of this process's pages, through a file that is kept open."""

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
        # The inherited file still counts the parent.
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@cache
def _statm() -> _Statm | None:
    return _Statm() if os.path.exists("/proc/self/statm") else None


def private_bytes() -> int:
    """The bytes of memory that this process alone holds, shared memory and files left out."""
    statm = _statm()
    if statm is not None:
        return statm.private_bytes()
    import resource
    import sys

    # Without /proc only the peak is known; it never falls, so the limit rises from spill to spill.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Space:
    """Bounds for one task: when it should move rows to disk, and where to.

    Python may keep freed memory for itself, so after a spill the limit is counted from what is
    left: a task spills again only when it has grown by a sixteenth of its limit.
    """

    # How many rows a task takes in at a time, and lets wait until it encodes them, at most: large
    # batches encode and decode faster.
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
        """How many rows to take in before asking `over` again."""
        self._make_room = make_room
        self._measure = measure
        self._least_growth_bytes = max(limit_bytes // 16, _MEBIBYTE)
        self._paths: list[str] = []
        self._level = measure()
        if self._level > limit_bytes:
            # What the tasks before this one have freed counts until it is returned.
            self._level = self._trimmed_level()
        self._threshold = self._threshold_above(self._level)

    def fitting_rows(self, row: Any) -> int:
        """How many rows like this one are small beside the limit."""
        return max(1, self.limit_bytes // _CHUNKS_PER_LIMIT // deep_size(row))

    def has_room(self, size_bytes: int) -> bool:
        """Whether the task may hold so much more than it did when it was last asked if `over`."""
        return self._level + size_bytes <= self._threshold

    def piece_values(self, value: Any) -> int:
        """How many values like this one make so small a row that a whole stride of such rows is
        small beside the limit: rows are counted, not weighed."""
        return max(1, self.fitting_rows(value) // MOST_ROWS_PER_STRIDE)

    def over(self) -> bool:
        """Whether the task now holds more than it may."""
        level = self._measure()
        growth = level - self._level
        self._level = level
        # Large rows need looking at more often: a stride should take a small part of what is left.
        if growth * 8 > self._threshold - level:
            self.stride_rows = max(1, self.stride_rows // 2)
        elif self.stride_rows < MOST_ROWS_PER_STRIDE:
            self.stride_rows *= 2
        while level > self._threshold and self._make_room():
            # Others gave up memory for this task: it need not go to disk yet.
            self._level = level = self._trimmed_level()
        return level > self._threshold

    def exhausted(self) -> bool:
        """Whether the task held so much, when it last looked, that it will soon get no more."""
        return self._level * 8 > self.limit_bytes * 11

    def relieved(self) -> None:
        """Told by a task that it has just moved its rows to disk."""
        level = self._trimmed_level()
        if level + self._least_growth_bytes > self.limit_bytes:
            gc.collect()
            level = self._trimmed_level()
        self._level = level
        self._threshold = self._threshold_above(level)

    def batch_rows(self, held_rows: int) -> int:
        """How many of the rows held now make a batch that is small beside the limit."""
        batch_bytes = min(max(self.limit_bytes // _BATCHES_PER_LIMIT, 64 * 1024), 4 * _MEBIBYTE)
        rows = held_rows * batch_bytes // max(self._level, 1)
        return max(1, min(rows, _MOST_ROWS_PER_BATCH))

    def spill_path(self) -> str:
        """A new file name in the scratch folder, removed by `close`."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        path = os.path.join(self.folder, f"{_spill_prefix(os.getpid())}{os.urandom(8).hex()}")
        self._paths.append(path)
        return path

    def close(self) -> None:
        """Removes every spill file; who still reads one keeps it until done."""
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
    """Removes what a process that was killed had spilled."""
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
