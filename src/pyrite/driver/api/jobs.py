"""Runs jobs: on all partitions at once, one partition after another, or until a deadline."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from pyrite.blocks.undo import saving
from pyrite.driver.api.eachpartition import EachPartition
from pyrite.driver.api.flags import Flags, JobFlags
from pyrite.driver.engine.engine import Engine, no_profile
from pyrite.driver.engine.results import Read, ResultLost, all_rows, only_row
from pyrite.errors import Refused
from pyrite.interrupts import Interruptible, Uninterrupted
from pyrite.rdd.callsite import call_site
from pyrite.rdd.streamed import Streamed

if TYPE_CHECKING:
    from pyrite.driver.engine.checkpoints import Checkpoints
    from pyrite.io.commit import FolderCommit
    from pyrite.rdd.rdd import RDD

R = TypeVar("R")


class JobMethods:
    """The part of a context that runs jobs."""

    _engine: Engine
    _flags: Flags
    _checkpoints: Checkpoints
    _python_paths: list[str]

    def _job_flags(self) -> JobFlags:
        properties, tags = self._flags.copy()
        paths = tuple(self._python_paths)
        called = call_site()
        counted = self._flags.counted
        return JobFlags(properties, frozenset(tags), paths, counted, called.method, called.whole)

    def _run(
        self,
        rdd: RDD[Any],
        task: Callable[[int, Iterator[Any]], R],
        partitions: Sequence[int] | None = None,
        frozen: bool = False,
        unseen: int = 1,
    ) -> list[R]:
        """Returns one result per partition, in the requested order.

        `frozen` is for tasks of Pyrite's own: they run on the RDD as it was frozen. Other tasks are
        pickled with its functions as they are now. PySpark makes `unseen` RDDs to run them.
        """
        return self._run_and_read(rdd, task, partitions, frozen, unseen, only_row)

    def _run_rows(
        self,
        rdd: RDD[Any],
        task: Callable[[int, Iterator[Any]], Streamed],
        partitions: Sequence[int] | None = None,
        frozen: bool = False,
        unseen: int = 1,
    ) -> list[list[Any]]:
        """Returns the rows that the task streams of each partition."""
        return self._run_and_read(rdd, task, partitions, frozen, unseen, all_rows)

    def _run_and_read(
        self,
        rdd: RDD[Any],
        task: Callable[[int, Iterator[Any]], Any],
        partitions: Sequence[int] | None,
        frozen: bool,
        unseen: int,
        read: Read,
    ) -> list[Any]:
        engine = self._engine
        engine.check_usable()
        with Interruptible():
            self._checkpoints.before_job(rdd)
            wanted = checked_partitions(rdd, partitions)
            freezer = engine.freezer
            if not frozen:
                if engine.profile is not no_profile:
                    # Profiles are named by it, as by the first of those ids in PySpark.
                    rdd.id()
                engine.skip_rdd_ids(unseen)
            work = freezer.copy_of_frozen(rdd, task) if frozen else freezer.copy(rdd, task)
        results = engine.run(rdd, work, wanted, self._job_flags(), read)
        self._checkpoints.after_job(rdd)
        return results

    def _saving(self, commit: FolderCommit) -> AbstractContextManager[None]:
        """Starts a save, which is undone if the block fails or the driver dies."""
        self._engine.check_usable()
        return saving(self._engine.cluster.scratch_folder(), commit)

    def _run_each(
        self,
        rdd: RDD[Any],
        task: Callable[[int, Iterator[Any]], Streamed],
        partitions: Sequence[int] | None,
        prefetch: bool,
    ) -> Iterator[list[Any]]:
        """Returns the rows that the task streams, batch by batch and partition by partition; with
        `prefetch`, one job runs ahead."""
        frozen = self._engine.freezer.copy_of_frozen(rdd, task)
        wanted = checked_partitions(rdd, partitions)
        finish = partial(self._checkpoints.after_job, rdd)
        return EachPartition(self._engine, rdd, frozen, wanted, self._job_flags(), prefetch, finish)

    def _run_approximately(
        self, rdd: RDD[Any], task: Callable[[int, Iterator[Any]], R], timeout_s: float
    ) -> dict[int, R]:
        """Returns the results of partitions that finish in time; cancels the others."""
        engine = self._engine
        wanted = checked_partitions(rdd, None)
        # Of the function's results, as objects of Java, and as numbers.
        engine.skip_rdd_ids(3)
        work = engine.freezer.copy(rdd, task)
        with Uninterrupted():
            waiter = engine.submit(rdd, work, wanted, self._job_flags())
            try:
                if waiter.wait_until(timeout_s):
                    engine.finish(waiter)
                results = {}
                while waiter.results:
                    index, result = waiter.results.popleft()
                    with suppress(ResultLost):
                        results[index] = engine.read(result, only_row)
                # Sums of floats depend on the order.
                return dict(sorted(results.items()))
            finally:
                engine.end(waiter)


def checked_partitions(rdd: RDD[Any], partitions: Sequence[int] | None) -> Sequence[int]:
    count = rdd.getNumPartitions()
    if partitions is None:
        return range(count)
    for index in partitions:
        # Anything else, even 2.0, would reach the scheduler.
        if not isinstance(index, SupportsIndex) or not 0 <= index < count:
            raise Refused(f"{rdd!r} has {count} partitions; there is no partition {index!r}")
    return list(map(operator.index, partitions))
