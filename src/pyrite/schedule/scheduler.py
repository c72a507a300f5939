"""The scheduler: told an event and the time, it answers with commands. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from pyrite.blocks.pool import Pool
from pyrite.errors import JobCancelled
from pyrite.ids import (
    AttemptId,
    BlockRef,
    ExecutorId,
    JobId,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.plan.stages import StageSpec
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.commands import (
    CancelTask,
    Command,
    CountAccumulators,
    DeliverResult,
    DropBroadcast,
    DropRdd,
    DropSegments,
    DropShuffle,
    FinishJob,
    ForgetStage,
    GrantSpace,
    KillExecutor,
    LaunchTask,
    ReleaseBarrier,
    SetTimer,
    StartExecutor,
)
from pyrite.schedule.events import Event
from pyrite.schedule.health import ExclusionRule, Health
from pyrite.schedule.kept import Kept
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.pools import PoolShare, fair, fifo
from pyrite.schedule.runs import Job, StageRun
from pyrite.schedule.taskset import Attempt, Speculation, TaskSet

# An executor that ends before it ran a task this often in a row will not start at all.
FAILED_STARTS = 8


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that decisions depend on."""

    max_failures: int = 1
    max_deaths: int = 4
    max_fetch_failures: int = 4
    locality_wait_s: float = 3.0
    cancel_grace_s: float = 2.0
    pool_bytes: int = 1 << 30
    fair: bool = False
    shares: dict[str, PoolShare] = field(default_factory=dict)
    speculation: Speculation | None = None
    speculation_interval_s: float = 0.1
    exclusion: ExclusionRule = field(default_factory=ExclusionRule)


@dataclass(slots=True)
class Executor:
    """An executor that is alive, and what it does."""

    id: ExecutorId
    node: NodeId
    slot: int
    attempt: Attempt | None = None
    ran: int = 0


class Scheduler:
    """Which stage, which task, which executor, what to redo."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.jobs: dict[JobId, Job] = {}
        self.runs: dict[StageId, StageRun] = {}
        self.outputs = Outputs()
        self.kept = Kept()
        self.persisted: set[RddId] = set()
        self.pool = Pool(rules.pool_bytes)
        self.health = Health(rules.exclusion)
        self.executors: dict[ExecutorId, Executor] = {}
        self.free: dict[ExecutorId, Executor] = {}
        self.slots: list[ExecutorId | None] = []
        self.attempts: dict[AttemptId, Attempt] = {}
        self.cancelled_groups: set[str] = set()
        self.failed_starts = 0
        self.next_attempt = 0
        self.commands: list[Command] = []
        self.now_s = 0.0

    def handle(self, event: Event, now_s: float) -> list[Command]:
        """Takes in what happened; gives what should happen."""
        self.now_s = now_s
        self.commands = []
        self._dispatch(event)
        self._launch()
        return self.commands

    def _dispatch(self, event: Event) -> None:
        match event:
            case ev.TaskSucceeded():
                self._on_succeeded(event)
            case ev.JobSubmitted():
                self._on_submitted(event)
            case ev.TaskFailed():
                self._on_failed(event)
            case ev.TaskCancelled():
                self._on_cancelled(event)
            case ev.FetchFailed():
                self._on_fetch_failed(event)
            case ev.CancelRequested():
                self._on_cancel_requested(event)
            case ev.SpaceWanted():
                granted, gone = self.pool.want(event.owner, event.segment, event.bytes)
                self._drop(gone)
                self.commands.append(GrantSpace(event.owner, event.segment, granted))
            case ev.BlockPut():
                self.pool.pin(event.ref)
            case ev.BlocksReleased():
                self._release(event.refs)
            case ev.ShuffleForgotten():
                self._release(self.outputs.forget(event.shuffle))
                self.commands.append(DropShuffle(event.shuffle))
            case ev.RddPersisted():
                self.persisted.add(event.rdd)
            case ev.RddForgotten():
                self._forget_rdd(event.rdd)
            case ev.BroadcastForgotten():
                self.commands.append(DropBroadcast(event.broadcast))
            case ev.BlockLost():
                if self.kept.drop_block(event.partition, event.ref):
                    self._release([event.ref])
            case ev.ExecutorJoined():
                self._on_joined(event)
            case ev.ExecutorLost():
                self._on_lost(event)
            case ev.BarrierReached():
                self._on_barrier_reached(event)
            case ev.TimerFired():
                self._on_timer(event.name)
            case _:
                assert_never(event)

    # Jobs and stages

    def _on_submitted(self, event: ev.JobSubmitted) -> None:
        spec = event.job
        job = Job(spec, dict.fromkeys(spec.partitions))
        self.jobs[spec.id] = job
        if spec.group is not None and spec.group in self.cancelled_groups:
            self._end_job(job, JobCancelled(f"job {spec.id}: group {spec.group!r} was cancelled"))
        elif not job.unfinished:
            self._end_job(job, None)
        else:
            self._want(spec.stage, job)
            if self.rules.speculation is not None:
                self._set_timer("speculation", self.rules.speculation_interval_s)

    def _want(self, stage: StageSpec, job: Job) -> None:
        """Makes sure that the stage, and what it needs, is under way for the job."""
        pending = [stage]
        while pending:
            spec = pending.pop()
            run = self.runs.get(spec.id)
            if run is None:
                run = StageRun(spec, {}, job.spec.pool)
                self.runs[spec.id] = run
            run.jobs[job.spec.id] = None
            job.stages[spec.id] = None
            if run.tasks is not None and not run.tasks.paused:
                continue
            missing = self._missing_inputs(spec)
            run.missing = dict.fromkeys(missing)
            if missing:
                pending.extend(spec.parents[shuffle] for shuffle in missing)
            else:
                self._start_tasks(run)

    def _missing_inputs(self, spec: StageSpec) -> list[ShuffleId]:
        kept = self._kept_ids()
        needed = spec.shape.needed_shuffles(self.kept.count, kept)
        missing = []
        for shuffle in needed:
            parent = spec.parents[shuffle]
            if not self.outputs.of(shuffle, parent.partitions).complete:
                missing.append(shuffle)
        return missing

    def _kept_ids(self) -> set[int]:
        return self.kept.live.keys() | self.kept.blocks.keys()

    def _start_tasks(self, run: StageRun) -> None:
        if run.tasks is not None:
            run.tasks.paused = False
            for partition in self._unfinished(run):
                if partition not in run.tasks.running:
                    run.tasks.add(partition)
            return
        partitions = self._unfinished(run)
        if run.spec.barrier and len(partitions) > len(self.slots):
            self._fail_stage(run, reports.barrier_too_wide(run.spec, len(self.slots)))
            return
        run.tasks = TaskSet(
            run.spec.id,
            partitions,
            self._preferences(run.spec, partitions),
            len(self.slots),
            self.rules.locality_wait_s,
            self.now_s,
        )
        if not partitions:
            self._finish_stage(run)

    def _unfinished(self, run: StageRun) -> list[int]:
        if run.spec.writes is None:
            return list(self.jobs[JobId(run.job)].unfinished)
        return self.outputs.of(run.spec.writes, run.spec.partitions).missing()

    def _preferences(
        self, spec: StageSpec, partitions: Iterable[int]
    ) -> dict[int, list[ExecutorId]]:
        live = self.kept.live.keys()
        if spec.shape.rdds.isdisjoint(live):
            return {}
        found = {}
        for index in partitions:
            holders: list[ExecutorId] = []
            for partition in spec.shape.kept_partitions(index, live):
                holders += self.kept.executors(partition)
            if holders:
                # Where most of the task's kept partitions are.
                best = max(map(holders.count, holders))
                found[index] = [
                    each for each in dict.fromkeys(holders) if holders.count(each) == best
                ]
        return found

    def _finish_stage(self, run: StageRun) -> None:
        self._forget_stage(run)
        for job_id in run.jobs:
            self.jobs[job_id].stages.pop(run.spec.id, None)
        if run.spec.writes is None:
            self._end_job(self.jobs[JobId(run.job)], None)
            return
        shuffle = run.spec.writes
        for waiting in list(self.runs.values()):
            if shuffle in waiting.missing:
                del waiting.missing[shuffle]
                if not waiting.missing:
                    self._resume(waiting)

    def _resume(self, run: StageRun) -> None:
        """Its inputs seemed complete; some may have been lost again meanwhile."""
        for job_id in list(run.jobs):
            self._want(run.spec, self.jobs[job_id])

    def _fail_stage(self, run: StageRun, error: Exception) -> None:
        for job_id in list(run.jobs):
            self._end_job(self.jobs[job_id], error)

    def _end_job(self, job: Job, error: Exception | None) -> None:
        del self.jobs[job.spec.id]
        for stage_id in list(job.stages):
            run = self.runs.get(StageId(stage_id))
            if run is None:
                continue
            run.jobs.pop(job.spec.id, None)
            if not run.jobs:
                self._abandon(run)
        self.commands.append(FinishJob(job.spec.id, error))

    def _abandon(self, run: StageRun) -> None:
        """Nobody waits for the stage any more."""
        self._forget_stage(run)
        if run.tasks is not None:
            for copies in list(run.tasks.running.values()):
                for attempt in list(copies):
                    self._cancel(attempt)

    def _forget_stage(self, run: StageRun) -> None:
        del self.runs[run.spec.id]
        self.health.forget_stage(run.spec.id)
        self.commands.append(ForgetStage(run.spec.id))

    def _cancel(self, attempt: Attempt) -> None:
        """Ends an attempt whose result nobody wants; its executor stays busy until it says so."""
        if attempt.tasks is not None:
            attempt.tasks.finish(attempt)
            attempt.tasks = None
        self.commands.append(CancelTask(attempt.id, attempt.executor))
        self._set_timer(f"cancel {attempt.id}", self.rules.cancel_grace_s)

    def _on_cancel_requested(self, event: ev.CancelRequested) -> None:
        if event.future and event.group is not None:
            self.cancelled_groups.add(event.group)
        for job in list(self.jobs.values()):
            spec = job.spec
            everything = event.job is None and event.group is None and event.tag is None
            if (
                everything
                or (event.job is not None and spec.id == event.job)
                or (event.group is not None and spec.group == event.group)
                or (event.tag is not None and event.tag in spec.tags)
            ):
                self._end_job(job, JobCancelled(f"job {spec.id} was cancelled: {event.reason}"))

    # Tasks

    def _launch(self) -> None:
        tried: set[StageId] = set()
        while self.free:
            active = [
                run
                for run in self.runs.values()
                if run.tasks is not None and run.tasks.has_work and run.spec.id not in tried
            ]
            if not active:
                return
            order = fair(active, self.rules.shares) if self.rules.fair else fifo(active)
            run = order[0]
            tasks = run.tasks
            assert tasks is not None
            launch = self._launch_barrier if run.spec.barrier else self._launch_stage
            # Under fair shares each launch moves the shares, so the order is asked for again.
            if not launch(run, tasks, one=self.rules.fair):
                tried.add(run.spec.id)

    def _launch_stage(self, run: StageRun, tasks: TaskSet, one: bool) -> bool:
        """Launches what it can, or just one; True where more might follow."""
        for executor in list(self.free.values()):
            if not tasks.has_work:
                return False
            if self._is_left_out(run, executor):
                continue
            refused = self.health.refused(run.spec.id, executor.id)
            partition = tasks.take(executor.id, executor.slot, self.now_s, refused)
            if partition is not None:
                self._start(run, tasks, executor, partition)
                if one:
                    return True
        if tasks.pending:
            self._wait_or_give_up(run, tasks)
        return False

    def _wait_or_give_up(self, run: StageRun, tasks: TaskSet) -> None:
        until_s = tasks.waits_until_s()
        if until_s is not None and until_s > self.now_s:
            self.commands.append(SetTimer("locality", until_s))
        if not self.rules.exclusion.enabled:
            return
        for partition in tasks.pending:
            usable = [
                each
                for each in self.executors.values()
                if not self._is_left_out(run, each)
                and partition not in self.health.refused(run.spec.id, each.id)
            ]
            if self.executors and not usable:
                self._fail_stage(run, reports.no_executor_left(run.spec, partition))
                return

    def _is_left_out(self, run: StageRun, executor: Executor) -> bool:
        return self.rules.exclusion.enabled and (
            self.health.excluded(executor.id, self.now_s)
            or self.health.excluded_from(run.spec.id, executor.id)
        )

    def _launch_barrier(self, run: StageRun, tasks: TaskSet, one: bool) -> bool:
        """All tasks at once or none."""
        if len(self.free) >= len(tasks.pending):
            run.barrier = {}
            for partition, executor in zip(
                list(tasks.pending), list(self.free.values()), strict=False
            ):
                tasks.discard(partition)
                self._start(run, tasks, executor, partition)
        return False

    def _start(self, run: StageRun, tasks: TaskSet, executor: Executor, partition: int) -> None:
        attempt = Attempt(
            AttemptId(self.next_attempt),
            tasks,
            partition,
            executor.id,
            tasks.next_number(partition),
            self.now_s,
        )
        self.next_attempt += 1
        self.attempts[attempt.id] = attempt
        executor.attempt = attempt
        del self.free[executor.id]
        tasks.start(attempt)
        shape = run.spec.shape
        inputs = tuple(
            self.outputs.shuffles[shuffle].snapshot()
            for shuffle in shape.shuffles
            if self.outputs.is_complete(shuffle)
        )
        self.commands.append(
            LaunchTask(
                attempt.id,
                executor.id,
                run.spec.id,
                partition,
                attempt.number,
                JobId(run.job),
                inputs,
                self._kept_blocks(run.spec, partition),
            )
        )

    def _kept_blocks(
        self, spec: StageSpec, partition: int
    ) -> tuple[tuple[Partition, BlockRef], ...]:
        kept = self.kept.blocks
        if not kept or spec.shape.rdds.isdisjoint(kept.keys()):
            return ()
        return tuple(
            (each, ref)
            for each in spec.shape.kept_partitions(partition, kept.keys())
            if (ref := self.kept.block(each)) is not None
        )

    def _end_attempt(
        self, event: ev.TaskSucceeded | ev.TaskFailed | ev.TaskCancelled | ev.FetchFailed
    ) -> tuple[Attempt, StageRun | None] | None:
        """Frees the executor and takes in what it kept; None for words from the past."""
        attempt = self.attempts.pop(event.attempt, None)
        if attempt is None:
            return None
        executor = self.executors[attempt.executor]
        executor.attempt = None
        self.free[executor.id] = executor
        executor.ran += 1
        self.failed_starts = 0
        for partition in event.dropped:
            self.kept.drop_live(partition, executor.id)
        for partition, ref in event.stored:
            self._keep(partition, ref, executor.id)
        tasks = attempt.tasks
        if tasks is None:
            return attempt, None
        tasks.finish(attempt)
        return attempt, self.runs.get(StageId(tasks.stage))

    def _on_succeeded(self, event: ev.TaskSucceeded) -> None:
        result = event.result if isinstance(event.result, BlockRef) else None
        for ref in (event.output, result):
            if ref is not None:
                self.pool.pin(ref)
        ended = self._end_attempt(event)
        if ended is None or ended[1] is None:
            self._release(ref for ref in (event.output, result) if ref is not None)
            return
        attempt, run = ended
        tasks = run.tasks
        assert tasks is not None
        for copy in tasks.succeed(attempt, self.now_s):
            self._cancel(copy)
        if run.spec.writes is not None:
            self._keep_output(run, attempt.partition, event)
        else:
            self._deliver(run, attempt.partition, event)
        if tasks.finished and run.spec.id in self.runs and not tasks.paused:
            if self._unfinished(run):
                self._start_tasks(run)
            else:
                self._finish_stage(run)

    def _keep_output(self, run: StageRun, partition: int, event: ev.TaskSucceeded) -> None:
        assert run.spec.writes is not None and event.output is not None
        outputs = self.outputs.of(run.spec.writes, run.spec.partitions)
        outputs.add(partition, event.output)
        # A map output that is made again after a loss has been counted before.
        if event.accumulators is not None and partition not in outputs.counted:
            self.commands.append(CountAccumulators(JobId(run.job), event.accumulators))
        outputs.counted.add(partition)

    def _deliver(self, run: StageRun, partition: int, event: ev.TaskSucceeded) -> None:
        job = self.jobs[JobId(run.job)]
        del job.unfinished[partition]
        if event.accumulators is not None:
            self.commands.append(CountAccumulators(job.spec.id, event.accumulators))
        self.commands.append(DeliverResult(job.spec.id, partition, event.result))

    def _on_failed(self, event: ev.TaskFailed) -> None:
        ended = self._end_attempt(event)
        if ended is None or ended[1] is None:
            return
        attempt, run = ended
        tasks = run.tasks
        assert tasks is not None
        self.health.failed(run.spec.id, attempt.partition, attempt.executor, self.now_s)
        count = tasks.failures.get(attempt.partition, 0) + 1
        tasks.failures[attempt.partition] = count
        if count >= self.rules.max_failures:
            report = reports.task_failed(
                run.spec, attempt.partition, attempt.executor, count, event.failure
            )
            self._fail_stage(run, report)
        else:
            self._retry(run, tasks, attempt)

    def _on_cancelled(self, event: ev.TaskCancelled) -> None:
        ended = self._end_attempt(event)
        if ended is None or ended[1] is None:
            return
        attempt, run = ended
        assert run.tasks is not None
        self._retry(run, run.tasks, attempt)

    def _retry(self, run: StageRun, tasks: TaskSet, attempt: Attempt) -> None:
        if run.spec.barrier:
            # The tasks of a barrier stage stand or fall together.
            for copies in list(tasks.running.values()):
                for each in list(copies):
                    self._cancel(each)
            for partition in self._unfinished(run):
                tasks.add(partition)
        elif attempt.partition not in tasks.running:
            tasks.add(attempt.partition)

    def _on_fetch_failed(self, event: ev.FetchFailed) -> None:
        ended = self._end_attempt(event)
        outputs = self.outputs.shuffles.get(event.shuffle)
        # Words from an earlier epoch speak of an output that was made again since.
        if outputs is not None and event.index >= 0 and event.epoch == outputs.epoch:
            ref = outputs.lose(event.index)
            if ref is not None:
                self._release([ref])
        if ended is None or ended[1] is None:
            return
        attempt, run = ended
        tasks = run.tasks
        assert tasks is not None
        self._retry(run, tasks, attempt)
        if not tasks.paused:
            tasks.paused = True
            run.fetch_failures += 1
            if run.fetch_failures >= self.rules.max_fetch_failures:
                report = reports.fetch_failed(run.spec, run.fetch_failures, event.message)
                self._fail_stage(run, report)
                return
        self._pause_for_inputs(run, event.shuffle)

    def _pause_for_inputs(self, run: StageRun, shuffle: ShuffleId) -> None:
        """Has the missing input made; a kept RDD no longer hides the shuffle behind it."""
        parent = run.spec.parents[shuffle]
        if self.outputs.of(shuffle, parent.partitions).complete:
            self._resume(run)
            return
        run.missing[shuffle] = None
        for job_id in list(run.jobs):
            self._want(parent, self.jobs[job_id])

    # Executors

    def _on_joined(self, event: ev.ExecutorJoined) -> None:
        slot = next((i for i, each in enumerate(self.slots) if each is None), len(self.slots))
        if slot == len(self.slots):
            self.slots.append(event.executor)
        else:
            self.slots[slot] = event.executor
        executor = Executor(event.executor, event.node, slot)
        self.executors[event.executor] = self.free[event.executor] = executor

    def _on_lost(self, event: ev.ExecutorLost) -> None:
        executor = self.executors.pop(event.executor, None)
        if executor is None:
            return
        self.slots[executor.slot] = None
        self.free.pop(executor.id, None)
        self.kept.forget_executor(executor.id)
        self.health.forget_executor(executor.id)
        self._drop(self.pool.seal(f"e{executor.id}"))
        for run in self.runs.values():
            if run.tasks is not None:
                run.tasks.forget_executor(executor.id)
        if executor.attempt is not None:
            self._lose_attempt(executor.attempt, event.reason)
        elif executor.ran == 0:
            self.failed_starts += 1
        if self.failed_starts >= FAILED_STARTS:
            for job in list(self.jobs.values()):
                self._end_job(job, reports.cannot_start(event.reason))
            return
        self.commands.append(StartExecutor(executor.id))

    def _lose_attempt(self, attempt: Attempt, reason: str) -> None:
        del self.attempts[attempt.id]
        tasks = attempt.tasks
        if tasks is None:
            return
        tasks.finish(attempt)
        run = self.runs.get(StageId(tasks.stage))
        if run is None:
            return
        deaths = tasks.deaths.get(attempt.partition, 0) + 1
        tasks.deaths[attempt.partition] = deaths
        if deaths >= self.rules.max_deaths:
            report = reports.executor_died(
                run.spec, attempt.partition, attempt.executor, deaths, reason
            )
            self._fail_stage(run, report)
        else:
            self._retry(run, tasks, attempt)

    def _on_barrier_reached(self, event: ev.BarrierReached) -> None:
        attempt = self.attempts.get(event.attempt)
        if attempt is None or attempt.tasks is None:
            return
        run = self.runs[StageId(attempt.tasks.stage)]
        run.barrier[event.attempt] = event.message
        together = [copies[0] for _, copies in sorted(attempt.tasks.running.items())]
        if all(each.id in run.barrier for each in together):
            messages = tuple(run.barrier[each.id] for each in together)
            attempts = tuple((each.id, each.executor) for each in together)
            run.barrier = {}
            self.commands.append(ReleaseBarrier(attempts, messages))

    # Timers

    def _set_timer(self, name: str, delay_s: float) -> None:
        self.commands.append(SetTimer(name, self.now_s + delay_s))

    def _on_timer(self, name: str) -> None:
        if name.startswith("cancel "):
            attempt = self.attempts.get(AttemptId(int(name.split()[1])))
            if attempt is not None:
                self.commands.append(
                    KillExecutor(attempt.executor, "its task did not react to cancellation")
                )
        elif name == "speculation" and self.jobs:
            assert self.rules.speculation is not None
            for run in self.runs.values():
                if run.tasks is not None and not run.spec.barrier:
                    run.tasks.find_slow(self.rules.speculation, self.now_s)
            self._set_timer("speculation", self.rules.speculation_interval_s)

    # Blocks

    def _keep(self, partition: Partition, ref: BlockRef | None, executor: ExecutorId) -> None:
        if ref is not None:
            self.pool.pin(ref)
        if partition.rdd not in self.persisted:
            # Forgotten while the task ran.
            self.commands.append(DropRdd(partition.rdd))
        elif ref is None:
            self.kept.add_live(partition, executor)
            return
        elif self.kept.set_block(partition, ref):
            return
        if ref is not None:
            self._release([ref])

    def _forget_rdd(self, rdd: RddId) -> None:
        self.persisted.discard(rdd)
        self._release(self.kept.forget_rdd(rdd))
        self.commands.append(DropRdd(rdd))

    def _release(self, refs: Iterable[BlockRef]) -> None:
        gone: list[str] = []
        for ref in refs:
            gone += self.pool.release(ref)
        self._drop(gone)

    def _drop(self, segments: list[str]) -> None:
        if segments:
            self.commands.append(DropSegments(tuple(segments)))


