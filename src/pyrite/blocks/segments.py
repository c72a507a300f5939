"""Segments: files in shared memory, or on disk, that blocks are packed into."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pyrite.blocks.codec import decode_frames, read_frames
from pyrite.blocks.names import name_prefix
from pyrite.blocks.parts import LongPart, find_part
from pyrite.blocks.together import PartsTogether
from pyrite.blocks.undo import undo_saves
from pyrite.ids import BlockRef, ExecutorId, Medium, NodeId
from pyrite.probe import probe

# The kernel's limit of buffers per call.
MOST_BUFFERS = 1024
READ_BYTES = 1 << 18


class Folders(NamedTuple):
    """A node's folders of segments, by medium; names are unique over both."""

    memory: str
    disk: str
    node: NodeId

    def path(self, segment: str, medium: Medium) -> str:
        return os.path.join(self.memory if medium == "memory" else self.disk, segment)


def write_all(fd: int, buffers: Sequence[Any], offset: int) -> int:
    """Writes all buffers at the offset, in as many calls as needed; returns the bytes written."""
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
    """Maps segments into memory and returns views of their blocks, without copying."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.maps: dict[str, memoryview] = {}

    def view(self, ref: BlockRef) -> memoryview:
        """Returns the block's bytes; raises FileNotFoundError where the segment is lost."""
        if ref.length == 0:
            return memoryview(b"")
        whole = self.maps.get(ref.segment)
        if whole is None or len(whole) < ref.offset + ref.length:
            whole = self.whole(ref.segment, ref.medium)
            # Do not keep a map of a block that has its segment to itself, whose memory is free only
            # once it is unmapped, nor of files on disk, whose pages count as this process's.
            if ref.medium == "memory" and len(whole) > ref.length:
                self.maps[ref.segment] = whole
        if len(whole) < ref.offset + ref.length:
            probe("a segment is shorter than its block")
            raise FileNotFoundError(f"segment {ref.segment} is shorter than its block")
        return whole[ref.offset : ref.offset + ref.length]

    def whole(self, segment: str, medium: Medium) -> memoryview:
        """Maps a whole segment of the own node; it stays mapped while a view of it exists."""
        fd = os.open(self.folders.path(segment, medium), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return memoryview(mmap.mmap(fd, 0, prot=mmap.PROT_READ))
        except ValueError as error:
            # For readers this is the same as a lost segment.
            raise FileNotFoundError(f"segment {segment} is empty") from error
        finally:
            os.close(fd)

    def parts(
        self, refs: Sequence[BlockRef], part: int, together: PartsTogether | None = None
    ) -> Iterator[memoryview | LongPart | None]:
        """Returns one reducer's part of each of these map outputs; None where it is empty, a
        LongPart where it is too long for memory.

        Parts that are read `together` may come from other nodes by one request. Raises at the first
        that can't be read: OSError where it is lost, CorruptBlock where its bytes are corrupt.
        """
        for ref in refs:
            yield find_part(self.view(ref), part)

    def rows(self, ref: BlockRef, writable: bool = False) -> Iterator[list[Any]]:
        """Returns the block's rows in batches; from disk, one batch is in memory at a time.

        Large buffers are views into the block, or copies where they must be `writable`.
        """
        if ref.medium == "memory":
            yield from decode_frames(self.view(ref), writable)
            return
        with open(self.folders.path(ref.segment, ref.medium), "rb", buffering=READ_BYTES) as file:
            file.seek(ref.offset)
            yield from read_frames(file.read, ref.length)

    def forget(self, segments: Iterable[str]) -> None:
        """Unmaps segments; one stays mapped while rows refer to it."""
        for segment in segments:
            self.maps.pop(segment, None)

    def close(self) -> None:
        """Unmaps all segments."""
        self.maps.clear()


def remove_segments(folders: Folders, segments: Iterable[str]) -> None:
    """Removes the segments' files from either medium; missing ones are no error."""
    for segment in segments:
        for folder in (folders.memory, folders.disk):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, segment))


def clear_segments(folders: Folders, writer: ExecutorId, known: Iterable[str]) -> None:
    """Removes the writer's files except the known ones, including those never reported."""
    start, kept = name_prefix(writer), set(known)
    names = [*os.listdir(folders.memory), *os.listdir(folders.disk)]
    remove_segments(folders, [n for n in names if n.startswith(start) and n not in kept])


def remove_folders(folders: Iterable[str]) -> None:
    """Removes scratch folders, and undoes the unfinished saves recorded in them."""
    # Without shutil.rmtree: importing it takes longer than this.
    for folder in folders:
        undo_saves(folder)
        for path, inner, files in os.walk(folder, topdown=False):
            for name in files:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(path, name))
            for name in inner:
                with contextlib.suppress(OSError):
                    remove_folder(os.path.join(path, name))
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def remove_folder(path: str) -> None:
    """Removes an empty folder, or a link to one."""
    (os.unlink if os.path.islink(path) else os.rmdir)(path)
