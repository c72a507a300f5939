"""Jobs as RDDs and the user ask for them: whole, one partition after another, or by a deadline."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from pyrite.driver.desk import Waiter
from pyrite.driver.engine import Engine, ResultLost
from pyrite.driver.flags import Flags, JobFlags
from pyrite.errors import UserError

if TYPE_CHECKING:
    from pyrite.driver.checkpoints import Checkpoints
    from pyrite.rdd.rdd import RDD

R = TypeVar("R")


class Jobs:
    """The part of a context that runs jobs."""

    _engine: Engine
    _flags: Flags
    _checkpoints: Checkpoints
    _python_paths: list[str]

    def _job_flags(self) -> JobFlags:
        properties, tags = self._flags.copy()
        paths = tuple(self._python_paths)
        return JobFlags(properties, frozenset(tags), paths, self._flags.counted)

    def _run(
        self,
        rdd: RDD[Any],
        task: Callable[[int, Iterator[Any]], R],
        partitions: Sequence[int] | None = None,
    ) -> list[R]:
        """One result per partition, in the order asked for."""
        self._engine.check_usable()
        self._checkpoints.before_job(rdd)
        wanted = checked_partitions(rdd, partitions)
        results = self._engine.run(rdd, task, wanted, self._job_flags())
        self._checkpoints.after_job(rdd)
        return results

    def _run_each(
        self,
        rdd: RDD[Any],
        task: Callable[[int, Iterator[Any]], R],
        partitions: Sequence[int] | None,
        prefetch: bool,
    ) -> Iterator[R]:
        """Results of one partition after another; the next is under way where prefetched."""
        wanted = checked_partitions(rdd, partitions)
        flags = self._job_flags()
        engine = self._engine
        waiting: list[Waiter] = []
        position = 0
        try:
            while waiting or position < len(wanted):
                while position < len(wanted) and len(waiting) < 1 + prefetch:
                    waiting.append(engine.submit(rdd, task, [wanted[position]], flags))
                    position += 1
                waiter = waiting[0]
                waiter.wait()
                engine.finish(waiter)
                index, result = waiter.results.popleft()
                found: list[R]
                try:
                    found = [engine.decode(result)]
                except ResultLost:
                    found = engine.run(rdd, task, [index], flags._replace(counted=False))
                engine.end(waiting.pop(0))
                yield from found
        finally:
            for waiter in waiting:
                engine.end(waiter)
        self._checkpoints.after_job(rdd)

    def _run_approximately(
        self, rdd: RDD[Any], task: Callable[[int, Iterator[Any]], R], timeout_s: float
    ) -> dict[int, R]:
        """The results of the partitions that finished in time; the others are cancelled."""
        engine = self._engine
        wanted = checked_partitions(rdd, None)
        waiter = engine.submit(rdd, task, wanted, self._job_flags())
        try:
            if waiter.wait_until(timeout_s):
                engine.finish(waiter)
            results = {}
            while waiter.results:
                index, result = waiter.results.popleft()
                with suppress(ResultLost):
                    results[index] = engine.decode(result)
            return results
        finally:
            engine.end(waiter)


def checked_partitions(rdd: RDD[Any], partitions: Sequence[int] | None) -> Sequence[int]:
    count = rdd.getNumPartitions()
    if partitions is None:
        return range(count)
    for index in partitions:
        # Anything else, even 2.0, would reach the scheduler, which counts with it.
        if not isinstance(index, SupportsIndex) or not 0 <= index < count:
            raise UserError(f"{rdd!r} has {count} partitions; there is no partition {index!r}")
    return list(map(operator.index, partitions))
