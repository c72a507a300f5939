"""Blocks of other nodes that all executors of a node need: fetched once, and shared."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from collections.abc import Callable, Iterable

from pyrite.blocks.names import COPIES, copy_name
from pyrite.blocks.segments import Folders, write_all
from pyrite.ids import BlockRef, NodeId


class NodeCopies:
    """Copies of broadcasts' blocks in the node's shared memory, one a block.

    The first executor that needs one fetches it, while the others wait for its lock; all map the
    same file. They are beyond the pool: a broadcast takes its size once on each node that uses it.
    Nodes that have a copy already give it to others, so that the driver need not.
    """

    def __init__(self, folders: Folders, fetch: Callable[[BlockRef], memoryview]) -> None:
        self.folders = folders
        self.fetch = fetch
        # The files of the copies that this executor has mapped, by segment.
        self.paths: dict[str, set[str]] = {}
        # Other nodes that have a copy, by segment and offset; what was copied since last asked.
        self.holders: dict[str, dict[int, list[NodeId]]] = {}
        self.made: list[tuple[str, int]] = []
        self._adopt()

    def _adopt(self) -> None:
        """Takes over the copies of executors that have ended: these can't remove them."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self.folders.memory):
                if name.startswith(COPIES):
                    stem = name.removesuffix("-lock").removesuffix("-part")
                    segment = stem.removeprefix(COPIES).rpartition("-")[0]
                    path = os.path.join(self.folders.memory, stem)
                    self.paths.setdefault(segment, set()).add(path)

    def view(self, ref: BlockRef) -> memoryview:
        """The block's bytes; raises as the fetching does."""
        if ref.node == self.folders.node or not ref.length:
            return self.fetch(ref)
        path = os.path.join(self.folders.memory, copy_name(ref.segment, ref.offset))
        self.paths.setdefault(ref.segment, set()).add(path)
        try:
            return mapped(path)
        except FileNotFoundError:
            pass
        with open(f"{path}-lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another executor may have fetched it meanwhile.
            if not os.path.exists(path):
                fetched = self._fetched(ref)
                try:
                    self._copy(fetched, path)
                except OSError:
                    # No room in shared memory: this executor has it alone.
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"{path}-part")
                    return fetched
                self.made.append((ref.segment, ref.offset))
        return mapped(path)

    def learn(self, segment: str, offset: int, holders: list[NodeId]) -> None:
        """Other nodes have a copy of this block."""
        self.holders.setdefault(segment, {})[offset] = holders

    def take_made(self) -> list[tuple[str, int]]:
        """The blocks that this executor has copied since the last time."""
        made, self.made = self.made, []
        return made

    def _fetched(self, ref: BlockRef) -> memoryview:
        """The block from the first node that still has a copy, or else from where it was made."""
        for node in self.holders.get(ref.segment, {}).pop(ref.offset, ()):
            copy = BlockRef(node, copy_name(ref.segment, ref.offset), 0, ref.length)
            with contextlib.suppress(OSError):
                return self.fetch(copy)
        return self.fetch(ref)

    @staticmethod
    def _copy(fetched: memoryview, path: str) -> None:
        with open(f"{path}-part", "wb") as file:
            write_all(file.fileno(), [fetched], 0)
        os.rename(f"{path}-part", path)

    def forget(self, segments: Iterable[str]) -> None:
        """Removes the copies of blocks of these segments, which are gone."""
        for segment in segments:
            self.holders.pop(segment, None)
            for path in self.paths.pop(segment, ()):
                for each in (path, f"{path}-lock", f"{path}-part"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(each)


def mapped(path: str) -> memoryview:
    """The whole file; it stays mapped while a view of it exists."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return memoryview(mmap.mmap(fd, 0, prot=mmap.PROT_READ))
    finally:
        os.close(fd)
