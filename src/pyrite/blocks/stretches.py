"""Stretches: prefetched segments that share a file, each freed by itself."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from collections.abc import Iterable

from pyrite.blocks.fetched import Stretch
from pyrite.blocks.segments import Folders

_SHARE = os.O_RDWR | os.O_CLOEXEC | os.O_CREAT


def map_stretch(folders: Folders, stretch: Stretch) -> memoryview:
    """Maps a stretch for reading; raises FileNotFoundError where its file is gone."""
    fd = os.open(folders.path(stretch.file, "memory"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        size, offset = stretch.size_bytes, stretch.offset
        return memoryview(mmap.mmap(fd, size, prot=mmap.PROT_READ, offset=offset))
    except ValueError as error:
        raise FileNotFoundError(f"{stretch.file} is shorter than its stretches") from error
    finally:
        os.close(fd)


class Stretches:
    """The stretches that this process has been told of, by the names of their segments.

    A file is removed with the last of its stretches. Who does not know of all of them, like a block
    server that was restarted, removes it only if it takes no memory any more.
    """

    def __init__(self, folders: Folders, knows_all: bool) -> None:
        self.folders = folders
        self.knows_all = knows_all
        self._of: dict[str, Stretch] = {}
        self._count: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, segment: str, stretch: Stretch) -> None:
        with self._lock:
            if segment not in self._of:
                self._of[segment] = stretch
                self._count[stretch.file] = self._count.get(stretch.file, 0) + 1

    def open(self, stretch: Stretch) -> int:
        """Opens a stretch's file, and allocates its memory; raises OSError if there is none."""
        with self._lock:
            fd = os.open(self.folders.path(stretch.file, "memory"), _SHARE, 0o600)
            try:
                # A page that is missing when the map is written would be a signal, not an error.
                os.posix_fallocate(fd, stretch.offset, stretch.size_bytes)
            except OSError:
                os.close(fd)
                raise
            return fd

    def remove(self, segments: Iterable[str]) -> None:
        """Frees the stretches of these segments, as far as they have some."""
        for segment in segments:
            with self._lock:
                stretch = self._of.pop(segment, None)
                if stretch is None:
                    continue
                self._count[stretch.file] -= 1
                if not self._count[stretch.file]:
                    del self._count[stretch.file]
            self.free(stretch)

    def free(self, stretch: Stretch) -> None:
        """Frees a stretch's memory, and removes its file with the last one."""
        path = self.folders.path(stretch.file, "memory")
        with self._lock, contextlib.suppress(FileNotFoundError):
            is_last = stretch.file not in self._count
            if is_last and self.knows_all:
                os.unlink(path)
                return
            left = _punch(path, stretch)
            if is_last and not left:
                os.unlink(path)


def free_behind(fetched: mmap.mmap, used_bytes: int) -> None:
    """Frees the pages of a stretch that nothing was written to."""
    start = -(-used_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
    if start < len(fetched):
        # Some file systems can't.
        with contextlib.suppress(OSError):
            fetched.madvise(mmap.MADV_REMOVE, start, len(fetched) - start)


def _punch(path: str, stretch: Stretch) -> int:
    """Frees a stretch's pages; returns how many blocks the file still takes."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        size = min(stretch.size_bytes, os.fstat(fd).st_size - stretch.offset)
        if size > 0:
            with mmap.mmap(fd, size, offset=stretch.offset) as mapped:
                free_behind(mapped, 0)
        return os.fstat(fd).st_blocks
    finally:
        os.close(fd)
