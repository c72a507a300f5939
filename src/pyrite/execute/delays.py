"""How long kept partitions take to compute, each without the kept ones that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

from pyrite.ids import Partition

T = TypeVar("T")


class Delays:
    """Measures at the boundaries of partitions and batches, never by row (Stark, III-D1).

    While a kept partition is computed, others may be computed inside it: their time is theirs.
    """

    def __init__(self) -> None:
        self.clock: Callable[[], float] = perf_counter
        self.spent_s: dict[Partition, float] = {}
        # The time of inner partitions, for each that is under way.
        self.inner_s: list[float] = []

    @contextmanager
    def of(self, partition: Partition) -> Iterator[None]:
        """Counts the block's time for a partition."""
        start_s = self.clock()
        self.inner_s.append(0.0)
        try:
            yield
        finally:
            total_s = self.clock() - start_s
            own_s = total_s - self.inner_s.pop()
            self.spent_s[partition] = self.spent_s.get(partition, 0.0) + own_s
            if self.inner_s:
                self.inner_s[-1] += total_s

    def while_read(self, partition: Partition, batches: Iterator[T]) -> Iterator[T]:
        """Counts the time that batches take to be made, not what is done with them."""
        while True:
            with self.of(partition):
                batch = next(batches, self)
            if isinstance(batch, Delays):
                return
            yield batch

    def take(self, partition: Partition) -> float:
        """Returns the time that a partition has taken, and forgets it."""
        return self.spent_s.pop(partition, 0.0)

    def start_partition(self) -> None:
        """Forgets what was under way when the last one failed."""
        self.inner_s.clear()

    def end_task(self) -> None:
        """Forgets partitions that found no room."""
        self.spent_s.clear()
