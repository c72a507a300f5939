"""The attempt to cancel: a number in shared memory; a signal makes the executor read it."""

from __future__ import annotations

import mmap
import os
import struct

from pyrite.blocks.segments import Folders

WORD = struct.Struct("<q")


class CancelFlag:
    """One number per executor: the driver writes it, the signal handler reads it."""

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
        """The attempt to cancel; -1 if there is none."""
        return int(WORD.unpack_from(self.map, 0)[0]) - 1
