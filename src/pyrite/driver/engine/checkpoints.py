"""Checkpoints: RDDs that are written once, so that recovery starts from there."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from pyrite.cluster.port import Joinable
from pyrite.driver.engine.results import result_blocks
from pyrite.errors import ContextStopped, JobCancelled, Refused
from pyrite.ids import RddId
from pyrite.interrupts import Uninterrupted
from pyrite.io.uris import with_scheme
from pyrite.probe import probe
from pyrite.rdd.functions import gather
from pyrite.rdd.sources import EachSplit, Files, Slices
from pyrite.schedule.events import CheckpointEnded

if TYPE_CHECKING:
    from pyrite.context import SparkContext
    from pyrite.rdd.rdd import RDD


class Checkpoint:
    """The state of one marked RDD."""

    def __init__(self, local: bool, forced: bool = False) -> None:
        self.local = local
        # Whether it was asked for after the RDD was computed: then no job waits for it.
        self.forced = forced
        self.folder: str | None = None
        self.thread: Joinable | None = None
        self.writer = 0
        self.error: BaseException | None = None
        self.done = False


class Checkpoints:
    """Marked RDDs; each is written in the background after the first job that computes it."""

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self.folder: str | None = None
        self.marked: weakref.WeakKeyDictionary[RDD[Any], Checkpoint] = weakref.WeakKeyDictionary()
        self.waiting: weakref.WeakSet[RDD[Any]] = weakref.WeakSet()
        self.writing: weakref.WeakSet[RDD[Any]] = weakref.WeakSet()
        self.lock = threading.Lock()

    def set_folder(self, folder: str | PathLike[str]) -> None:
        from pyrite.io.filesystem import locate
        from pyrite.io.paths import address_of

        storage, path = locate(os.path.join(address_of(folder), os.urandom(8).hex()))
        storage.make_folder(path, parents=True)
        self.folder = storage.address(path)

    def mark(self, rdd: RDD[Any]) -> None:
        if self.folder is None:
            raise Refused("the checkpoint folder is not set: call sc.setCheckpointDir(folder)")
        self._mark(rdd, local=False)

    def mark_local(self, rdd: RDD[Any]) -> None:
        self._mark(rdd, local=True)

    def _mark(self, rdd: RDD[Any], local: bool) -> None:
        if rdd not in self.marked:
            self.marked[rdd] = Checkpoint(local)
            rdd.is_checkpointed = not local
            self.waiting.add(rdd)

    def force(self, rdd: RDD[Any]) -> None:
        """Starts to write a kept RDD now, in the background."""
        if self.folder is None:
            raise Refused("the checkpoint folder is not set: call sc.setCheckpointDir(folder)")
        if not rdd.is_cached:
            raise Refused(f"{rdd!r} is not kept: persist() it, so that its rows can be written")
        with self.lock:
            if rdd in self.marked:
                return
            self.marked[rdd] = Checkpoint(local=False, forced=True)
        rdd.is_checkpointed = True
        with Uninterrupted():
            self._start(rdd)

    def force_by_id(self, id: RddId) -> None:
        """Starts to write an RDD that the scheduler has chosen; if it is written, or is being
        written, the scheduler hears of it."""
        rdd: Any = self.context._engine.stages.kept.get(id)
        found = None if rdd is None else self.marked.get(rdd)
        if rdd is None or not rdd.is_cached:
            probe("an RDD is forgotten before its checkpoint begins")
            self.context._engine.post(CheckpointEnded(id, False, "it is no longer kept"))
        elif found is None:
            try:
                self.force(rdd)
            except Refused as error:
                # Another thread unpersisted it meanwhile; the driver's loop must not end.
                self.context._engine.post(CheckpointEnded(id, False, str(error)))
        elif found.local:
            self.context._engine.post(CheckpointEnded(id, False, "its lineage is cut", False))
        elif found.done:
            self.context._engine.post(CheckpointEnded(id, True))
        elif self._take(rdd):
            found.forced = True
            self._start(rdd)
        elif not found.forced and rdd not in self.writing:
            self.context._engine.post(CheckpointEnded(id, False, "its checkpoint failed", False))

    def is_local(self, rdd: RDD[Any]) -> bool:
        found = self.marked.get(rdd)
        return found is not None and found.local

    def is_done(self, rdd: RDD[Any]) -> bool:
        found = self._settled(rdd)
        return found is not None and found.done

    def folder_of(self, rdd: RDD[Any]) -> str | None:
        found = self._settled(rdd)
        if found is None or not found.done or found.folder is None:
            return None
        return with_scheme(found.folder)

    def _settled(self, rdd: RDD[Any]) -> Checkpoint | None:
        """Returns the RDD's checkpoint, after waiting for a write under way."""
        found = self.marked.get(rdd)
        own = found is not None and found.writer == threading.get_ident()
        if found is not None and found.forced:
            return found
        if found is not None and found.thread is not None and not own:
            found.thread.join()
            if found.error is not None:
                error, found.error = found.error, None
                raise error
        return found

    def before_job(self, rdd: RDD[Any]) -> None:
        """Waits for writes of RDDs that the job would otherwise recompute."""
        if not self.writing:
            return
        for each in lineage_of(rdd):
            if each in self.writing:
                self._settled(each)

    def after_job(self, rdd: RDD[Any]) -> None:
        """Starts to write the marked RDDs that the job computed."""
        if not self.waiting:
            return
        with Uninterrupted():
            for each in lineage_of(rdd):
                if self._take(each):
                    self._start(each)

    def _take(self, rdd: RDD[Any]) -> bool:
        """True for the only thread that is to write the RDD."""
        with self.lock:
            waits = rdd in self.waiting
            self.waiting.discard(rdd)
            return waits

    def _start(self, rdd: RDD[Any]) -> None:
        found = self.marked[rdd]
        # Local ones are cheap to write, and their lineage should be freed at once.
        if found.local:
            try:
                self._write(rdd, found, self._write_local)
            except (JobCancelled, KeyboardInterrupt):
                # The next job that computes it tries again.
                self.waiting.add(rdd)
                raise
            return
        if not found.forced:
            self.context._skip_rdd_ids(1)
        work = partial(self._write, rdd, found, self._write_folder)
        properties, _ = self.context._flags.copy()
        # Cancelling a group's jobs must not cancel the checkpoint.
        properties.pop("spark.jobGroup.id", None)

        def run() -> None:
            found.writer = threading.get_ident()
            self.context._flags.adopt((properties, set()))
            self.context._flags.counted = False
            try:
                work()
                self._end(rdd, found, None)
            except JobCancelled as error:
                probe("a checkpoint is cancelled")
                self.waiting.add(rdd)
                self._end(rdd, found, error)
            except BaseException as error:
                if found.forced:
                    self.waiting.add(rdd)
                    self._end(rdd, found, error)
                    return
                # Without its traceback, which would keep the RDD and its checkpoint alive.
                found.error = copy(error)
                # The scheduler may count on it.
                self._end(rdd, found, error)
            finally:
                self.writing.discard(rdd)

        if not found.forced:
            self.writing.add(rdd)
        # Other threads join it as soon as it is set.
        found.thread = self.context._engine.threads.start(run, f"checkpoint-{rdd.id()}")

    def _end(self, rdd: RDD[Any], found: Checkpoint, error: BaseException | None) -> None:
        """Tells the scheduler of the end of a write."""
        reason = "" if error is None else f"{type(error).__name__}: {error}"
        if found.forced and error is not None and not isinstance(error, ContextStopped):
            message = "the checkpoint of %s failed and is tried again after a job that reads it: %s"
            # A handler may hold what is logged, which must not hold the RDD.
            logging.getLogger("pyrite").warning(message, repr(rdd), reason)
        self.context._engine.post(CheckpointEnded(rdd._id, error is None, reason))

    def finish(self) -> None:
        """Waits for all writes under way."""
        for found in list(self.marked.values()):
            if found.thread is not None:
                found.thread.join()

    def _write(
        self,
        rdd: RDD[Any],
        found: Checkpoint,
        write: Callable[[RDD[Any], Checkpoint], Any],
    ) -> None:
        self.context._engine.replace(rdd, write(rdd, found))
        found.done = True

    def _write_folder(self, rdd: RDD[Any], found: Checkpoint) -> Files:
        from pyrite.io.commit import part_name
        from pyrite.io.pickles import read_rows
        from pyrite.io.splits import whole_split

        assert self.folder is not None
        folder = f"{self.folder}/rdd-{rdd.id()}"
        rdd._save(folder, write_rows_of_checkpoint, unseen=0)
        found.folder = folder
        names = [part_name(index) for index in range(rdd.getNumPartitions())]
        parts = [[whole_split(f"{folder}/{name}")] for name in names]
        return Files("checkpoint", lambda: parts, EachSplit(read_rows))

    def _write_local(self, rdd: RDD[Any], found: Checkpoint) -> Slices:
        engine = self.context._engine
        parts = range(rdd.getNumPartitions())
        slices = engine.run_encoded(rdd, gather, parts, self.context._job_flags())
        refs = [ref for each in slices for ref in result_blocks(each)]
        engine.release_when_gone(rdd, refs)
        return Slices(slices)


def write_rows_of_checkpoint(path: str, rows: Iterator[Any]) -> None:
    from pyrite.io.pickles import write_rows

    write_rows(path, rows)


def lineage_of(rdd: RDD[Any]) -> Iterator[RDD[Any]]:
    """The RDD and all its ancestors, each once."""
    seen = {rdd}
    pending: list[Any] = [rdd]
    while pending:
        current = pending.pop()
        yield current
        for dependency in current.dependencies:
            if dependency.rdd not in seen:
                seen.add(dependency.rdd)
                pending.append(dependency.rdd)
