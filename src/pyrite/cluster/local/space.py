"""The driver's own share of the pool: broadcasts, parallelized rows."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pyrite.blocks.segments import Folders, SegmentWriter
from pyrite.errors import ContextStopped
from pyrite.ids import BlockRef
from pyrite.schedule.blockbook import DRIVER
from pyrite.schedule.events import BlockPut, Event, SpaceWanted


class DriverSpace:
    """Writes the driver's blocks; the scheduler is asked for room as executors ask."""

    def __init__(self, folders: Folders, post: Callable[[Event], None]) -> None:
        self.node = folders.node
        self.post = post
        self.answers: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.writer = SegmentWriter(folders, DRIVER, self._lease)

    def put(self, buffers: Sequence[Any], size: int) -> BlockRef:
        with self.lock:
            ref = self.writer.write(buffers, size)
            self.writer.take_disk_written()
            self.post(BlockPut(ref))
            return ref

    def answer(self, granted: bool) -> None:
        self.answers.put(granted)

    def close(self) -> None:
        """Nobody answers any more: who asks is told so instead of waiting for ever."""
        self.answers.put(None)

    def _lease(self, segment: str, size_bytes: int) -> bool:
        self.post(SpaceWanted(self.node, DRIVER, segment, size_bytes))
        granted = self.answers.get()
        if granted is None:
            self.close()
            raise ContextStopped("the context was stopped while a value was put into its pool")
        return granted
