"""What became of a task, and what follows from it."""

from __future__ import annotations

from pyrite.ids import (
    JobId,
    ShuffleId,
    StageId,
)
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.commands import (
    CountAccumulators,
    DeliverResult,
    ReleaseBarrier,
)
from pyrite.schedule.launching import Launching
from pyrite.schedule.outputs import Installment, ShuffleOutputs
from pyrite.schedule.runs import StageRun
from pyrite.schedule.taskset import Attempt, TaskSet


class Outcomes(Launching):
    """Takes in results, failures and lost inputs."""

    def _end_attempt(
        self, event: ev.TaskSucceeded | ev.TaskFailed | ev.TaskCancelled | ev.FetchFailed
    ) -> tuple[Attempt, StageRun, TaskSet] | None:
        """Frees the executor and takes in what it kept; None where nobody waits for the task."""
        attempt = self.attempts.pop(event.attempt, None)
        if attempt is None:
            rare("an attempt speaks that nobody waits for")
            return None
        executor = self.executors[attempt.executor]
        self._set_free(executor)
        executor.ran += 1
        self.failed_starts = 0
        self._end_reading(attempt)
        self._forget_waiting(f"e{executor.id}")
        self.book.add(event.kept)
        for partition in event.kept.dropped:
            self.kept.drop_live(partition, executor.id)
        for stored in event.kept.stored:
            self._keep(stored.partition, stored.ref, executor.id)
        # Not before: a segment that the task filled may hold what it tells of only now.
        self._drop(self.ledger.settle(f"e{executor.id}"))
        tasks = attempt.tasks
        run = None if tasks is None else self.runs.get(StageId(tasks.stage))
        if run is None or not isinstance(event, ev.TaskSucceeded):
            self._shed_installments(attempt)
        if tasks is None:
            return None
        tasks.finish(attempt)
        return None if run is None else (attempt, run, tasks)

    def _end_reading(self, attempt: Attempt) -> None:
        """What the attempt read may be moved, or go."""
        for segment in attempt.segments():
            self._drop(self.ledger.end_use(segment))

    def _on_succeeded(self, event: ev.TaskSucceeded) -> None:
        for ref in event.blocks():
            self.ledger.pin(ref)
        ended = self._end_attempt(event)
        if ended is None:
            self._release(event.blocks())
            return
        attempt, run, tasks = ended
        for copy in tasks.succeed(attempt, self.now_s):
            rare("a copy of a done task is cancelled")
            self._cancel(copy)
        succeeded = self._wanted_of(attempt, event)
        if run.spec.barrier:
            # The tasks of a barrier stage stand or fall together.
            run.together.update(succeeded)
            if len(run.together) < tasks.total:
                return
            succeeded, run.together = run.together, {}
        for partition, each in succeeded.items():
            if partition in run.pieces:
                self._piece_done(run, tasks, partition, each)
                continue
            self._reducer_done(run, partition)
            if run.spec.writes is not None:
                self._keep_output(run, partition, each, attempt)
            else:
                self._deliver(run, partition, each)
        self._go_on(run, tasks)

    def _on_grew(self, event: ev.OutputGrew) -> None:
        """A part of a map output is there: it can be fetched while the task goes on."""
        self.ledger.pin(event.ref)
        attempt = self.attempts.get(event.attempt)
        run = None
        if attempt is not None and attempt.tasks is not None:
            run = self.runs.get(StageId(attempt.tasks.stage))
        if attempt is None or run is None:
            rare("an installment comes of an attempt that nobody waits for")
            self._release([event.ref])
            return
        outputs = self.outputs.of(run.spec)
        installment = Installment(attempt.partition, event.ref, event.sizes)
        if attempt.installments is None:
            attempt.installments = {}
        attempt.installments[outputs.grow(installment)] = installment
        self._output_grows(run.spec, outputs, event.ref)

    def _wanted_of(self, attempt: Attempt, event: ev.TaskSucceeded) -> dict[int, ev.Made]:
        """What was made of the partitions that no copy has done meanwhile."""
        if not attempt.also:
            return {attempt.partition: event.first()}
        made = dict(zip((attempt.partition, *attempt.also), event.made(), strict=True))
        wanted = {partition: made.pop(partition) for partition in attempt.wanted}
        for late in made.values():
            rare("a partition of a group was done by a copy")
            self._release(late.blocks())
        return wanted

    def _go_on(self, run: StageRun, tasks: TaskSet) -> None:
        """Ends a stage of which no task is left, or begins with what was lost meanwhile."""
        if tasks.finished and run.spec.id in self.runs:
            if not self._unfinished(run):
                self._finish_stage(run)
            elif not tasks.paused:
                self._start_tasks(run)

    def _keep_output(self, run: StageRun, partition: int, made: ev.Made, attempt: Attempt) -> None:
        assert made.output is not None
        outputs = self.outputs.of(run.spec)
        if outputs.refs[partition] is not None:
            # The shuffle was cut anew meanwhile, and another job has made it.
            rare("a shuffle is made by two stages at once")
            self._release([made.output])
            self._shed_installments(attempt)
            return
        self._division_done(run, partition, counts=partition not in outputs.counted)
        outputs.add(partition, made.output, made.sizes, attempt.installments or ())
        attempt.installments = None
        self._output_appeared(run.spec, outputs, partition, made.output)
        # A map output that is made again after a loss has been counted before.
        if made.accumulators is not None and partition not in outputs.counted:
            self.commands.append(CountAccumulators(JobId(run.job), made.accumulators))
        outputs.counted.add(partition)

    def _deliver(self, run: StageRun, partition: int, made: ev.Made) -> None:
        job = self.jobs[JobId(run.job)]
        del job.unfinished[partition]
        self._division_done(run, partition, counts=True)
        if made.accumulators is not None:
            self.commands.append(CountAccumulators(job.spec.id, made.accumulators))
        self.commands.append(DeliverResult(job.spec.id, partition, made.result))

    def _on_failed(self, event: ev.TaskFailed) -> None:
        ended = self._end_attempt(event)
        if ended is None:
            return
        attempt, run, tasks = ended
        if attempt.also or self._is_divided(run, attempt):
            # Each is tried alone now, and as a whole: the one that is to blame fails again.
            rare("a task of several tiny reducers, or of a piece of one, fails")
            self._retry(run, tasks, attempt)
            return
        self.health.failed(run.spec.id, attempt.partition, attempt.executor, self.now_s)
        count = tasks.failures.get(attempt.partition, 0) + 1
        tasks.failures[attempt.partition] = count
        if count >= self.rules.max_failures:
            rare("a task fails for good")
            report = reports.task_failed(
                run.spec, attempt.partition, attempt.executor, count, event.failure
            )
            self._fail_stage(run, report)
        else:
            self._retry(run, tasks, attempt)

    def _on_cancelled(self, event: ev.TaskCancelled) -> None:
        ended = self._end_attempt(event)
        if ended is None:
            return
        attempt, run, tasks = ended
        self._retry(run, tasks, attempt)

    def _retry(self, run: StageRun, tasks: TaskSet, attempt: Attempt) -> None:
        self.turns.add(run)
        if run.spec.barrier:
            self._restart_barrier(run, tasks)
            return
        for partition in attempt.wanted:
            index = self._undivide(run, tasks, partition)
            if index not in tasks.running and self._is_unfinished(run, index):
                tasks.add(index)
        # Another stage that writes the same shuffle may have made all of it meanwhile.
        self._go_on(run, tasks)

    def _is_divided(self, run: StageRun, attempt: Attempt) -> bool:
        return attempt.partition in run.pieces or attempt.partition in run.divisions

    def _is_unfinished(self, run: StageRun, index: int) -> bool:
        """Whether the partition is still to be made: a piece may end long after the whole."""
        if run.spec.writes is None:
            return index in self.jobs[JobId(run.job)].unfinished
        return self.outputs.of(run.spec).refs[index] is None

    def _restart_barrier(self, run: StageRun, tasks: TaskSet) -> None:
        self._release_together(run)
        for copies in list(tasks.running.values()):
            for each in list(copies):
                self._cancel(each)
        for partition in self._unfinished(run):
            tasks.add(partition)
        # Another stage that writes the same shuffle may have made all of it meanwhile.
        self._go_on(run, tasks)

    def _on_fetch_failed(self, event: ev.FetchFailed) -> None:
        ended = self._end_attempt(event)
        outputs = self.outputs.shuffles.get(event.shuffle)
        lost = [] if outputs is None else self._lose_outputs(outputs, event)
        if ended is not None:
            self._fetch_again(*ended, event, lost)
        if lost:
            self._pause_readers(event.shuffle)

    def _fetch_again(
        self,
        attempt: Attempt,
        run: StageRun,
        tasks: TaskSet,
        event: ev.FetchFailed,
        lost: list[int],
    ) -> None:
        """Tries the task again once its input is there, unless that was lost too often."""
        outputs = self.outputs.shuffles.get(event.shuffle)
        if outputs is not None and outputs.torn:
            self._fail_stage(run, reports.torn(run.spec.parents[event.shuffle], event.message))
            return
        self._retry(run, tasks, attempt)
        if run.spec.id not in self.runs:
            return
        tasks.paused = True
        for index in lost or [-1] * (not event.lost):
            rounds = run.fetch_failures.get((event.shuffle, index), 0) + 1
            run.fetch_failures[event.shuffle, index] = rounds
            if rounds >= self.rules.max_fetch_failures:
                rare("a stage loses its input too often")
                report = reports.fetch_failed(run.spec, rounds, event.message)
                self._fail_stage(run, report)
                return
        self._pause_for_inputs(run, event.shuffle)

    def _pause_readers(self, shuffle: ShuffleId) -> None:
        """Lets no stage go on to launch tasks for which an input is lost."""
        for run in list(self.runs.values()):
            if shuffle in run.spec.parents and run.spec.id in self.runs:
                self._redo_inputs(run)

    def _redo_inputs(self, run: StageRun) -> bool:
        """Has lost inputs of a stage made again, and the stage wait for them; False if none is."""
        missing = bool(self._missing_inputs(run.spec))
        if missing:
            if run.tasks is not None:
                run.tasks.paused = True
            self._resume(run)
        return missing

    def _lose_outputs(self, outputs: ShuffleOutputs, event: ev.FetchFailed) -> list[int]:
        """Forgets what could not be read; gives what was still thought to be there."""
        # Late words speak of an output that was made again since, or is known to be lost.
        found = [index for index, ref in event.lost if ref in outputs.blocks_of(index)]
        if len(found) < len(event.lost):
            rare("an output that could not be read was made again since")
        lost = list(dict.fromkeys(found))
        for index in lost:
            self._release(outputs.distrust(index) + outputs.lose(index))
        if lost:
            self._renew_backups(outputs)
        # With an output of a barrier stage all others are lost.
        self._spoil_parcels(outputs, outputs.missing() if lost else [])
        return lost

    def _pause_for_inputs(self, run: StageRun, shuffle: ShuffleId) -> None:
        """Has the missing input made; a kept RDD no longer hides the shuffle behind it."""
        parent = run.spec.parents[shuffle]
        if self.outputs.of(parent).complete:
            self._resume(run)
            return
        run.missing[shuffle] = None
        for job_id in list(run.jobs):
            self._want(parent, self.jobs[job_id])

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
