"""Writes blocks into segments granted by the scheduler, or to disk."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pyrite.blocks.names import segment_name
from pyrite.blocks.segments import Folders, write_all
from pyrite.errors import ClusterError
from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId
from pyrite.probe import probe

# Blocks start at multiples of this, so that arrays read in place are aligned.
ALIGNMENT = 64
SEGMENT_BYTES = 16 << 20
# Segments of packed small partitions are this many times smaller, since they are moved as a whole;
# a partition is small if it takes at most a quarter of one.
PACKS = 16
SMALL = 4


class BlockNotWritten(ClusterError):
    """A block could not be written to the scratch folder."""

    def __init__(self, folder: str, size_bytes: int, reason: str | None) -> None:
        super().__init__(
            f"a block could not be written to {folder} beyond {size_bytes} bytes: {reason}. "
            "Free space there, or set spark.local.dir to a folder on a larger disk."
        )
        self.folder = folder


class Want(NamedTuple):
    """A request for room for a segment; `rdd` is set where it is for kept partitions."""

    segment: str
    bytes: int
    packs: bool = True
    rdd: RddId | None = None
    to_disk: bool = True
    # Whether it is a copy of what this node has, which should lie elsewhere if possible.
    is_copy: bool = False
    # Whether it is for a block of an input file.
    cached: bool = False
    # That block's key, if it belongs on the key's node.
    key: int | None = None


# Returns the node that stores the segment, or None where no pool has room.
Lease = Callable[[Want], NodeId | None]


class OpenSegment:
    """A segment in memory that blocks are appended to."""

    def __init__(self, place: NodeId, want: Want) -> None:
        self.place = place
        self.name = want.segment
        self.length = want.bytes
        self.to_disk = want.to_disk
        self.offset = 0
        # Open if the segment is on the own node.
        self.fd = -1

    def make(self, path: str) -> None:
        self.fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        # Sparse: pages are allocated when they are written.
        os.ftruncate(self.fd, self.length)

    def has_room(self, size: int) -> bool:
        return self.offset + size <= self.length

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class SegmentWriter:
    """Writes blocks into segments of its own; one writer per process.

    Map outputs and results are packed together. Kept partitions are separate, since they may be
    moved: large ones have segments of their own, small ones are packed.
    """

    def __init__(
        self,
        folders: Folders,
        writer: ExecutorId,
        lease: Lease,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.folders = folders
        self.writer = writer
        self.lease = lease
        self.segment_bytes = segment_bytes
        self.pack_bytes = segment_bytes // PACKS
        self.number = 0
        self.current: OpenSegment | None = None
        self.pack: OpenSegment | None = None
        self.disk_written: list[str] = []

    def write(self, buffers: Sequence[Any], size: int) -> BlockRef:
        """Writes the buffers as one block: to shared memory while there is room, else to disk."""
        try:
            if self.current is None or not self.current.has_room(size):
                self._close_current()
                length = max(size, self.segment_bytes)
                self.current = self._open(Want(self._new_name(), length))
            if self.current is not None:
                return self._append(self.current, buffers, size)
        except OSError:
            # Shared memory may be smaller than the pool's configured size, as in a container.
            probe("shared memory is full before the pool is")
            self._close_current()
        return self.write_to_disk(buffers)

    def write_kept(
        self, rdd: RddId, buffers: Sequence[Any], size: int, to_disk: bool, is_copy: bool = False
    ) -> BlockRef | None:
        """Writes a whole kept partition into some node's pool; None where none has room."""
        segment = None
        try:
            segment = self._room_for(rdd, size, to_disk, is_copy)
            if segment is not None:
                return self._append(segment, buffers, size)
        except (OSError, ClusterError):
            # The other node may be lost, or its memory smaller than configured.
            probe("a kept partition can't be written where there is room")
            self._close_pack()
        finally:
            if segment is not None and segment is not self.pack:
                segment.close()
        return None

    def want_kept(self, rdd: RddId, size: int, to_disk: bool, is_copy: bool = False) -> Want:
        """Returns a request for a segment that holds one block of a kept partition."""
        return Want(self._new_name(), size, False, rdd, to_disk, is_copy)

    def write_granted(self, want: Want, place: NodeId, buffers: Sequence[Any]) -> BlockRef:
        """Writes a block into the segment that was granted for it."""
        segment = self._make(want, place)
        try:
            return self._append(segment, buffers, want.bytes)
        finally:
            segment.close()

    def open_input(self, size: int) -> tuple[BlockRef, memoryview] | None:
        """Makes room for a block of an input file in the own pool, to be filled; None where there
        is none."""
        want = Want(self._new_name(), size, False, cached=True)
        if self.lease(want) is None:
            return None
        path = self.folders.path(want.segment, "memory")
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            # Pages are allocated now: without them, writing to the map would end the process.
            os.posix_fallocate(fd, 0, size)
            view = memoryview(mmap.mmap(fd, size))
        except OSError:
            os.unlink(path)
            return None
        finally:
            os.close(fd)
        return BlockRef(self.folders.node, want.segment, 0, size, "memory"), view

    def write_input(self, key: int, data: memoryview) -> BlockRef | None:
        """Writes a block that later tasks read as input into the pool of its key's node; None where
        there is no room."""
        want = Want(self._new_name(), len(data), False, cached=True, key=key)
        try:
            place = self.lease(want)
            return None if place is None else self.write_granted(want, place, [data])
        except (OSError, ClusterError):
            # The other node may be lost. The driver frees what was not reported.
            probe("a written block can't stay in memory")
            return None

    def _room_for(self, rdd: RddId, size: int, to_disk: bool, is_copy: bool) -> OpenSegment | None:
        """Returns a shared segment if the partition is small, else one of its own."""
        if size <= self.pack_bytes // SMALL and not is_copy:
            pack = self.pack
            if pack is None or not pack.has_room(size) or pack.to_disk != to_disk:
                self._close_pack()
                name = self._new_name()
                self.pack = self._open(Want(name, self.pack_bytes, True, rdd, to_disk))
            if self.pack is not None:
                return self.pack
        return self._open(self.want_kept(rdd, size, to_disk, is_copy))

    def _open(self, want: Want) -> OpenSegment | None:
        place = self.lease(want)
        return None if place is None else self._make(want, place)

    def _make(self, want: Want, place: NodeId) -> OpenSegment:
        segment = OpenSegment(place, want)
        if place == self.folders.node:
            segment.make(self.folders.path(want.segment, "memory"))
        return segment

    def _append(self, segment: OpenSegment, buffers: Sequence[Any], size: int) -> BlockRef:
        ref = BlockRef(segment.place, segment.name, segment.offset, size, "memory")
        if segment.place == self.folders.node:
            self._fill(segment, buffers)
        else:
            self._send(segment, buffers)
        # Even for an empty block: the block at offset 0 is written first, and creates the segment.
        segment.offset += max(1, -(-size // ALIGNMENT)) * ALIGNMENT
        return ref

    def _fill(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        write_all(segment.fd, buffers, segment.offset)

    def _send(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        """Writes into another node's pool; subclasses that can reach other nodes implement it."""
        raise NotImplementedError

    def write_to_disk(self, buffers: Sequence[Any]) -> BlockRef:
        """Writes the buffers as a file of their own."""
        file = self.open_on_disk()
        file.append(buffers)
        return file.finish()

    def open_on_disk(self) -> DiskBlock:
        """Opens a block on disk that is written piece by piece."""
        name = self._new_name()
        self.disk_written.append(name)
        return DiskBlock(name, self.folders)

    def take_disk_written(self) -> list[str]:
        """Returns the disk files made since the last call, which are removed unless they are
        reported."""
        written, self.disk_written = self.disk_written, []
        return written

    def open_names(self) -> list[str]:
        """Returns the names of its open segments."""
        return [each.name for each in (self.current, self.pack) if each is not None]

    def end_task(self) -> None:
        """Closes an open segment on another node, since it may have to be removed."""
        if self.pack is not None and self.pack.place != self.folders.node:
            self._close_pack()

    def close(self) -> None:
        """Closes all open segments."""
        self._close_current()
        self._close_pack()

    def _close_current(self) -> None:
        if self.current is not None:
            self.current.close()
        self.current = None

    def _close_pack(self) -> None:
        if self.pack is not None:
            self.pack.close()
        self.pack = None

    def _new_name(self) -> str:
        self.number += 1
        return segment_name(self.writer, self.number)


class DiskBlock:
    """A block that is appended to in a file of its own; a failed write removes the file."""

    def __init__(self, name: str, folders: Folders) -> None:
        self.name = name
        self.node = folders.node
        self.folder = folders.disk
        self.path = folders.path(name, "disk")
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
            self.remove()
            raise BlockNotWritten(self.folder, self.size, error.strerror) from error

    def remove(self) -> None:
        """Removes the file, if a failed write has not done so."""
        self.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def close(self) -> None:
        self.file.close()

    def finish(self) -> BlockRef:
        self.close()
        return BlockRef(self.node, self.name, 0, self.size, "disk")
