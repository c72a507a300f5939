"""Warm buffers: memory that blocks are received into, reused once no view of it is left.

The first write to a new buffer takes a page fault per page, several times the cost of the copy.
"""

from __future__ import annotations

import mmap
import sys
from collections import deque

# The allocator itself keeps the memory of smaller buffers warm.
SMALL_BYTES = 64 << 10
HUGE_PAGE_BYTES = 2 << 20
KEPT_BYTES = 64 << 20
# How many buffers of a size are checked before a new one is made.
LOOKS = 8


class WarmBuffers:
    """Hands out writable views of recycled memory. Not thread-safe."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self.kept_bytes = kept_bytes
        self.known_bytes = 0
        self.shelves: dict[int, deque[mmap.mmap]] = {}
        self.idle_count = self._count_idle()

    def take(self, length: int) -> memoryview:
        """Returns a view of unused memory, with arbitrary content."""
        if length < SMALL_BYTES:
            return memoryview(bytearray(length))
        size = rounded(length)
        shelf = self.shelves.pop(size, None)
        if shelf is None:
            shelf = deque()
        # Sizes are kept in the order of their last use; the oldest is given up first.
        self.shelves[size] = shelf
        if not self._find_idle(shelf):
            self._make(shelf, size)
        return memoryview(shelf[-1])[:length]

    def _find_idle(self, shelf: deque[mmap.mmap]) -> bool:
        """Looks for a buffer without views; leaves it at the end of the shelf."""
        for _ in range(min(len(shelf), LOOKS)):
            shelf.rotate(-1)
            # Each view, slice or array over a buffer holds a reference to it.
            if sys.getrefcount(shelf[-1]) == self.idle_count:
                return True
        return False

    def _make(self, shelf: deque[mmap.mmap], size: int) -> None:
        self._give_up(size)
        try:
            buffer = self._mapped(shelf, size)
        except OSError:
            # Readers would take an OSError for a lost block.
            raise MemoryError(
                f"no memory to receive a block of {size} bytes: use more partitions, "
                f"or raise spark.executor.memory"
            ) from None
        shelf.append(buffer)
        self.known_bytes += size

    def _mapped(self, shelf: deque[mmap.mmap], size: int) -> mmap.mmap:
        try:
            return mapped(size)
        except OSError:
            # The process's limit counts all mapped memory: idle buffers of other sizes, and memory
            # that was freed but not returned to the system. Shared memory does not count, so a
            # buffer that is small enough to be kept is made there; a larger one must fit.
            self.clear()
            shelf.clear()
            self.shelves[size] = shelf
            return shared(size) if size <= self.kept_bytes else mapped(size)

    def _give_up(self, size: int) -> None:
        """Forgets the least recently used buffers; those with views live as long as the views."""
        for other in list(self.shelves):
            shelf = self.shelves[other]
            while shelf and self.known_bytes + size > self.kept_bytes:
                shelf.popleft()
                self.known_bytes -= other
            if not shelf and other != size:
                del self.shelves[other]

    def clear(self) -> None:
        """Releases all buffers without views."""
        self.shelves.clear()
        self.known_bytes = 0

    @staticmethod
    def _count_idle() -> int:
        """This interpreter's reference count of a buffer that only its shelf holds."""
        shelf = deque([mmap.mmap(-1, mmap.PAGESIZE)])
        return sys.getrefcount(shelf[-1])


def mapped(size: int) -> mmap.mmap:
    """Maps new memory; private, so that a forked child writes into its own copy."""
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size >= HUGE_PAGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        buffer.madvise(mmap.MADV_HUGEPAGE)
    return buffer


def shared(size: int) -> mmap.mmap:
    """Maps new memory that no limit of this process counts; forked children share it."""
    return mmap.mmap(-1, size)


def rounded(length: int) -> int:
    """Rounds the length up to whole pages, by at most an eighth: few sizes, little waste."""
    step = max(mmap.PAGESIZE, 1 << max(0, length.bit_length() - 4))
    return -(-length // step) * step
