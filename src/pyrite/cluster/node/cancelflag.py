"""The attempt to cancel: a number in shared memory; a signal makes the executor read it."""

from __future__ import annotations

import mmap
import struct

WORD = struct.Struct("<q")


class CancelFlag:
    """One number per executor: its agent writes it, the signal handler reads it.

    It is made before the fork, and shared by both sides.
    """

    def __init__(self) -> None:
        self.map = mmap.mmap(-1, mmap.PAGESIZE)

    def set(self, attempt: int) -> None:
        WORD.pack_into(self.map, 0, attempt + 1)

    def get(self) -> int:
        """The attempt to cancel; -1 if there is none."""
        return int(WORD.unpack_from(self.map, 0)[0]) - 1
