"""Measures the attempts of an executor; its clock comes from the store, and so from the port."""

from __future__ import annotations

import resource
import sys
import time
from typing import NamedTuple, Protocol

from pyrite.execute.sampler import StackSampler
from pyrite.metrics import COUNTS, TaskMetrics

PEAK_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


class Moment(NamedTuple):
    """A moment on the executor's clocks: of the wall and of its processor."""

    wall_s: float
    cpu_s: float


class TaskClock(Protocol):
    """How an executor tells the time."""

    def start_task(self) -> Moment:
        """When the task that runs now began."""

    def moment(self) -> Moment:
        """Now."""

    def peak_memory_bytes(self) -> int:
        """The most memory that the process has had so far."""


class ProcessClock:
    """The clocks of this process."""

    def start_task(self) -> Moment:
        return self.moment()

    def moment(self) -> Moment:
        return Moment(time.perf_counter(), time.process_time())

    def peak_memory_bytes(self) -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT_BYTES


class Meter:
    """The measurements of one attempt after another."""

    def __init__(self, clock: TaskClock) -> None:
        self.clock = clock
        self.began = Moment(0.0, 0.0)
        self.sampler: StackSampler | None = None

    def start(self) -> None:
        COUNTS.clear()
        if self.sampler is not None:
            self.sampler.start()
        self.began = self.clock.start_task()

    def stop(self) -> TaskMetrics:
        """What was measured since the start."""
        ended, counts = self.clock.moment(), COUNTS
        return TaskMetrics(
            max(0.0, ended.wall_s - self.began.wall_s - counts.deserialize_s),
            max(0.0, ended.cpu_s - self.began.cpu_s - counts.deserialize_cpu_s),
            counts.deserialize_s,
            counts.fetch_wait_s,
            counts.gc_s,
            counts.rows_read,
            counts.rows_written,
            counts.read_bytes,
            counts.written_bytes,
            counts.shuffle_local_bytes,
            counts.shuffle_remote_bytes,
            counts.shuffle_prefetched_bytes,
            counts.spilled_bytes,
            self.clock.peak_memory_bytes(),
            () if self.sampler is None else self.sampler.stop(),
        )
