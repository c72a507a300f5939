"""What an executor measures of one attempt: durations and counts, never moments of its clock."""

from __future__ import annotations

from typing import NamedTuple


class TaskMetrics(NamedTuple):
    """The measurements of one attempt.

    Clocks of two hosts are never compared, so only durations travel. Rows are counted by batch.
    """

    # Computing, without loading the functions; and the processor's time in it.
    run_s: float = 0.0
    cpu_s: float = 0.0
    # Unpickling the stage's functions and the task's own rows.
    deserialize_s: float = 0.0
    # Waiting for blocks of other nodes.
    fetch_wait_s: float = 0.0
    gc_s: float = 0.0
    # Rows of sources, shuffles and kept partitions; rows of results, map outputs and files.
    rows_read: int = 0
    rows_written: int = 0
    # Bytes of files.
    read_bytes: int = 0
    written_bytes: int = 0
    # Parts of map outputs, by where they lay.
    shuffle_local_bytes: int = 0
    shuffle_remote_bytes: int = 0
    shuffle_prefetched_bytes: int = 0
    spilled_bytes: int = 0
    # The most memory that the executor's process has had so far.
    peak_memory_bytes: int = 0
    # Where its stack was how often, if it was sampled.
    samples: tuple[tuple[str, int], ...] = ()


NO_METRICS = TaskMetrics()


class Counts:
    """What the running task of this process has read, written and waited for so far.

    Each process has one, and those who read or write add to it by batch: never by row.
    """

    __slots__ = (
        "deserialize_cpu_s",
        "deserialize_s",
        "fetch_wait_s",
        "gc_s",
        "read_bytes",
        "rows_read",
        "rows_written",
        "shuffle_local_bytes",
        "shuffle_prefetched_bytes",
        "shuffle_remote_bytes",
        "spilled_bytes",
        "written_bytes",
    )

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begins anew, for the next task."""
        self.deserialize_s = self.deserialize_cpu_s = self.fetch_wait_s = self.gc_s = 0.0
        self.rows_read = self.rows_written = 0
        self.read_bytes = self.written_bytes = 0
        self.shuffle_local_bytes = self.shuffle_remote_bytes = 0
        self.shuffle_prefetched_bytes = self.spilled_bytes = 0

    def exchange(self, other: Counts) -> None:
        """Exchanges the counts of two processes that share this one, as simulated executors do."""
        for name in self.__slots__:
            mine = getattr(self, name)
            setattr(self, name, getattr(other, name))
            setattr(other, name, mine)


COUNTS = Counts()
