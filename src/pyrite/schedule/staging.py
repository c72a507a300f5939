"""Jobs and the stages that they need."""

from __future__ import annotations

from pyrite.errors import JobCancelled
from pyrite.ids import (
    JobId,
    NodeId,
    ShuffleId,
    StageId,
)
from pyrite.plan.stages import StageSpec
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.commands import (
    FinishJob,
    ForgetStage,
)
from pyrite.schedule.dividing import Dividing
from pyrite.schedule.runs import Job, StageRun
from pyrite.schedule.taskset import TaskSet


class Staging(Dividing):
    """Which stages must run, in which order, and when a job has ended."""

    def _on_submitted(self, event: ev.JobSubmitted) -> None:
        spec = event.job
        job = Job(spec, dict.fromkeys(spec.partitions))
        self.jobs[spec.id] = job
        if spec.group is not None and spec.group in self.cancelled_groups:
            self._end_job(job, JobCancelled(f"job {spec.id}: group {spec.group!r} was cancelled"))
        elif not job.unfinished:
            self._end_job(job, None)
        else:
            self._start_missing_executors()
            self._want(spec.stage, job)
            if self.rules.speculation is not None and not self.looks_for_slow:
                self.looks_for_slow = True
                self._set_timer("speculation", self.rules.speculation_interval_s)

    def _start_missing_executors(self) -> None:
        if self.not_started:
            self.failed_starts = 0
            self.commands.extend(self.not_started)
            self.not_started.clear()

    def _want(self, stage: StageSpec, job: Job) -> None:
        """Makes sure that the stage, and what it needs, is under way for the job."""
        pending = [stage]
        while pending:
            spec = pending.pop()
            run = self.runs.get(spec.id)
            is_new = run is None
            if run is None:
                run = StageRun(spec, {}, job.spec.pool)
                self.runs[spec.id] = run
            run.jobs[job.spec.id] = None
            job.stages[spec.id] = None
            if run.tasks is not None and not run.tasks.paused:
                continue
            missing = self._missing_inputs(spec)
            run.missing = dict.fromkeys(missing)
            if is_new:
                # It has no places yet, whoever else has.
                for shuffle in missing:
                    self.outputs.shuffles[shuffle].foreseen = False
            for shuffle in missing:
                if self.outputs.shuffles[shuffle].torn:
                    rare("a job needs what can't be made alike")
                    self._end_job(job, reports.torn(spec.parents[shuffle], "it was lost before"))
                    return
            if missing:
                pending.extend(spec.parents[shuffle] for shuffle in missing)
            else:
                self._start_tasks(run)
                if job.spec.id not in self.jobs:
                    # A barrier stage has too many tasks.
                    return

    def _missing_inputs(self, spec: StageSpec) -> list[ShuffleId]:
        needed = spec.shape.needed_shuffles(self.kept.count, self.kept.ids())
        missing = []
        for shuffle in needed:
            parent = spec.parents[shuffle]
            if not self.outputs.of(parent).complete:
                missing.append(shuffle)
        return missing

    def _start_tasks(self, run: StageRun) -> None:
        self.turns.add(run)
        if run.tasks is not None:
            run.tasks.paused = False
            for partition in self._unfinished(run):
                is_divided = partition in run.divisions and not run.divisions[partition].done
                is_under_way = partition in run.tasks.running or partition in run.together
                if not is_divided and not is_under_way:
                    run.tasks.add(partition)
            return
        partitions = self._unfinished(run)
        # The first job may come before the first executor does.
        slots = max(len(self.slots), self.rules.executors)
        if run.spec.barrier and len(partitions) > slots:
            self._fail_stage(run, reports.barrier_too_wide(run.spec, slots))
            return
        self._place_reducers(run)
        kept = self._preferences(run.spec, partitions)
        run.tasks = TaskSet(
            run.spec.id,
            self._divide(run, partitions),
            kept or self._beside_parcels(run, partitions),
            slots,
            self.rules.locality_wait_s if kept else self._parcels_wait_s(run),
            self.now_s,
            self.turns.pool(run.pool).load,
            self._homes(run, partitions, slots),
        )
        if not partitions:
            self._finish_stage(run)

    def _homes(self, run: StageRun, partitions: list[int], slots: int) -> dict[int, int]:
        """Slots of partitions that should not run where their index says: on the nodes where
        the shuffles that they read are best read, else where their kept blocks lie."""
        blocks = self._places_of_blocks(run.spec, partitions)
        placed = {} if run.ahead is None else run.ahead.places
        if not placed and not blocks:
            return {}
        on_node = self._hosts()
        homes: dict[int, int] = {}
        dealt: dict[NodeId, int] = {}
        for index in partitions:
            node = placed.get(index) or blocks.get(index)
            beside = None if node is None else on_node.get(node)
            if node is None or not beside:
                continue
            # One round of them after another, each executor with one of a round.
            position = dealt.get(node, 0)
            dealt[node] = position + 1
            if index in placed or index % max(1, slots) not in beside:
                homes[index] = beside[position % len(beside)]
        return homes

    def _finish_stage(self, run: StageRun) -> None:
        self._forget_stage(run)
        for job_id in run.jobs:
            self.jobs[job_id].stages.pop(run.spec.id, None)
        if run.spec.writes is None:
            self._end_job(self.jobs[JobId(run.job)], None)
            return
        shuffle = run.spec.writes
        for waiting in self._waiting_for(shuffle):
            # One that goes on may change what others wait for.
            if shuffle in waiting.missing:
                del waiting.missing[shuffle]
                if not waiting.missing:
                    self._resume(waiting)

    def _resume(self, run: StageRun) -> None:
        """Its inputs seemed complete; some may have been lost again meanwhile."""
        for job_id in list(run.jobs):
            # A barrier stage that has too many tasks ends all jobs that want it.
            if job_id in self.jobs:
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
            if run.jobs:
                self.turns.sort(run)
            else:
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
        self._forget_ahead(run)
        self._end_divisions(run)
        self._release_together(run)
        self.turns.remove(run)
        self.health.forget_stage(run.spec.id)
        self.commands.append(ForgetStage(run.spec.id))

    def _release_together(self, run: StageRun) -> None:
        """What some tasks of a barrier stage have made is of no use without the others."""
        for event in run.together.values():
            self._release(event.blocks())
        run.together = {}

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
