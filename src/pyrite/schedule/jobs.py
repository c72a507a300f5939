"""Jobs, the stages that they need, and when both end."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.errors import JobCancelled
from pyrite.ids import JobId, ShuffleId
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.attempts import Attempts
from pyrite.schedule.collections import Collections
from pyrite.schedule.commands import FinishJob, ForgetStage
from pyrite.schedule.divider import Divider
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.health import Health
from pyrite.schedule.locality import Locality
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.prefetch.planner import ReducePlanner
from pyrite.schedule.prefetch.prefetcher import Prefetcher
from pyrite.schedule.queue import StageQueue
from pyrite.schedule.recoverybound import RecoveryBound
from pyrite.schedule.rules import Rules
from pyrite.schedule.speculation import Speculation
from pyrite.schedule.stages import Job, StageRun, Stages
from pyrite.schedule.starts import Starts
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.turn import Turn


class Jobs:
    """Decides which stages must run, starts them in order, and ends jobs."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        starts: Starts,
        health: Health,
        stages: Stages,
        queue: StageQueue[StageRun],
        outputs: Outputs,
        storage: Storage,
        attempts: Attempts,
        collections: Collections,
        bound: RecoveryBound,
        locality: Locality,
        planner: ReducePlanner,
        prefetcher: Prefetcher,
        divider: Divider,
        speculation: Speculation,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.starts = starts
        self.health = health
        self.stages = stages
        self.queue = queue
        self.outputs = outputs
        self.storage = storage
        self.attempts = attempts
        self.collections = collections
        self.bound = bound
        self.locality = locality
        self.planner = planner
        self.prefetcher = prefetcher
        self.divider = divider
        self.speculation = speculation
        self._jobs: dict[JobId, Job] = {}
        self._cancelled_groups: set[str] = set()

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs.values()))

    def __bool__(self) -> bool:
        return bool(self._jobs)

    # Jobs

    def on_submitted(self, event: ev.JobSubmitted) -> None:
        spec = event.job
        job = Job(spec, dict.fromkeys(spec.partitions))
        self._jobs[spec.id] = job
        if spec.group is not None and spec.group in self._cancelled_groups:
            self.end(job, JobCancelled(f"job {spec.id}: group {spec.group!r} was cancelled"))
        elif not job.unfinished:
            self.end(job, None)
        else:
            self.starts.try_again()
            self.want(spec.stage, job)
            self.speculation.watch()

    def on_cancel_requested(self, event: ev.CancelRequested) -> None:
        if event.future and event.group is not None:
            self._cancelled_groups.add(event.group)
        for job in self:
            spec = job.spec
            everything = event.job is None and event.group is None and event.tag is None
            if (
                everything
                or (event.job is not None and spec.id == event.job)
                or (event.group is not None and spec.group == event.group)
                or (event.tag is not None and event.tag in spec.tags)
            ):
                self.end(job, JobCancelled(f"job {spec.id} was cancelled: {event.reason}"))

    def end(self, job: Job, error: Exception | None) -> None:
        del self._jobs[job.spec.id]
        for stage_id in list(job.stages):
            run = self.stages.get(stage_id)
            if run is None:
                continue
            run.jobs.pop(job.spec.id, None)
            if run.jobs:
                self.queue.sort(run)
            else:
                self._abandon(run)
        self.turn.add(FinishJob(job.spec.id, error))

    def fail_all(self, error: Exception) -> None:
        for job in self:
            self.end(job, error)

    # Stages

    def want(self, stage: StageSpec, job: Job) -> None:
        """Registers a stage and its missing ancestors for the job, and starts those whose inputs
        are complete."""
        pending = [stage]
        while pending:
            spec = pending.pop()
            run = self.stages.get(spec.id)
            is_new = run is None
            if run is None:
                run = StageRun(spec, {}, job.spec.pool)
                self.stages.add(run)
            run.jobs[job.spec.id] = job
            job.stages[spec.id] = None
            if run.tasks is not None and not run.tasks.paused:
                continue
            missing = self._missing_inputs(spec)
            run.missing = dict.fromkeys(missing)
            if is_new:
                # The new stage has no plan yet, even if others that read the shuffle have.
                for shuffle in missing:
                    self.outputs.of(spec.parents[shuffle]).foreseen = False
            for shuffle in missing:
                if self.outputs.of(spec.parents[shuffle]).torn:
                    probe("a job needs what can't be made alike")
                    self.end(job, reports.torn(spec.parents[shuffle], "it was lost before"))
                    return
            if missing:
                pending.extend(spec.parents[shuffle] for shuffle in missing)
            else:
                self.start(run)
                if job.spec.id not in self._jobs:
                    # The job has failed: a barrier stage has too many tasks.
                    return

    def _missing_inputs(self, spec: StageSpec) -> list[ShuffleId]:
        kept = self.storage.kept
        needed = spec.shape.needed_shuffles(kept.count, kept.ids())
        return [each for each in needed if not self.outputs.of(spec.parents[each]).complete]

    def start(self, run: StageRun) -> None:
        """Queues a stage's tasks: all of them, or those whose outputs were lost."""
        self.queue.add(run)
        if run.tasks is not None:
            self._start_again(run, run.tasks)
            return
        partitions = self.stages.unfinished(run)
        # A job may be submitted before the first executor has joined.
        slots = self.fleet.expected
        if run.spec.barrier and len(partitions) > self.most_executors:
            self.fail(run, reports.barrier_too_wide(run.spec, self.most_executors))
            return
        self.planner.start(run)
        partitions = self.planner.in_order(run, partitions)
        preferences = self.locality.prefer(run.spec, partitions, slots)
        run.groups = preferences.groups
        if preferences.ranges is not None and preferences.keys:
            preferences.ranges.came(preferences.keys.values())
        run.tasks = TaskSet(
            run.spec.id,
            self.divider.divide(run, partitions),
            preferences,
            slots,
            self.turn.now_s,
            self.queue.pool(run.pool).load,
        )
        if partitions:
            self.bound.started(run.spec)
        else:
            self.finish(run)

    @property
    def most_executors(self) -> int:
        """How many executors there may ever be."""
        rule = self.rules.allocation
        return self.fleet.expected if rule is None else max(self.fleet.expected, rule.most)

    def judge_barriers(self) -> None:
        """Fails barrier stages whose tasks can't run at once any more: nodes have left."""
        most = self.most_executors
        for run in [each for each in self.stages if each.spec.barrier]:
            if run in self.stages and run.tasks is not None and len(run.tasks.pending) > most:
                probe("a barrier stage waits for executors that have left")
                self.fail(run, reports.barrier_too_wide(run.spec, most))

    def _start_again(self, run: StageRun, tasks: TaskSet) -> None:
        tasks.paused = False
        for partition in self.stages.unfinished(run):
            is_divided = partition in run.divisions and not run.divisions[partition].done
            is_under_way = tasks.is_running(partition) or partition in run.together
            if not is_divided and not is_under_way:
                tasks.add(partition)

    def finish(self, run: StageRun) -> None:
        """Ends a stage whose tasks are all done: ends its job, or resumes stages that wait for
        it."""
        self.forget(run)
        self.collections.materialised(run.spec)
        self.bound.materialised(run.spec)
        for job in run.jobs.values():
            job.stages.pop(run.spec.id, None)
        shuffle = run.spec.writes
        if shuffle is None:
            self.end(run.jobs[run.job], None)
            return
        for waiting in self.stages.waiting_for(shuffle):
            # Resuming one stage may change what the others miss.
            if shuffle in waiting.missing:
                del waiting.missing[shuffle]
                if not waiting.missing:
                    self.resume(waiting)

    def go_on(self, run: StageRun, tasks: TaskSet) -> None:
        """Ends a stage that has no tasks left, or restarts it for outputs lost meanwhile."""
        if tasks.finished and run in self.stages:
            if not self.stages.unfinished(run):
                self.finish(run)
            elif not tasks.paused:
                self.start(run)

    def resume(self, run: StageRun) -> None:
        """Has all jobs of the stage want it again: an input may have been lost since it was
        complete."""
        for job in list(run.jobs.values()):
            # A barrier stage with too many tasks ends all jobs that need it.
            if job.spec.id in self._jobs:
                self.want(run.spec, job)

    def redo_inputs(self, run: StageRun) -> bool:
        """Recomputes a stage's lost inputs while the stage waits; returns whether there are any."""
        missing = bool(self._missing_inputs(run.spec))
        if missing:
            if run.tasks is not None:
                run.tasks.paused = True
            self.resume(run)
        return missing

    def wait_for_input(self, run: StageRun, shuffle: ShuffleId) -> None:
        """Computes a missing input that the stage was launched without, since kept partitions
        seemed to replace it."""
        parent = run.spec.parents[shuffle]
        if self.outputs.of(parent).complete:
            self.resume(run)
            return
        run.missing[shuffle] = None
        for job in list(run.jobs.values()):
            self.want(parent, job)

    def fail(self, run: StageRun, error: Exception) -> None:
        """Ends all jobs that wait for the stage with this error."""
        for job in list(run.jobs.values()):
            self.end(job, error)

    def _abandon(self, run: StageRun) -> None:
        """Drops a stage that no job waits for, and cancels its attempts."""
        self.forget(run)
        if run.tasks is not None:
            for attempt in run.tasks.running():
                self.attempts.cancel(attempt)

    def forget(self, run: StageRun) -> None:
        self.stages.remove(run)
        self.prefetcher.forget(run)
        self.divider.forget(run)
        self.release_together(run)
        self.queue.remove(run)
        self.health.forget_stage(run.spec.id)
        self.turn.add(ForgetStage(run.spec.id))

    def release_together(self, run: StageRun) -> None:
        """Releases the outputs of a barrier stage's tasks: they are useless unless all succeed."""
        for made in run.together.values():
            self.storage.release(made.blocks())
        run.together = {}
