"""Where a task's process keeps blocks of a ring in memory, if it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class BlockCache(Protocol):
    """Blocks by key, for the running task."""

    def wants(self, key: int) -> bool:
        """Whether the block is the running task's input."""

    def find(self, key: int) -> memoryview | None:
        """The block, if it is in memory."""

    def fill(self, key: int, length: int, read: Callable[[memoryview], None]) -> memoryview | None:
        """Has a block read into memory, if there is room."""

    def keep(self, key: int, data: memoryview) -> None:
        """Leaves a block that was written in the memory of its key's node, if there is room."""

    def lose(self, key: int) -> None:
        """What `find` gave is not the block."""

    def is_checked(self, key: int, chunk: int) -> bool:
        """Whether a chunk was checked already, which it is from now on."""


# Set while a task runs.
current: BlockCache | None = None


def use(cache: BlockCache | None) -> None:
    """Sets the cache of this process."""
    global current
    current = cache
