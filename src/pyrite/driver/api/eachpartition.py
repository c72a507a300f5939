"""Runs a job for each partition, one after another, as the results are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from pyrite.driver.api.flags import JobFlags
from pyrite.driver.engine.engine import Engine, ResultLost
from pyrite.driver.engine.jobwaiters import Waiter
from pyrite.interrupts import Uninterrupted
from pyrite.rdd.base import Lineage
from pyrite.rdd.frozen import Frozen

R = TypeVar("R")


class EachPartition(Generic[R]):
    """Results in the order of the partitions; with `prefetch`, one job runs ahead.

    Not a generator: Ctrl-C could interrupt a generator's cleanup. The loop's thread ends the jobs
    of an iterator that is freed.
    """

    def __init__(
        self,
        engine: Engine,
        rdd: Lineage[Any],
        frozen: Frozen,
        partitions: Sequence[int],
        flags: JobFlags,
        prefetch: bool,
        finish: Callable[[], None],
    ) -> None:
        self.engine = engine
        self.rdd = rdd
        self.frozen = frozen
        self.partitions = partitions
        self.flags = flags
        self.most_running = 1 + prefetch
        self.finish: Callable[[], None] | None = finish
        self.position = 0
        self.running: list[Waiter] = []
        engine.cluster.call_when_gone(self, partial(end_all, engine, self.running))

    def __iter__(self) -> Iterator[R]:
        return self

    def __next__(self) -> R:
        with Uninterrupted():
            try:
                self._submit()
                if self.running:
                    return self._read_first()
                if self.finish is not None:
                    self.finish()
                    self.finish = None
            except BaseException:
                self.position = len(self.partitions)
                self.finish = None
                end_all(self.engine, self.running)
                raise
            raise StopIteration

    def _submit(self) -> None:
        while self.position < len(self.partitions) and len(self.running) < self.most_running:
            wanted = [self.partitions[self.position]]
            self.running.append(self.engine.submit(self.rdd, self.frozen, wanted, self.flags))
            self.position += 1

    def _read_first(self) -> R:
        waiter = self.running[0]
        waiter.wait()
        self.engine.finish(waiter)
        index, result = waiter.results.popleft()
        try:
            found: R = self.engine.decode(result)
        except ResultLost:
            uncounted = self.flags._replace(counted=False)
            [found] = self.engine.run(self.rdd, self.frozen, [index], uncounted)
        self.engine.end(self.running.pop(0))
        return found


def end_all(engine: Engine, running: list[Waiter]) -> None:
    """Ends the jobs, also those that still run."""
    waiters = running[:]
    running.clear()
    engine.end(*waiters)
