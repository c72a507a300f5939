"""The engine: the scheduler, a cluster and the loop between them, behind `run`."""

from __future__ import annotations

import itertools
import os
import pickle
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from pyrite import accumulators
from pyrite.blocks.codec import frame_size
from pyrite.cluster.port import Cluster, drive
from pyrite.driver.api.flags import JobFlags
from pyrite.driver.engine.freezer import Freezer
from pyrite.driver.engine.jobwaiters import JobWaiters, Waiter
from pyrite.driver.engine.knownstages import KnownStages
from pyrite.driver.engine.namespaces import Namespaces
from pyrite.driver.engine.results import (
    Read,
    Result,
    ResultBatches,
    ResultLost,
    only_row,
    result_blocks,
    result_bytes,
)
from pyrite.driver.log.journal import Journal
from pyrite.errors import (
    ClusterError,
    ContextStopped,
    EngineError,
    ExecutorDied,
    TaskFailed,
    UserError,
)
from pyrite.execute.keeper import KeepPlan
from pyrite.execute.worker import MapWork
from pyrite.ids import BlockRef, JobId, NodeId, RddId, ShuffleId, StageId
from pyrite.interrupts import Interruptible, Uninterrupted
from pyrite.memory import MemoryReport
from pyrite.place.collectionreport import CollectionReport
from pyrite.plan.program import Program
from pyrite.plan.stages import Cut, StageCutter, StageSpec, stale_stages
from pyrite.probe import probe
from pyrite.rdd.base import Lineage
from pyrite.rdd.dependency import ShuffleDependency
from pyrite.rdd.frozen import Frozen
from pyrite.rdd.op import Op
from pyrite.rdd.partitioner import Router
from pyrite.rdd.partitioners import digest_of
from pyrite.schedule.events import (
    BlocksReleased,
    CancelRequested,
    CollectionsAsked,
    Event,
    JobSubmitted,
    MemoryAsked,
    NodeLeaves,
    RddForgotten,
    RddPersisted,
    ShuffleForgotten,
)
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.story import Story

# How often a result may be lost before its job fails.
LOST_RESULTS = 8

Task = Callable[[int, Iterator[Any]], Any]


class Engine:
    """Runs jobs; callable from any thread of the process that made it."""

    def __init__(
        self,
        scheduler: Scheduler,
        cluster: Cluster,
        stages: KnownStages,
        story: Story,
        journal: Journal | None,
        max_result_bytes: int,
        replay_file: str | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.max_result_bytes = max_result_bytes
        self.story = story
        self.journal = journal
        self.stages = stages
        self.rdd_ids = itertools.count()
        self.shuffle_ids = itertools.count()
        self.stage_ids = itertools.count()
        self.job_ids = itertools.count()
        self.question_ids = itertools.count()
        self.cutter = StageCutter(lambda: StageId(next(self.stage_ids)), self._prepare)
        self.freezer = Freezer()
        self.namespaces = Namespaces(self.post)
        # One thread at a time removes a node: the last one stays.
        self.removing = threading.Lock()
        # Old lineages of checkpointed RDDs, which running jobs may still need.
        self.replaced: list[Any] = []
        # Makes the profiler of a stage that ends with an RDD, where tasks are profiled.
        self.profile: Callable[[Lineage[Any]], bytes | None] = no_profile
        # The story that tasks can be run again from, where it holds their functions.
        self.replay_file = replay_file
        self.pid = os.getpid()
        self.stopped = False
        self.broken = False
        self.lost: ClusterError | UserError | None = None
        self.cluster = cluster
        self.threads = cluster.threads
        self.waiters = JobWaiters(self.threads, self._settle)
        self.loop_thread = 0
        self.loop = self.threads.start(self._loop, "pyrite-driver")

    def _loop(self) -> None:
        self.loop_thread = threading.get_ident()
        try:
            drive(self.scheduler, self.cluster, self.waiters, self.story)
        except (ClusterError, UserError) as error:
            self.broken = True
            self.lost = error
            self.waiters.fail_all(error)
        except Exception as error:
            self.broken = True
            report = EngineError(
                f"{type(error).__name__}: {error}\nThis is a bug in Pyrite. The story so far:\n"
                f"{self.story.text()}"
            )
            report.__cause__ = error
            self.waiters.fail_all(report)
            raise
        else:
            self.waiters.fail_all(ContextStopped("the context was stopped while the job ran"))
        finally:
            self.cluster.refuse()

    def stop(self) -> None:
        """Ends all jobs and processes."""
        if self.pid != os.getpid():
            return
        self.stopped = True
        self.cluster.close()
        self.loop.join()
        if self.journal is not None:
            self.journal.close(keep=self.broken)
        self.cluster.release()

    def ending(self) -> str | None:
        """Why this engine can't be used any more; None while it can."""
        if self.pid != os.getpid():
            return f"belongs to process {self.pid}, and this is process {os.getpid()}, a fork of it"
        return "was stopped" if self.stopped else None

    def check_usable(self) -> None:
        if ending := self.ending():
            raise ContextStopped(
                f"this SparkContext {ending}: make a new one, SparkContext.getOrCreate()"
            )
        if self.lost is not None:
            raise ClusterError(
                f"this SparkContext has lost its cluster and can't go on: {self.lost}; "
                "stop() it and make a new one"
            )
        if self.broken:
            raise EngineError(
                "this SparkContext met a bug in Pyrite, which an earlier error reported, and "
                "can't go on: stop() it and make a new one"
            )

    def skip_rdd_ids(self, count: int) -> None:
        """Leaves out the ids of RDDs that PySpark makes here, and Pyrite does not."""
        for _ in range(count):
            next(self.rdd_ids)

    # Stages

    def _prepare(self, stage: StageSpec, program: Program, dependency: ShuffleDependency) -> Cut:
        require_broadcasts(program)
        program.profiler = self.profile(dependency.rdd)
        cut = Cut(stage, program)
        self.stages.map_stages[stage.id] = cut
        self._retire(dependency.cut)
        return cut

    def replace(self, rdd: Lineage[Any], op: Op) -> None:
        """Has the RDD read its checkpoint from now on; its parents may be freed."""
        with self.freezer.lock:
            cuts = list(self.stages.map_stages.values())
            stale = stale_stages([cut.stage for cut in cuts], rdd._id)
            for cut in cuts:
                cut.stale = cut.stale or cut.stage.id in stale
            self._retire((rdd.op, rdd.dependencies))
            self.freezer.replace(rdd, op)

    def _retire(self, old: Any) -> None:
        if old is not None and self.stages.result_stages:
            self.replaced.append(old)

    # Jobs

    def submit(
        self, rdd: Lineage[Any], frozen: Frozen, partitions: Sequence[int], flags: JobFlags
    ) -> Waiter:
        """Starts a job on a frozen RDD; the caller waits for it and calls `end`, all in one
        uninterrupted block."""
        self.check_usable()
        with self.freezer.lock:
            with Interruptible():
                stage, program = self.cutter.result_stage(rdd, frozen)
                require_broadcasts(program)
                program.profiler = self.profile(rdd)
            self.stages.result_stages[stage.id] = stage, program
        job = JobId(next(self.job_ids))
        self.stages.flags[job] = flags
        waiter = Waiter(job, stage.id, flags.counted, self.threads)
        self.waiters.open(waiter)
        self.cluster.post(JobSubmitted(flags.spec(job, stage, partitions)))
        return waiter

    def end(self, *waiters: Waiter) -> None:
        """Gives up these jobs for their thread; cancels those that still run.

        The driver's thread forgets a job when it ends, whether or not a thread waits for that.
        """
        if self.pid != os.getpid():
            return
        running = [waiter for waiter in waiters if not self.waiters.leave(waiter)]
        for waiter in running:
            self.cluster.post(CancelRequested("its results are no longer wanted", waiter.job))
        # The loop's thread ends the jobs of freed iterators; it must not wait for itself.
        if threading.get_ident() != self.loop_thread:
            for waiter in running:
                waiter.wait()

    def _settle(self, waiter: Waiter) -> None:
        """Forgets a job that has ended and was given up by its thread."""
        self.release([ref for _, result in waiter.results for ref in result_blocks(result)])
        self.waiters.close(waiter.job)
        self.stages.result_stages.pop(waiter.stage, None)
        if not self.stages.result_stages:
            self.replaced.clear()
        self.stages.flags.pop(waiter.job, None)

    def run(
        self,
        rdd: Lineage[Any],
        frozen: Frozen,
        partitions: Sequence[int],
        flags: JobFlags,
        read: Read = only_row,
    ) -> list[Any]:
        """Runs a job; returns its results in the order of the requested partitions."""
        found: dict[int, Any] = {}
        wanted = partitions
        for last in (*[False] * LOST_RESULTS, True):
            with Uninterrupted():
                waiter = self.submit(rdd, frozen, wanted, flags)
                try:
                    waiter.wait()
                    self.finish(waiter)
                    for index, result in self._drain(waiter):
                        try:
                            found[index] = self.read(result, read)
                        except ResultLost:
                            if last:
                                raise
                finally:
                    self.end(waiter)
            wanted = [index for index in dict.fromkeys(partitions) if index not in found]
            if not wanted:
                break
            # Lost with its node before the driver read it; its accumulators have been counted.
            probe("a result is lost before it is read")
            flags = flags._replace(counted=False)
        return [found[index] for index in partitions]

    def run_encoded(
        self, rdd: Lineage[Any], task: Task, partitions: Sequence[int], flags: JobFlags
    ) -> list[bytes | tuple[BlockRef, ...]]:
        """Runs a job whose results stay encoded; the uninterrupted caller owns their blocks."""
        waiter = self.submit(rdd, self.freezer.copy(rdd, task), partitions, flags)
        try:
            waiter.wait()
            self.finish(waiter)
            found = dict(waiter.results)
            waiter.results.clear()
            return [result for index in partitions if (result := found[index]) is not None]
        finally:
            self.end(waiter)

    def _drain(self, waiter: Waiter) -> Iterator[tuple[int, Result]]:
        total = sum(result_bytes(result) for _, result in waiter.results)
        if self.max_result_bytes and total > self.max_result_bytes:
            raise UserError(
                f"the job's results take {total >> 20} MiB, more than spark.driver.maxResultSize "
                f"({self.max_result_bytes >> 20} MiB): collect less, or raise the limit"
            )
        while waiter.results:
            yield waiter.results.popleft()

    def finish(self, waiter: Waiter) -> None:
        """Applies accumulator updates, and raises the job's error."""
        for updates in waiter.updates if waiter.counted else ():
            accumulators.apply_updates(pickle.loads(updates))
        waiter.updates.clear()
        if waiter.error is not None:
            raise with_cure(with_original(waiter.error), self.replay_file)

    def read(self, result: Result, read: Read) -> Any:
        """Decodes a task's result; frees its blocks."""
        batches = self.batches(result)
        try:
            return read(batches)
        finally:
            batches.close()

    def batches(self, result: Result) -> ResultBatches:
        """Returns the rows of a task's result; the caller closes it."""
        return ResultBatches(result, self._open_block, self.release)

    def _open_block(self, ref: BlockRef) -> memoryview:
        try:
            return self.cluster.read(ref)
        except OSError:
            self.check_usable()
            raise

    # Memory

    def memory(self) -> MemoryReport:
        """Returns what is in the pools now."""
        return cast(MemoryReport, self._ask(MemoryAsked))

    def collections(self) -> tuple[CollectionReport, ...]:
        """Returns the collections as they are now."""
        return cast(tuple[CollectionReport, ...], self._ask(CollectionsAsked))

    def _ask(self, question: Callable[[int], Event]) -> object:
        """Asks the scheduler, and waits for its answer."""
        self.check_usable()
        with Uninterrupted():
            number = next(self.question_ids)
            answer = self.waiters.ask(number)
            self.post(question(number))
            return self.waiters.wait_for(answer)

    def add_node(self, pool_bytes: int) -> NodeId:
        """Adds a storage-only node."""
        self.check_usable()
        with Uninterrupted():
            return self.cluster.add_node(pool_bytes)

    def remove_node(self, node: NodeId, storage_only: bool = False) -> None:
        """Removes a node once its tasks have ended and its blocks have been moved."""
        with self.removing:
            self._remove_node(node, storage_only)

    def _remove_node(self, node: NodeId, storage_only: bool) -> None:
        nodes = self.memory().nodes[1:]
        known = [each.node for each in nodes if each.storage_only or not storage_only]
        what = "storage-only node" if storage_only else "node that can be removed"
        if node not in known:
            raise UserError(f"{node!r} is no {what}: there are {', '.join(known) or 'none'}")
        hosts = [each.node for each in nodes if not each.storage_only and not each.leaves]
        if hosts == [node]:
            raise UserError(f"{node!r} is the last node that runs tasks: stop the context instead")
        self.post(NodeLeaves(node))

    # Blocks, shuffles and kept RDDs

    def put(self, buffers: Sequence[Any]) -> BlockRef:
        """Writes encoded rows into the pool, as one block."""
        self.check_usable()
        try:
            return self.cluster.put(buffers, frame_size(buffers))
        except (OSError, ClusterError):
            # Another thread may have stopped the context meanwhile.
            self.check_usable()
            raise

    def release(self, refs: Sequence[BlockRef]) -> None:
        if refs:
            self.post(BlocksReleased(tuple(refs)))

    def post(self, event: Event) -> None:
        if not self.stopped and self.pid == os.getpid():
            self.cluster.post(event)

    def new_shuffle(self, rdd: Lineage[Any], router: Router, parts: int) -> ShuffleDependency:
        """Makes a shuffle; its outputs are dropped when it is freed."""
        frozen = self.freezer.copy(rdd, MapWork(router, parts))
        shuffle = ShuffleId(next(self.shuffle_ids))
        dependency = ShuffleDependency(rdd, router, parts, shuffle, frozen)
        self.forget_when_gone(dependency, ShuffleForgotten(shuffle))
        return dependency

    def persist(self, rdd: Lineage[Any], plan: KeepPlan) -> None:
        with Uninterrupted():
            rdd._plan = plan
            if rdd._id not in self.stages.kept:
                self.stages.kept[rdd._id] = rdd
                self.forget_when_gone(rdd, RddForgotten(rdd._id))
            digest = "" if rdd._namespace is None else digest_of(rdd.partitioner)
            self.post(RddPersisted(rdd._id, rdd._namespace_id, str(plan.level), digest))

    def unpersist(self, rdd: RddId) -> None:
        with Uninterrupted():
            if self.stages.kept.pop(rdd, None) is not None:
                self.post(RddForgotten(rdd))

    def forget_when_gone(self, owner: Any, event: Event) -> Callable[[], None]:
        """Posts the event when the object is freed, or when the returned function is called."""
        return self.cluster.post_when_gone(owner, event)

    def release_when_gone(self, owner: Any, refs: Sequence[BlockRef]) -> Callable[[], None]:
        """Frees blocks with their owner, or when the returned function is called."""
        return self.forget_when_gone(owner, BlocksReleased(tuple(refs)))


def no_profile(rdd: Lineage[Any]) -> bytes | None:
    return None


def require_broadcasts(program: Program) -> None:
    """Refuses a program whose functions captured a destroyed broadcast."""
    for broadcast in program.broadcasts:
        broadcast._require_usable()


def with_cure(error: Exception, replay_file: str | None) -> Exception:
    """Adds the command that runs a failed task again, where a story has its functions."""
    if isinstance(error, TaskFailed | ExecutorDied) and replay_file is not None:
        command = f"pyrite replay {shlex.quote(replay_file)} --task {error.stage}/{error.partition}"
        error.args = (f"{error}\nRun it again here under a debugger: {command}",)
    return error


def with_original(error: Exception) -> Exception:
    """Adds the exception object that the user's function raised to a task's failure."""
    if isinstance(error, TaskFailed) and error.pickled:
        try:
            error.original = pickle.loads(error.pickled)
        except Exception:
            error.original = None
    return error
