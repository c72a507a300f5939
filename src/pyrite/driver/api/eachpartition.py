"""Runs a job for each partition, one after another, as the results are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from pyrite.driver.api.flags import JobFlags
from pyrite.driver.engine.engine import LOST_RESULTS, Engine
from pyrite.driver.engine.jobwaiters import Waiter
from pyrite.driver.engine.results import ResultBatches, ResultLost
from pyrite.errors import ClusterError
from pyrite.interrupts import Uninterrupted
from pyrite.probe import probe
from pyrite.rdd.base import Lineage
from pyrite.rdd.frozen import Frozen


class EachPartition:
    """Batches of rows in the order of the partitions; with `prefetch`, one job runs ahead.

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
        # The partition that is being read, if any.
        self.reading: list[ResultBatches] = []
        self.index = -1
        # The checksums of what was returned of it.
        self.returned: list[int] = []
        gone = partial(end_all, engine, self.running, self.reading)
        engine.cluster.call_when_gone(self, gone)

    def __iter__(self) -> Iterator[list[Any]]:
        return self

    def __next__(self) -> list[Any]:
        with Uninterrupted():
            try:
                while self.reading or self._start_reading():
                    if (batch := self._next_batch()) is not None:
                        return batch
                    self.reading.clear()
                if self.finish is not None:
                    self.finish()
                    self.finish = None
            except BaseException:
                self.position = len(self.partitions)
                self.finish = None
                end_all(self.engine, self.running, self.reading)
                raise
            raise StopIteration

    def _submit(self) -> None:
        while self.position < len(self.partitions) and len(self.running) < self.most_running:
            wanted = [self.partitions[self.position]]
            self.running.append(self.engine.submit(self.rdd, self.frozen, wanted, self.flags))
            self.position += 1

    def _start_reading(self) -> bool:
        """Waits for the next partition; False after the last one."""
        self._submit()
        if not self.running:
            return False
        waiter = self.running[0]
        waiter.wait()
        self.engine.finish(waiter)
        self.index, result = waiter.results.popleft()
        self.returned = []
        self.reading.append(self.engine.batches(result))
        self.engine.end(self.running.pop(0))
        return True

    def _next_batch(self) -> list[Any] | None:
        for losses in range(LOST_RESULTS + 1):
            try:
                if losses:
                    self._read_again()
                batch = next(self.reading[0], None)
                self.returned = self.reading[0].checksums
                return batch
            except ResultLost:
                probe("a part of a result is lost before it is read")
                if losses == LOST_RESULTS:
                    raise
        raise AssertionError("the last try returns or raises")

    def _read_again(self) -> None:
        """Computes the partition again, and goes on behind the rows that were returned."""
        self.reading[0].close()
        uncounted = self.flags._replace(counted=False)
        waiter = self.engine.submit(self.rdd, self.frozen, [self.index], uncounted)
        try:
            waiter.wait()
            self.engine.finish(waiter)
            _, result = waiter.results.popleft()
        finally:
            self.engine.end(waiter)
        self.reading[0] = batches = self.engine.batches(result)
        for _ in islice(batches, len(self.returned)):
            pass
        if batches.checksums != self.returned:
            raise ClusterError(
                f"rows of partition {self.index} were lost after others of it had been returned, "
                "and they come in another order when they are computed again: iterate anew"
            )


def end_all(engine: Engine, running: list[Waiter], reading: list[ResultBatches]) -> None:
    """Ends the jobs, also those that still run, and frees what was not read."""
    waiters, batches = running[:], reading[:]
    running.clear()
    reading.clear()
    for each in batches:
        each.close()
    engine.end(*waiters)
