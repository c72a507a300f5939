"""The segment files that a block server opens and creates."""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
from collections import OrderedDict
from collections.abc import Container, Iterable
from dataclasses import dataclass

from pyrite.blocks.segments import Folders, write_all
from pyrite.ids import Medium
from pyrite.remote.protocol import Reason

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAKE = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL
_APPEND = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW


def open_segment(folders: Folders, name: str, medium: Medium) -> int:
    """Opens a segment's file for reading; raises OSError with the reason if it can't."""
    try:
        fd = os.open(folders.path(name, medium), _READ)
    except FileNotFoundError:
        raise FileNotFoundError(f"segment {name} is gone") from None
    except OSError as error:
        raise OSError(f"segment {name} can't be opened: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{name} is no segment")
    return fd


class OpenFile:
    """A file that is open for the life of this object, and its bytes if it is mapped."""

    __slots__ = ("fd", "medium", "size", "view")

    def __init__(self, fd: int, medium: Medium) -> None:
        self.fd = fd
        self.medium = medium
        self.size = 0
        self.view: memoryview | None = None

    def __del__(self) -> None:
        os.close(self.fd)


class OpenFiles:
    """Segment files that are open for reading; the least recently used are closed first."""

    def __init__(self, folders: Folders, most: int) -> None:
        self.folders = folders
        self.most = most
        self.files: OrderedDict[str, OpenFile] = OrderedDict()

    def find(self, segment: str, medium: Medium, end: int) -> OpenFile | None:
        """Returns the segment's file; None if it does not exist or is shorter than `end`."""
        file = self.files.get(segment)
        if file is None or file.size < end or file.medium != medium:
            return self._open(segment, medium, end)
        self.files.move_to_end(segment)
        return file

    def _open(self, segment: str, medium: Medium, end: int) -> OpenFile | None:
        try:
            file = OpenFile(open_segment(self.folders, segment, medium), medium)
        except OSError:
            return None
        file.size = os.fstat(file.fd).st_size
        if end > file.size:
            return None
        if medium == "disk":
            # A read from disk holds up all clients: let the kernel read far ahead.
            os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        elif file.size:
            # Only the kernel reads the map: a truncated file is an error to it, no signal.
            file.view = memoryview(mmap.mmap(file.fd, 0, prot=mmap.PROT_READ))
        self.files[segment] = file
        if len(self.files) > self.most:
            self.files.popitem(last=False)
        return file

    def forget(self, segments: Iterable[str]) -> None:
        """Closes the segments' files: an open file keeps its memory, even after its removal."""
        for segment in segments:
            self.files.pop(segment, None)

    def sweep(self) -> None:
        """Closes the files that were removed without notice."""
        self.forget([name for name, file in self.files.items() if not os.fstat(file.fd).st_nlink])

    def close(self) -> None:
        self.files.clear()


class WriteRefused(Exception):
    """The write is refused, with the reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.name)
        self.reason = reason


@dataclass(slots=True)
class WrittenSegment:
    """A segment that other nodes write, block after block."""

    medium: Medium
    total: int
    last: int = 0
    end: int = 0
    busy: bool = False


class Write:
    """One block that is being written into a segment."""

    def __init__(
        self, name: str, segment: WrittenSegment, file: OpenFile, offset: int, is_first: bool
    ) -> None:
        self.name = name
        self.segment = segment
        self.file = file
        self.offset = offset
        self.position = offset
        self.is_first = is_first

    def add(self, piece: memoryview) -> None:
        """Writes the next bytes; raises WriteRefused if there is no room."""
        try:
            # Not received into a map of the file: its page faults cost more than this copy from a
            # small warm buffer, and a full disk would be a signal instead of an error.
            self.position += write_all(self.file.fd, [piece], self.position)
        except OSError:
            raise WriteRefused(Reason.NO_ROOM) from None


class WrittenSegments:
    """The segments that other nodes write here: created once, never overwritten."""

    def __init__(
        self,
        folders: Folders,
        memory_bytes: int,
        disk_bytes: int,
        forgotten: Container[str],
        most: int,
    ) -> None:
        self.folders = folders
        self.memory_bytes = memory_bytes
        self.disk_bytes = disk_bytes
        self.forgotten = forgotten
        self.most = most
        self.segments: OrderedDict[str, WrittenSegment] = OrderedDict()

    def begin(self, name: str, offset: int, length: int, medium: Medium, total: int) -> Write:
        """Opens the segment for a block, creates it for the first one; raises WriteRefused."""
        limit = self.disk_bytes if medium == "disk" else self.memory_bytes
        if total > limit or offset + length > total:
            raise WriteRefused(Reason.TOO_LARGE)
        if name in self.forgotten:
            # The request may have waited in a buffer while its sender died.
            raise WriteRefused(Reason.FORGOTTEN)
        segment = self.segments.get(name)
        file = self._append(name, segment.medium) if segment is not None else None
        if segment is None or file is None:
            if offset > 0:
                # Begun on an earlier server, which has ended: nobody would ever remove it here.
                raise WriteRefused(Reason.UNKNOWN)
            file = self._make(name, medium, total)
            segment = self.segments[name] = WrittenSegment(medium, total, offset, offset, busy=True)
            self._limit()
            return Write(name, segment, file, offset, is_first=True)
        if segment.busy:
            raise WriteRefused(Reason.BUSY)
        if (segment.medium, segment.total) != (medium, total):
            raise WriteRefused(Reason.EXISTS)
        # A client that lost the reply may write the last block again.
        if offset < segment.end and (offset, offset + length) != (segment.last, segment.end):
            raise WriteRefused(Reason.WRITTEN)
        segment.busy = True
        return Write(name, segment, file, offset, is_first=False)

    def _append(self, name: str, medium: Medium) -> OpenFile | None:
        try:
            return OpenFile(os.open(self.folders.path(name, medium), _APPEND), medium)
        except OSError:
            return None

    def _make(self, name: str, medium: Medium, total: int) -> OpenFile:
        path = self.folders.path(name, medium)
        try:
            file = OpenFile(os.open(path, _MAKE, 0o600), medium)
        except FileExistsError:
            raise WriteRefused(Reason.EXISTS) from None
        except OSError:
            raise WriteRefused(Reason.NO_ROOM) from None
        try:
            # Sparse: pages are allocated when they are written.
            os.ftruncate(file.fd, total)
        except OSError:
            os.unlink(path)
            raise WriteRefused(Reason.NO_ROOM) from None
        return file

    def _limit(self) -> None:
        if len(self.segments) <= self.most:
            return
        oldest = next((name for name, each in self.segments.items() if not each.busy), None)
        if oldest is not None:
            del self.segments[oldest]

    def finish(self, write: Write) -> bool:
        """Completes the block; False if its segment has been removed meanwhile."""
        if not self._is_there(write):
            return False
        write.segment.busy = False
        write.segment.last, write.segment.end = write.offset, write.position
        return True

    def abandon(self, write: Write) -> None:
        """Discards an incomplete block, and the segment if it was created for it."""
        if not self._is_there(write):
            return
        write.segment.busy = False
        if write.is_first:
            del self.segments[write.name]
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.folders.path(write.name, write.segment.medium))

    def _is_there(self, write: Write) -> bool:
        known = self.segments.get(write.name) is write.segment
        return known and os.fstat(write.file.fd).st_nlink > 0

    def forget(self, segments: Iterable[str]) -> None:
        """Forgets segments that have been removed."""
        for name in segments:
            self.segments.pop(name, None)
