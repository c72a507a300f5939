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
from pyrite.blocks.undo import undo_saves
from pyrite.ids import BlockRef, ExecutorId, Medium, NodeId
from pyrite.probe import probe

# The kernel takes at most this many buffers in one call.
MOST_BUFFERS = 1024
READ_BYTES = 1 << 18


class Folders(NamedTuple):
    """Where a node's segments lie, by medium; no two in both have one name."""

    memory: str
    disk: str
    node: NodeId

    def path(self, segment: str, medium: Medium) -> str:
        return os.path.join(self.memory if medium == "memory" else self.disk, segment)


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
            whole = self.whole(ref.segment, ref.medium)
            # Not longer than needed: a block that has its segment to itself, which would not be
            # free before it is unmapped, nor files on disk, whose pages count as this process's.
            if ref.medium == "memory" and len(whole) > ref.length:
                self.maps[ref.segment] = whole
        if len(whole) < ref.offset + ref.length:
            probe("a segment is shorter than its block")
            raise FileNotFoundError(f"segment {ref.segment} is shorter than its block")
        return whole[ref.offset : ref.offset + ref.length]

    def whole(self, segment: str, medium: Medium) -> memoryview:
        """All bytes of a segment of the own node, mapped as long as somebody looks into them."""
        fd = os.open(self.folders.path(segment, medium), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return memoryview(mmap.mmap(fd, 0, prot=mmap.PROT_READ))
        except ValueError as error:
            # As it is for all who read blocks: the bytes are gone.
            raise FileNotFoundError(f"segment {segment} is empty") from error
        finally:
            os.close(fd)

    def parts(self, refs: Sequence[BlockRef], part: int) -> Iterator[memoryview | LongPart | None]:
        """One reducer's part of each of these map outputs, a long one yet to be read; None where
        it is empty.

        Raises at the first that can't be read OSError where it is gone, CorruptBlock where its
        bytes are wrong.
        """
        for ref in refs:
            yield find_part(self.view(ref), part)

    def rows(self, ref: BlockRef) -> Iterator[list[Any]]:
        """The block's rows, batch by batch; from disk no more than a batch is in memory."""
        if ref.medium == "memory":
            yield from decode_frames(self.view(ref))
            return
        with open(self.folders.path(ref.segment, ref.medium), "rb", buffering=READ_BYTES) as file:
            file.seek(ref.offset)
            yield from read_frames(file.read, ref.length)

    def forget(self, segments: Iterable[str]) -> None:
        """Unmaps segments; rows that still look into one keep it until they go."""
        for segment in segments:
            self.maps.pop(segment, None)

    def close(self) -> None:
        """Unmaps all segments."""
        self.maps.clear()


def remove_segments(folders: Folders, segments: Iterable[str]) -> None:
    """Removes the segments' files, wherever they lie; those that are gone are no error."""
    for segment in segments:
        for folder in (folders.memory, folders.disk):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, segment))


def clear_segments(folders: Folders, writer: ExecutorId, known: Iterable[str]) -> None:
    """Removes the writer's files but for the known ones, also those that nobody has heard of."""
    start, kept = name_prefix(writer), set(known)
    names = [*os.listdir(folders.memory), *os.listdir(folders.disk)]
    remove_segments(folders, [n for n in names if n.startswith(start) and n not in kept])


def remove_folders(folders: Iterable[str]) -> None:
    """Removes what is there of scratch folders, and undoes the saves that they tell of."""
    # Not by shutil.rmtree: loading that takes longer than this does.
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
