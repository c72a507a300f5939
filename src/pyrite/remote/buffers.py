"""Warm buffers: memory that blocks are received into, used again once nobody looks into it.

A buffer's first touch takes a page fault for each of its pages, several times what the copy takes.
"""

from __future__ import annotations

import mmap
import sys
from collections import deque

# Smaller ones are warm without our doing: the allocator keeps their memory.
SMALL_BYTES = 64 << 10
HUGE_PAGE_BYTES = 2 << 20
KEPT_BYTES = 64 << 20
# How many buffers of a size are looked at, before a new one is made.
LOOKS = 8


class WarmBuffers:
    """Hands out writable views of recycled memory. Not for several threads."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self.kept_bytes = kept_bytes
        self.known_bytes = 0
        self.shelves: dict[int, deque[mmap.mmap]] = {}
        self.idle_count = self._count_idle()

    def take(self, length: int) -> memoryview:
        """A view of so many bytes that nobody else looks into, with anything in them."""
        if length < SMALL_BYTES:
            return memoryview(bytearray(length))
        size = rounded(length)
        shelf = self.shelves.pop(size, None)
        if shelf is None:
            shelf = deque()
        # The size used last stands last, and is the last to go.
        self.shelves[size] = shelf
        if not self._find_idle(shelf):
            self._make(shelf, size)
        return memoryview(shelf[-1])[:length]

    def _find_idle(self, shelf: deque[mmap.mmap]) -> bool:
        """Puts a buffer that nobody looks into last, if it finds one."""
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
            # An OSError would mean a lost block to who reads it.
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
            # Those of other sizes count as this process's, though nobody looks into them. And so
            # does memory that was freed and not returned: the limit is for what is mapped, not for
            # what is held. Shared memory does not count: one that is no larger than what may be
            # kept is taken there. All others, of which each is as long as its block, must fit.
            self.clear()
            shelf.clear()
            self.shelves[size] = shelf
            return shared(size) if size <= self.kept_bytes else mapped(size)

    def _give_up(self, size: int) -> None:
        """Forgets the buffers used longest ago; who looks into one keeps it until they are done."""
        for other in list(self.shelves):
            shelf = self.shelves[other]
            while shelf and self.known_bytes + size > self.kept_bytes:
                shelf.popleft()
                self.known_bytes -= other
            if not shelf and other != size:
                del self.shelves[other]

    def clear(self) -> None:
        """Gives the memory back, but for what somebody looks into."""
        self.shelves.clear()
        self.known_bytes = 0

    @staticmethod
    def _count_idle() -> int:
        """How many references this interpreter counts for a buffer that only its shelf holds."""
        shelf = deque([mmap.mmap(-1, mmap.PAGESIZE)])
        return sys.getrefcount(shelf[-1])


def mapped(size: int) -> mmap.mmap:
    """New memory; private, so that a forked child writes into its own copy."""
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size >= HUGE_PAGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        buffer.madvise(mmap.MADV_HUGEPAGE)
    return buffer


def shared(size: int) -> mmap.mmap:
    """New memory that no limit of this process counts; who forks shares it."""
    return mmap.mmap(-1, size)


def rounded(length: int) -> int:
    """The length rounded up by at most an eighth, to whole pages: few sizes, little waste."""
    step = max(mmap.PAGESIZE, 1 << max(0, length.bit_length() - 4))
    return -(-length // step) * step
