"""A simulated node's memory and disk: real segments that take virtual time and fail on demand."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, Protocol

from pyrite.blocks.live import LiveStore
from pyrite.blocks.parts import find_part
from pyrite.blocks.segments import Folders, SegmentReader, write_all
from pyrite.blocks.together import PartsTogether
from pyrite.blocks.weight import WeighedRows
from pyrite.blocks.writer import BlockNotWritten, DiskBlock, Lease, OpenSegment, SegmentWriter
from pyrite.bounded.space import Space
from pyrite.cluster.sim.world import World
from pyrite.execute.meter import Moment
from pyrite.execute.nodecopies import NodeCopies
from pyrite.execute.store import Store
from pyrite.ids import BlockRef, ExecutorId, Medium, NodeId
from pyrite.metrics import COUNTS

FULL = os.strerror(errno.ENOSPC)
# The fixed cost of moving a block, besides that of its bytes.
BLOCK_S = 0.0002
LOCAL_BYTES_PER_S = 1e9
REMOTE_BYTES_PER_S = 1e8
# Rows are taken by their number here, whatever they weigh.
AMPLE_BYTES = 1 << 60


class SimNode:
    """A host: its folders, and its current faults."""

    def __init__(self, id: NodeId, folder: str, speed: float) -> None:
        self.id = id
        self.folders = Folders(os.path.join(folder, "memory"), os.path.join(folder, "disk"), id)
        self.folder = folder
        self.speed = speed
        self.incarnation = 0
        self.up = True
        self.asked_to_leave = False
        # Whether it was let go, for good.
        self.has_left = False
        self.slow_until_s = 0.0
        self.hung_until_s = 0.0
        # Until when no word passes between it and the driver.
        self.cut_until_s = 0.0
        self.disk_full_until_s = 0.0
        self.memory_full_until_s = 0.0
        self.stillborn_until_s = 0.0
        # Dropped segments, which may not be written any more.
        self.forgotten: set[str] = set()
        self.make_folders()

    def full_until_s(self, medium: Medium) -> float:
        """Until when there is no room for a segment in memory or on disk."""
        return self.memory_full_until_s if medium == "memory" else self.disk_full_until_s

    def stands_still(self, now_s: float) -> bool:
        """Whether it hangs: nothing on it runs or answers."""
        return self.hung_until_s > now_s

    def make_folders(self) -> None:
        """Makes the folders, empty."""
        self.forgotten.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folders.memory)
        os.makedirs(self.folders.disk)


class StoreHost(Protocol):
    """What a store needs from its executor and its cluster."""

    place: SimNode

    def now_s(self) -> float: ...

    def pause(self, cost_s: float) -> None:
        """Lets virtual time pass; the executor may be cancelled or killed meanwhile."""

    def start_task(self) -> float:
        """A task starts; returns how long it has computed already, in virtual time."""

    def reach(self, node: NodeId) -> SimNode:
        """Returns the node to read blocks from; OSError if it does not answer."""


class SimClock:
    """Virtual time: all computing of a task has passed before its rows are made."""

    def __init__(self, host: StoreHost) -> None:
        self.host = host
        self.computed_s = 0.0

    def start_task(self) -> Moment:
        took_s = self.host.start_task()
        self.computed_s += took_s
        return Moment(self.host.now_s() - took_s, self.computed_s - took_s)

    def moment(self) -> Moment:
        return Moment(self.host.now_s(), self.computed_s)

    def peak_memory_bytes(self) -> int:
        # Many simulated executors share one process.
        return 0


class SimStore(Store):
    """The store of an executor on a simulated node."""

    def __init__(self, host: StoreHost, world: World, dice: Random) -> None:
        super().__init__(host.place.folders)
        self.host = host
        self.world = world
        self.dice = dice

    def clock(self) -> SimClock:
        return SimClock(self.host)

    def reader(self) -> SegmentReader:
        return SimReader(self.host)

    def copies(self, reader: SegmentReader) -> NodeCopies:
        return NoCopies(self.folders, reader.view)

    def writer(self, writer: ExecutorId, lease: Lease, segment_bytes: int) -> SegmentWriter:
        return SimWriter(self.host, writer, lease, segment_bytes)

    def live(self, limit_bytes: int, protected_bytes: int) -> LiveStore:
        return SharedLiveStore(limit_bytes, protected_bytes)

    def space(self, limit_bytes: int, make_room: Callable[[], bool]) -> Space:
        return SimSpace(self.host, make_room, self.world, self.dice)


class NoCopies(NodeCopies):
    """Each simulated executor fetches for itself: one that waited for a lock would hold up all."""

    def view(self, ref: BlockRef) -> memoryview:
        return self.fetch(ref)


class SimWriter(SegmentWriter):
    """Writes real segments while virtual time passes."""

    def __init__(
        self, host: StoreHost, writer: ExecutorId, lease: Lease, segment_bytes: int
    ) -> None:
        super().__init__(host.place.folders, writer, lease, segment_bytes)
        self.host = host

    def write(self, buffers: Sequence[Any], size: int) -> BlockRef:
        self.host.pause(BLOCK_S + size / LOCAL_BYTES_PER_S)
        return super().write(buffers, size)

    def open_input(self, size: int) -> tuple[BlockRef, memoryview] | None:
        self.host.pause(BLOCK_S + size / LOCAL_BYTES_PER_S)
        if self.host.place.memory_full_until_s > self.host.now_s():
            return None
        return super().open_input(size)

    def _fill(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        self._check_memory(self.host.place)
        super()._fill(segment, buffers)

    def _send(self, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        size = sum(map(len, buffers))
        self.host.pause(BLOCK_S + size / REMOTE_BYTES_PER_S)
        node = self.host.reach(segment.place)
        self._check_memory(node)
        if segment.name in node.forgotten:
            raise FileNotFoundError(f"{segment.name} was dropped")
        path = node.folders.path(segment.name, "memory")
        if segment.offset == 0:
            segment.make(path)
            segment.close()
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            write_all(fd, buffers, segment.offset)
        finally:
            os.close(fd)

    def _check_memory(self, node: SimNode) -> None:
        if node.memory_full_until_s > self.host.now_s():
            raise OSError(errno.ENOSPC, FULL)

    def open_on_disk(self) -> DiskBlock:
        self.host.pause(BLOCK_S)
        if self.host.place.disk_full_until_s > self.host.now_s():
            raise BlockNotWritten(self.folders.disk, 0, FULL)
        return super().open_on_disk()


class SimReader(SegmentReader):
    """Reads the own node's segments in place, and those of other nodes as they are now."""

    def __init__(self, host: StoreHost) -> None:
        super().__init__(host.place.folders)
        self.host = host

    def view(self, ref: BlockRef) -> memoryview:
        return self._view_at(self._reach(ref), ref)

    def _view_at(self, node: SimNode, ref: BlockRef) -> memoryview:
        if node is self.host.place:
            return super().view(ref)
        return SegmentReader(node.folders).view(ref)

    def parts(
        self, refs: Sequence[BlockRef], part: int, together: PartsTogether | None = None
    ) -> Iterator[memoryview | None]:
        for ref in refs:
            found = self._find_part(ref, part)
            self._pass_time(ref.node, 0 if found is None else len(found))
            # Again: the block or its node may have been lost while the bytes were on their way.
            yield self._find_part(ref, part)

    def _find_part(self, ref: BlockRef, part: int) -> memoryview | None:
        return find_part(self._view_at(self.host.reach(ref.node), ref), part)

    def whole(self, segment: str, medium: Medium) -> memoryview:
        self._pass_time(self.host.place.id, 0)
        return super().whole(segment, medium)

    def rows(self, ref: BlockRef, writable: bool = False) -> Iterator[list[Any]]:
        node = self._reach(ref)
        if node is self.host.place:
            return super().rows(ref, writable)
        return SegmentReader(node.folders).rows(ref, writable)

    def _reach(self, ref: BlockRef) -> SimNode:
        self._pass_time(ref.node, ref.length)
        return self.host.reach(ref.node)

    def _pass_time(self, node: NodeId, length: int) -> None:
        near = node == self.host.place.id
        began_s = self.host.now_s()
        self.host.pause(BLOCK_S + length / (LOCAL_BYTES_PER_S if near else REMOTE_BYTES_PER_S))
        if not near:
            COUNTS.fetch_wait_s += self.host.now_s() - began_s


class SimSpace(Space):
    """Memory that runs out at random, whatever the process holds."""

    def __init__(
        self, host: StoreHost, make_room: Callable[[], bool], world: World, dice: Random
    ) -> None:
        super().__init__(1 << 20, host.place.folders.disk, make_room, measure=lambda: 0)
        self.host = host
        self.chance = world.spill_chance
        self.chunk_rows = world.chunk_rows
        self.waiting_rows = 2 * world.chunk_rows
        self.dice = dice

    def weighed(self, rows: Iterable[Any]) -> WeighedRows:
        return WeighedRows(rows, AMPLE_BYTES)

    def piece_values(self, value: Any) -> int:
        return self.chunk_rows

    def over(self) -> bool:
        if not self.chance or self.dice.random() >= self.chance:
            return False
        self.stride_rows = self.dice.choice((1, 2, 7))
        return not self._relieve()

    def relieved(self) -> None:
        """Does nothing: no memory is measured here."""

    def batch_rows(self, held_rows: int) -> int:
        return self.dice.choice((1, 3, 50))

    def spill_path(self) -> str:
        if self.host.place.disk_full_until_s > self.host.now_s():
            raise OSError(errno.ENOSPC, FULL)
        return super().spill_path()


class SharedLiveStore(LiveStore):
    """Live rows in a shared process, whose garbage collector stays as it is."""

    def _settle(self) -> None:
        pass

    def _unsettle(self) -> None:
        pass
