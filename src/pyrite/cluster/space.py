"""The driver's own share of the pool: broadcasts, parallelized rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyrite.blocks.segments import Folders
from pyrite.blocks.writer import Lease, SegmentWriter, Want
from pyrite.cluster.port import Threads
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.errors import ContextStopped
from pyrite.ids import DRIVER, BlockRef, ExecutorId, NodeId
from pyrite.schedule.events import BlockPut, Event, SpaceWanted

# The driver's node in a cluster of several: a pool without executors.
DRIVER_NODE = NodeId("driver")
STOPPED = "the context was stopped while a value was put into its pool"

MakeWriter = Callable[[Folders, ExecutorId, Lease], SegmentWriter]


class DriverSpace:
    """Writes the driver's blocks; asks the scheduler for room, as executors do."""

    def __init__(
        self,
        make_writer: MakeWriter,
        folders: Folders,
        post: Callable[[Event], None],
        threads: Threads,
    ) -> None:
        self.node = folders.node
        self.post = post
        self.threads = threads
        # A thread that asked for room must take the answer, or the next one would take it.
        self.changed = WaitQueue(is_interruptible=False)
        self.answers: deque[NodeId | None] = deque()
        self.writing = False
        self.closed = False
        self.released = False
        self.writer = make_writer(folders, DRIVER, self._lease)

    def put(self, buffers: Sequence[Any], size: int) -> BlockRef:
        with self._writing_alone():
            if self.released:
                raise ContextStopped(STOPPED)
            ref = self.writer.write(buffers, size)
            self.writer.take_disk_written()
            self.post(BlockPut(ref))
            return ref

    @contextmanager
    def _writing_alone(self) -> Iterator[None]:
        self.threads.wait(self.changed, self._begin)
        try:
            yield
        finally:
            self.writing = False
            self.changed.wake_all()

    def _begin(self) -> bool:
        """Takes the turn to write; False if another thread has it."""
        free = not self.writing
        self.writing = True
        return free

    def answer(self, place: NodeId | None) -> None:
        self.answers.append(place)
        self.changed.wake_all()

    def close(self) -> None:
        """Fails requests for room from now on: the scheduler answers no more."""
        self.closed = True
        self.changed.wake_all()

    def release(self) -> None:
        """Refuses writes from now on, after the one under way."""
        with self._writing_alone():
            self.released = True
            self.writer.close()

    def _lease(self, want: Want) -> NodeId | None:
        self.post(SpaceWanted(self.node, DRIVER, *want))
        self.threads.wait(self.changed, lambda: self.answers or self.closed)
        if not self.answers:
            raise ContextStopped(STOPPED)
        return self.answers.popleft()
