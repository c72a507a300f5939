"""How much memory this process has."""

import os
import resource
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple


class Pages(NamedTuple):
    """Bytes that are private to a process: those in memory, and all that RLIMIT_DATA counts."""

    private_bytes: int
    data_bytes: int


class _Statm:
    """The kernel's count of this process's pages, read from a file that stays open."""

    def __init__(self) -> None:
        self._fd = -1
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        os.register_at_fork(after_in_child=self._forget)

    def read(self) -> Pages:
        if self._fd < 0:
            self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        _, resident, shared, _, _, data, _ = os.pread(self._fd, 256, 0).split()
        page_bytes = self._page_bytes
        return Pages((int(resident) - int(shared)) * page_bytes, int(data) * page_bytes)

    def _forget(self) -> None:
        # The inherited file still counts the parent's pages.
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@cache
def _statm() -> _Statm | None:
    return _Statm() if os.path.exists("/proc/self/statm") else None


def read_pages() -> Pages:
    """Returns the memory of this process, without shared memory and files."""
    statm = _statm()
    if statm is not None:
        return statm.read()
    # Without /proc only the peak is known; it never falls, so the limit rises with each spill.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Pages(peak if sys.platform == "darwin" else peak * 1024, 0)


def private_bytes() -> int:
    return read_pages().private_bytes


class DataLimit:
    """How near the process is to RLIMIT_DATA, beyond which allocation fails.

    Pages that were never touched, such as those of `bytes(1 << 20)` or of a library's threads, take
    no memory, but count here. What is freed may stay with the process and is used again, so each
    time that the task has freed memory, half of what is left may be taken before it is near again.
    """

    def __init__(self, reserved_bytes: int) -> None:
        most_bytes, _ = resource.getrlimit(resource.RLIMIT_DATA)
        self._most_bytes = sys.maxsize if most_bytes == resource.RLIM_INFINITY else most_bytes
        # The user's own limit may be far below the task's.
        self._near_bytes = self._most_bytes - min(reserved_bytes, self._most_bytes // 4)

    def is_near(self) -> bool:
        return self._most_bytes != sys.maxsize and read_pages().data_bytes > self._near_bytes

    def relieved(self) -> None:
        """Is called when memory was freed."""
        if self.is_near():
            self._near_bytes = (read_pages().data_bytes + self._most_bytes) // 2


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    import ctypes

    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None  # not glibc
    return trim


def return_freed_memory() -> None:
    """Returns memory that Python has freed to the system."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
