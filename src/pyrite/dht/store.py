"""The blocks of a member on its disk: each a file that appears whole, with its checksums."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# A checksum covers this many bytes; ranges of blocks are read by chunks.
CHUNK_BYTES = 1 << 20
# What is left on the disk for journals.
RESERVE_BYTES = 32 << 20
_END = struct.Struct("<Q4s")
_MAGIC = b"pydb"
_NAME = re.compile(r"[0-9a-f]{32}\.[0-9]{1,9}(\.[12])?")


def is_block_name(name: object) -> bool:
    """Whether this names a block: never a path."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def checksums_of(data: memoryview | bytes) -> tuple[int, ...]:
    """The checksums of a block's chunks.

    >>> len(checksums_of(bytes(CHUNK_BYTES + 1)))
    2
    """
    view = memoryview(data)
    starts = range(0, len(view), CHUNK_BYTES)
    return tuple(zlib.crc32(view[start : start + CHUNK_BYTES]) for start in starts)


class OpenBlock(NamedTuple):
    """A block's file; its bytes come first."""

    fd: int
    length: int


class BlockStore:
    """Files named by block: the bytes, the checksums, and the length at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "blocks"
        self.coming = folder / "coming"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.coming.mkdir(exist_ok=True)
        for left in self.coming.iterdir():
            left.unlink()
        self._count = 0

    def sizes(self) -> dict[str, int]:
        """The blocks that are there, and their lengths; broken files are removed."""
        found = {}
        for path in sorted(self.folder.glob("*/*")):
            try:
                with path.open("rb") as file:
                    found[path.name] = _length(file.fileno())
            except (OSError, ValueError):
                path.unlink(missing_ok=True)
        return found

    def begin(self, name: str, length: int) -> IncomingBlock:
        """A file for a block that is being received; raises OSError if there is no room."""
        room = os.statvfs(self.folder)
        if room.f_bavail * room.f_frsize < length + RESERVE_BYTES:
            raise OSError(errno.ENOSPC, "no room on the disk of a ring's member", str(self.folder))
        self._count += 1
        return IncomingBlock(self.coming / f"{name}-{self._count}", self._path(name), length)

    def open(self, name: str) -> OpenBlock | None:
        """A block's file, to be closed by the caller; None if there is none."""
        try:
            fd = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return OpenBlock(fd, _length(fd))
        except (OSError, ValueError):
            os.close(fd)
            return None

    def checksums(self, name: str) -> tuple[int, ...] | None:
        """The checksums that a block was written with; None if it is not as it was written."""
        found = self.open(name)
        if found is None:
            return None
        fd, length = found
        try:
            count = -(-length // CHUNK_BYTES)
            written = struct.unpack(f"<{count}I", os.pread(fd, 4 * count, length))
            for index, checksum in enumerate(written):
                start = index * CHUNK_BYTES
                chunk = os.pread(fd, min(CHUNK_BYTES, length - start), start)
                if zlib.crc32(chunk) != checksum:
                    return None
        except (OSError, struct.error):
            return None
        finally:
            os.close(fd)
        return written

    def touch(self, name: str) -> None:
        """Makes a block young again: somebody is about to refer to it."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self._path(name))

    def age_s(self, name: str, now_s: float) -> float:
        """How long ago a block was written."""
        try:
            return now_s - self._path(name).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name


class IncomingBlock:
    """A block that is being received: it appears when `finish` has returned."""

    def __init__(self, path: Path, target: Path, length: int) -> None:
        self.path = path
        self.target = target
        self.length = length
        self._file = path.open("wb", buffering=0)

    def add(self, piece: memoryview) -> None:
        while piece:
            piece = piece[self._file.write(piece) or 0 :]

    def finish(self, checksums: Sequence[int]) -> None:
        tail = struct.pack(f"<{len(checksums)}I", *checksums) + _END.pack(self.length, _MAGIC)
        self.add(memoryview(tail))
        os.fdatasync(self._file.fileno())
        self._file.close()
        self.target.parent.mkdir(exist_ok=True)
        os.replace(self.path, self.target)
        fd = os.open(self.target.parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def abandon(self) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)


def _length(fd: int) -> int:
    """The length of a block by its file's end; raises ValueError if it is not whole."""
    size = os.fstat(fd).st_size
    length, magic = _END.unpack(os.pread(fd, _END.size, max(0, size - _END.size)).ljust(12, b"\0"))
    count = -(-length // CHUNK_BYTES)
    if magic != _MAGIC or size != length + 4 * count + _END.size:
        raise ValueError("not a whole block")
    return int(length)
