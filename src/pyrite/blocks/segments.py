"""Segments: files in shared memory, or on disk, that blocks are packed into."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pyrite.blocks.codec import decode_frames, read_frames
from pyrite.blocks.pool import DISK_PREFIX, MEMORY_PREFIX
from pyrite.errors import ClusterError
from pyrite.ids import BlockRef, NodeId
from pyrite.rare import rare

# Blocks start at multiples of this, so that arrays read in place are aligned.
ALIGNMENT = 64
SEGMENT_BYTES = 16 << 20
# The kernel takes at most this many buffers in one call.
MOST_BUFFERS = 1024
READ_BYTES = 1 << 18


class Folders(NamedTuple):
    """Where a node's segments lie."""

    memory: str
    disk: str
    node: NodeId

    def path(self, segment: str) -> str:
        folder = self.memory if segment.startswith(MEMORY_PREFIX) else self.disk
        return os.path.join(folder, segment)


class BlockNotWritten(ClusterError):
    """The scratch folder did not take a block."""

    def __init__(self, folder: str, size_bytes: int, reason: str | None) -> None:
        super().__init__(
            f"a block could not be written to {folder} beyond {size_bytes} bytes: {reason}. "
            "Free space there, or set spark.local.dir to a folder on a larger disk."
        )
        self.folder = folder


class SegmentWriter:
    """Writes blocks one after another into its own segments; one writer per process."""

    def __init__(
        self,
        folders: Folders,
        owner: str,
        lease: Callable[[str, int], bool],
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.folders = folders
        self.owner = owner
        self.lease = lease
        self.segment_bytes = segment_bytes
        self.number = 0
        self.fd = -1
        self.name = ""
        self.offset = 0
        self.end = 0
        self.disk_written: list[str] = []

    def write(self, buffers: Sequence[Any], size: int) -> BlockRef:
        """Writes the buffers as one block: to shared memory while there is room, else to disk."""
        full = self.fd < 0 or self.offset + size > self.end
        if full and not self._open_segment(size):
            return self.write_to_disk(buffers)
        ref = BlockRef(self.folders.node, self.name, self.offset, size)
        try:
            self._fill(buffers)
        except OSError:
            # Shared memory may be smaller than the pool was told, as in a container.
            rare("shared memory is full before the pool is")
            self.close()
            return self.write_to_disk(buffers)
        self.offset += -(-size // ALIGNMENT) * ALIGNMENT
        return ref

    def _fill(self, buffers: Sequence[Any]) -> None:
        write_all(self.fd, buffers, self.offset)

    def write_to_disk(self, buffers: Sequence[Any]) -> BlockRef:
        """Writes the buffers as a file of their own."""
        file = self.open_on_disk()
        file.append(buffers)
        return file.finish()

    def open_on_disk(self) -> DiskBlock:
        """A block on disk that is written piece by piece."""
        name = self._new_name(DISK_PREFIX)
        self.disk_written.append(name)
        return DiskBlock(name, self.folders)

    def take_disk_written(self) -> list[str]:
        """The disk files made since the last call, to be removed if nobody is told of them."""
        written, self.disk_written = self.disk_written, []
        return written

    def _open_segment(self, size: int) -> bool:
        name = self._new_name(MEMORY_PREFIX)
        self.close()
        length = max(size, self.segment_bytes)
        if not self.lease(name, length):
            return False
        path = self.folders.path(name)
        self.fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        # Sparse: pages come into being when they are written.
        os.ftruncate(self.fd, length)
        self.name, self.offset, self.end = name, 0, length
        return True

    def _new_name(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.owner}-{self.number}"

    def close(self) -> None:
        """Writes no more to the open segment."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.offset, self.end = -1, 0, 0


class DiskBlock:
    """A block that grows in a file of its own; it leaves none behind when it can't."""

    def __init__(self, name: str, folders: Folders) -> None:
        self.name = name
        self.node = folders.node
        self.folder = folders.disk
        self.path = folders.path(name)
        self.size = 0
        try:
            self.file = open(self.path, "xb", buffering=0)  # noqa: SIM115 - closed by finish
        except OSError as error:
            raise BlockNotWritten(self.folder, 0, error.strerror) from error
        os.fchmod(self.file.fileno(), 0o600)

    def append(self, buffers: Sequence[Any]) -> None:
        try:
            self.size += write_all(self.file.fileno(), buffers, self.size)
        except OSError as error:
            self.close()
            os.unlink(self.path)
            raise BlockNotWritten(self.folder, self.size, error.strerror) from error

    def close(self) -> None:
        self.file.close()

    def finish(self) -> BlockRef:
        self.close()
        return BlockRef(self.node, self.name, 0, self.size)


def write_all(fd: int, buffers: Sequence[Any], offset: int) -> int:
    """Writes all buffers at the offset, however many bytes the kernel takes at a time."""
    start = offset
    pending = [memoryview(each).cast("B") for each in buffers if len(each)]
    position = 0
    while position < len(pending):
        batch = pending[position : position + MOST_BUFFERS]
        written = os.pwritev(fd, batch, offset)
        offset += written
        for view in batch:
            if written < len(view):
                pending[position] = view[written:]
                break
            written -= len(view)
            position += 1
    return offset - start


class SegmentReader:
    """Maps segments and hands out views of their blocks, without copying."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.maps: dict[str, memoryview] = {}

    def view(self, ref: BlockRef) -> memoryview:
        """The block's bytes; raises FileNotFoundError where the segment is gone."""
        if ref.length == 0:
            return memoryview(b"")
        whole = self.maps.get(ref.segment)
        if whole is None or len(whole) < ref.offset + ref.length:
            whole = self._map(ref.segment)
            # Mapped pages of disk files count as this process's memory: not longer than needed.
            if ref.segment.startswith(MEMORY_PREFIX):
                self.maps[ref.segment] = whole
        if len(whole) < ref.offset + ref.length:
            rare("a segment is shorter than its block")
            raise FileNotFoundError(f"segment {ref.segment} is shorter than its block")
        return whole[ref.offset : ref.offset + ref.length]

    def rows(self, ref: BlockRef) -> Iterator[list[Any]]:
        """The block's rows, batch by batch; from disk no more than a batch is in memory."""
        if ref.segment.startswith(MEMORY_PREFIX):
            yield from decode_frames(self.view(ref))
            return
        with open(self.folders.path(ref.segment), "rb", buffering=READ_BYTES) as file:
            file.seek(ref.offset)
            yield from read_frames(file.read, ref.length)

    def forget(self, segments: Iterable[str]) -> None:
        """Unmaps segments; rows that still look into one keep it until they go."""
        for segment in segments:
            self.maps.pop(segment, None)

    def close(self) -> None:
        """Unmaps all segments."""
        self.maps.clear()

    def _map(self, segment: str) -> memoryview:
        fd = os.open(self.folders.path(segment), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return memoryview(mmap.mmap(fd, 0, prot=mmap.PROT_READ))
        except ValueError as error:
            # As it is for all who read blocks: the bytes are gone.
            raise FileNotFoundError(f"segment {segment} is empty") from error
        finally:
            os.close(fd)


def remove_segments(folders: Folders, segments: Iterable[str]) -> None:
    """Removes the segments' files; those that are gone already are no error."""
    for segment in segments:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folders.path(segment))


def clear_segments(folders: Folders, owner: str, known: Iterable[str]) -> None:
    """Removes the owner's files but for the known ones."""
    kept = set(known)
    for folder, prefix in (folders.memory, MEMORY_PREFIX), (folders.disk, DISK_PREFIX):
        start = f"{prefix}{owner}-"
        names = [n for n in os.listdir(folder) if n.startswith(start) and n not in kept]
        remove_segments(folders, names)
