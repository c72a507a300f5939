"""The process-wide state of Python that each simulated executor has for itself."""

from __future__ import annotations

import sys
from typing import Any

from pyrite import accumulators
from pyrite.broadcast import Broadcast
from pyrite.dht import blockcache
from pyrite.metrics import COUNTS, Counts
from pyrite.taskcontext import TaskContext

# Whatever sys.stderr is at the moment: an executor prints there.
STDERR = object()


class ProcessState:
    """The process-wide state of an executor whose thread is not running."""

    def __init__(self) -> None:
        self.accumulators = accumulators.State()
        self.task: TaskContext | None = None
        self.broadcasts: tuple[Any, dict[Any, Any]] = (None, {})
        self.blocks: blockcache.BlockCache | None = None
        self.stdout: Any = STDERR
        self.counts = Counts()

    def swap(self) -> None:
        """Exchanges it with the current state; a second call restores both."""
        self.accumulators = accumulators.exchange(self.accumulators)
        COUNTS.exchange(self.counts)
        TaskContext._current, self.task = self.task, TaskContext._current
        broadcasts = Broadcast._load, Broadcast._loaded
        Broadcast._load, Broadcast._loaded = self.broadcasts
        self.broadcasts = broadcasts
        blocks = blockcache.current
        blockcache.use(self.blocks)
        self.blocks = blocks
        stdout = STDERR if sys.stdout is sys.stderr else sys.stdout
        sys.stdout = sys.stderr if self.stdout is STDERR else self.stdout
        self.stdout = stdout
