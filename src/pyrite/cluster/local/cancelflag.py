"""Which attempt to cancel: a word in shared memory that a signal tells the executor to read."""

from __future__ import annotations

import mmap
import os
import struct

from pyrite.blocks.segments import Folders

WORD = struct.Struct("<q")


class CancelFlag:
    """One number per executor, written by the driver and read in the signal's handler."""

    def __init__(self, folders: Folders, executor: int) -> None:
        path = os.path.join(folders.memory, f"cancel-{executor}")
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(fd, mmap.PAGESIZE)
            self.map = mmap.mmap(fd, mmap.PAGESIZE)
        finally:
            os.close(fd)
        self.path = path

    def set(self, attempt: int) -> None:
        WORD.pack_into(self.map, 0, attempt + 1)

    def get(self) -> int:
        """The attempt to cancel; -1 where there is none."""
        return int(WORD.unpack_from(self.map, 0)[0]) - 1
