"""The outcomes of tasks, and what follows from them."""

from __future__ import annotations

from pyrite.ids import PieceId, ShuffleId, TaskKey, partition_of
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.attempts import Attempt, Attempts
from pyrite.schedule.commands import CountAccumulators, DeliverResult, ReleaseBarrier
from pyrite.schedule.divider import Divider
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.health import Health
from pyrite.schedule.jobs import Jobs
from pyrite.schedule.keyranges import KeyRanges
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.planner import ReducePlanner
from pyrite.schedule.prefetch.prefetcher import Prefetcher
from pyrite.schedule.queue import StageQueue
from pyrite.schedule.recoverybound import RecoveryBound
from pyrite.schedule.replication import Replication
from pyrite.schedule.room import Room
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.starts import Starts
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.turn import Turn


class Outcomes:
    """Handles results, failures and lost inputs."""

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
        ranges: KeyRanges,
        bound: RecoveryBound,
        room: Room,
        attempts: Attempts,
        planner: ReducePlanner,
        prefetcher: Prefetcher,
        replication: Replication,
        divider: Divider,
        jobs: Jobs,
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
        self.ranges = ranges
        self.bound = bound
        self.room = room
        self.attempts = attempts
        self.planner = planner
        self.prefetcher = prefetcher
        self.replication = replication
        self.divider = divider
        self.jobs = jobs

    def _end_attempt(
        self, event: ev.TaskSucceeded | ev.TaskRaised | ev.TaskCancelled | ev.FetchFailed
    ) -> tuple[Attempt, StageRun, TaskSet] | None:
        """Frees the executor and records its kept partitions; returns None where the task is not
        needed."""
        attempt = self.attempts.remove(event.attempt)
        if attempt is None:
            probe("an attempt speaks that nobody waits for")
            return None
        executor = self.fleet.get(attempt.executor)
        assert executor is not None, "an attempt of an executor that is lost"
        self.fleet.release(executor)
        executor.ran += 1
        self.starts.work()
        self.storage.end_reading(attempt.segments())
        self.room.forget_writer(executor.id)
        self.storage.learn(executor.id, event.kept)
        self.ranges.inputs_came(executor.id, event.kept.inputs)
        tasks = attempt.tasks
        run = self.stages.of(tasks)
        if run is not None:
            task_s = (self.turn.now_s - attempt.started_s) / len(attempt.keys)
            self.bound.learn(run.spec, event.kept, task_s)
        if tasks is None:
            return None
        tasks.finish(attempt)
        return None if run is None else (attempt, run, tasks)

    def on_succeeded(self, event: ev.TaskSucceeded) -> None:
        known = self.attempts.get(event.attempt)
        writer = None if known is None else known.executor
        for ref in event.blocks():
            self.storage.ledger.pin(ref, writer)
        ended = self._end_attempt(event)
        if ended is None:
            self.storage.release(event.blocks())
            return
        attempt, run, tasks = ended
        for copy in tasks.succeed(attempt, self.turn.now_s):
            probe("a copy of a done task is cancelled")
            self.attempts.cancel(copy)
        succeeded = self._wanted_of(attempt, event)
        if run.spec.barrier:
            # The tasks of a barrier stage succeed or fail together.
            run.together.update(succeeded)
            if len(run.together) < tasks.total:
                return
            succeeded, run.together = run.together, {}
        for task, each in succeeded.items():
            if isinstance(task, PieceId):
                self.divider.piece_done(run, tasks, task, each)
                continue
            self.prefetcher.reducer_done(run, task)
            if run.spec.writes is not None:
                self._keep_output(run, task, each)
            else:
                self._deliver(run, task, each)
        self.jobs.go_on(run, tasks)

    def _wanted_of(self, attempt: Attempt, event: ev.TaskSucceeded) -> dict[TaskKey, ev.TaskOutput]:
        """Returns the outputs of the attempt's tasks that no other attempt has completed."""
        made = dict(zip(attempt.keys, event.made, strict=True))
        if len(made) == len(attempt.wanted):
            return made
        wanted = {task: made.pop(task) for task in attempt.wanted}
        for late in made.values():
            probe("a partition of a group was done by a copy")
            self.storage.release(late.blocks())
        return wanted

    def _keep_output(self, run: StageRun, partition: int, made: ev.TaskOutput) -> None:
        assert made.output is not None
        outputs = self.outputs.of(run.spec)
        if outputs.refs[partition] is not None:
            # Another job has planned the same shuffle again as another stage, and computed it.
            probe("a shuffle is made by two stages at once")
            self.storage.release([made.output])
            return
        self.divider.whole_done(run, partition, counts=partition not in outputs.counted)
        outputs.add(partition, made.output, made.sizes)
        self.replication.want(outputs, partition, made.output)
        self.planner.output_appeared(run.spec, outputs, made.output)
        # The accumulators of a recomputed map output have been counted before.
        if made.accumulators is not None and partition not in outputs.counted:
            self.turn.add(CountAccumulators(run.job, made.accumulators))
        outputs.counted.add(partition)

    def _deliver(self, run: StageRun, partition: int, made: ev.TaskOutput) -> None:
        job = run.jobs[run.job]
        del job.unfinished[partition]
        self.divider.whole_done(run, partition, counts=True)
        if made.accumulators is not None:
            self.turn.add(CountAccumulators(job.spec.id, made.accumulators))
        self.turn.add(DeliverResult(job.spec.id, partition, made.result))

    def on_failed(self, event: ev.TaskRaised) -> None:
        ended = self._end_attempt(event)
        if ended is None:
            return
        attempt, run, tasks = ended
        if not self.divider.is_whole(run, attempt):
            # Retry each partition alone and undivided: the culprit fails again.
            probe("a task of several tiny reducers, or of a piece of one, fails")
            self.retry(run, tasks, attempt)
            return
        partition = partition_of(attempt.keys[0])
        self.health.failed(run.spec.id, partition, attempt.executor, self.turn.now_s)
        count = tasks.failures.get(partition, 0) + 1
        tasks.failures[partition] = count
        if count >= self.rules.max_failures:
            probe("a task fails for good")
            report = reports.task_failed(
                run.spec, partition, attempt.executor, count, event.failure
            )
            self.jobs.fail(run, report)
        else:
            self.retry(run, tasks, attempt)

    def on_cancelled(self, event: ev.TaskCancelled) -> None:
        ended = self._end_attempt(event)
        if ended is None:
            return
        attempt, run, tasks = ended
        self.retry(run, tasks, attempt)

    def retry(self, run: StageRun, tasks: TaskSet, attempt: Attempt) -> None:
        self.queue.add(run)
        if run.spec.barrier:
            self.restart_barrier(run, tasks)
            return
        for task in attempt.wanted:
            index = self.divider.undivide(run, tasks, task)
            if not tasks.is_running(index) and self.stages.is_unfinished(run, index):
                tasks.add(index)
        # Another stage that writes the same shuffle may have made all of it meanwhile.
        self.jobs.go_on(run, tasks)

    def restart_barrier(self, run: StageRun, tasks: TaskSet) -> None:
        self.jobs.release_together(run)
        for attempt in tasks.running():
            self.attempts.cancel(attempt)
        for partition in self.stages.unfinished(run):
            tasks.add(partition)
        # Another stage that writes the same shuffle may have made all of it meanwhile.
        self.jobs.go_on(run, tasks)

    def on_fetch_failed(self, event: ev.FetchFailed) -> None:
        ended = self._end_attempt(event)
        outputs = self.outputs.get(event.shuffle)
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
        """Retries the task once its input is recomputed, unless the input was lost too often."""
        outputs = self.outputs.get(event.shuffle)
        if outputs is not None and outputs.torn:
            self.jobs.fail(run, reports.torn(run.spec.parents[event.shuffle], event.message))
            return
        self.retry(run, tasks, attempt)
        if run not in self.stages:
            return
        tasks.paused = True
        for index in lost or [-1] * (not event.lost):
            rounds = run.fetch_failures.get((event.shuffle, index), 0) + 1
            run.fetch_failures[event.shuffle, index] = rounds
            if rounds >= self.rules.max_fetch_failures:
                probe("a stage loses its input too often")
                report = reports.fetch_failed(run.spec, rounds, event.message)
                self.jobs.fail(run, report)
                return
        self.jobs.wait_for_input(run, event.shuffle)

    def _pause_readers(self, shuffle: ShuffleId) -> None:
        """Has all stages that read the shuffle wait for its recomputation."""
        for run in list(self.stages):
            if shuffle in run.spec.parents and run in self.stages:
                self.jobs.redo_inputs(run)

    def _lose_outputs(self, outputs: ShuffleOutputs, event: ev.FetchFailed) -> list[int]:
        """Forgets unreadable outputs; returns those that were believed to exist."""
        # A late report is about an output that was recomputed since, or is known to be lost.
        found = [index for index, ref in event.lost if outputs.refs[index] == ref]
        if len(found) < len(event.lost):
            probe("an output that could not be read was made again since")
        lost = list(dict.fromkeys(found))
        for index in lost:
            self.storage.release(outputs.distrust(index) + outputs.lose(index))
        if lost:
            self.replication.renew(outputs)
        # Losing one output of a barrier stage loses all of them.
        self.prefetcher.spoil(outputs, outputs.missing() if lost else [])
        return lost

    def on_barrier_reached(self, event: ev.BarrierReached) -> None:
        attempt = self.attempts.get(event.attempt)
        run = None if attempt is None else self.stages.of(attempt.tasks)
        if run is None or run.tasks is None:
            return
        run.barrier[event.attempt] = event.message
        together = sorted(run.tasks.running(), key=lambda each: partition_of(each.keys[0]))
        if all(each.id in run.barrier for each in together):
            messages = tuple(run.barrier[each.id] for each in together)
            attempts = tuple((each.id, each.executor) for each in together)
            run.barrier = {}
            self.turn.add(ReleaseBarrier(attempts, messages))
