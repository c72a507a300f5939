"""The page cache: emptied for the files of a folder, and asked what it still holds.

A file that was just written is read from memory, however slow its disk. What is measured as disk
must be evicted first, and it must be seen that it was.
"""

import ctypes
import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.peak import tree_pids

PROBE_BYTES = 128 << 20
CHUNK_BYTES = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


class Evicted(NamedTuple):
    """What was asked to leave the page cache, and what stayed all the same."""

    bytes: int
    resident_bytes: int

    def __add__(self, other: object) -> "Evicted":
        assert isinstance(other, Evicted)
        return Evicted(self.bytes + other.bytes, self.resident_bytes + other.resident_bytes)


class DiskSpeed(NamedTuple):
    """Bytes a second of a sequential read: never read before, evicted and read again, cached."""

    first: float
    again: float
    cached: float


def files_under(folder: str | Path) -> Iterator[Path]:
    """All regular files; those that go while we look are left out."""
    for where, _folders, names in os.walk(folder):
        yield from (Path(where, name) for name in names)


def evict(paths: list[Path]) -> Evicted:
    """Writes the files' pages back and drops them from the page cache."""
    total = Evicted(0, 0)
    for path in paths:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            # A page that is not written yet does not go.
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            total += Evicted(os.fstat(fd).st_size, resident_bytes(fd))
        finally:
            os.close(fd)
    return total


def resident_bytes(fd: int) -> int:
    """How much of a file lies in the page cache."""
    size = os.fstat(fd).st_size
    if not size:
        return 0
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap failed")
    pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
    try:
        if _libc.mincore(address, size, pages):
            raise OSError(ctypes.get_errno(), "mincore failed")
    finally:
        _libc.munmap(address, size)
    return sum(page & 1 for page in pages.raw) * mmap.PAGESIZE


def device_reads_bytes(root_pid: int) -> int:
    """What the process and all it started have had fetched from block devices."""
    total = 0
    for pid in tree_pids(root_pid):
        try:
            lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))
    return total


def disk_speed(folder: Path) -> DiskSpeed:
    """The speed of the disk under a folder, as a file of random bytes shows it."""
    path = folder / f"probe-{os.getpid()}"
    try:
        with path.open("wb") as file:
            random = Random(1)
            for _ in range(PROBE_BYTES // CHUNK_BYTES):
                file.write(random.randbytes(CHUNK_BYTES))
        speeds = []
        for is_evicted in (True, True, False):
            if is_evicted:
                evict([path])
            speeds.append(_read_speed(path))
        return DiskSpeed(*speeds)
    finally:
        path.unlink(missing_ok=True)


def _read_speed(path: Path) -> float:
    chunk = bytearray(CHUNK_BYTES)
    began_s = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.readinto(chunk):
            pass
    return PROBE_BYTES / (time.perf_counter() - began_s)
