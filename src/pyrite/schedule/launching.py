"""Which executor gets which task."""

from __future__ import annotations

from pyrite.ids import (
    AttemptId,
    BlockRef,
    JobId,
    Partition,
    StageId,
)
from pyrite.plan.stages import StageSpec
from pyrite.schedule import reports
from pyrite.schedule.commands import (
    LaunchTask,
    SetTimer,
)
from pyrite.schedule.pools import fair, fifo
from pyrite.schedule.runs import StageRun
from pyrite.schedule.staging import Staging
from pyrite.schedule.state import Executor
from pyrite.schedule.taskset import Attempt, TaskSet


class Launching(Staging):
    """Hands tasks to free executors."""

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
        # Everyone gets what is their own before anyone takes what is another's.
        for own in (True, False):
            for executor in list(self.free.values()):
                if not tasks.has_work:
                    return False
                if self._is_left_out(run, executor):
                    continue
                refused = self.health.refused(run.spec.id, executor.id)
                if own:
                    partition = tasks.take_own(executor.id, executor.slot, self.now_s, refused)
                else:
                    partition = tasks.take_any(executor.id, self.now_s, refused)
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
            self.commands.append(SetTimer(f"locality {run.spec.id}", until_s))
        if not self.rules.exclusion.enabled:
            return
        for partition in tasks.pending:
            usable = [
                each
                for each in self.executors.values()
                if not self._is_left_out(run, each)
                and partition not in self.health.refused(run.spec.id, each.id)
            ]
            # Executors that are still starting may turn out to be usable.
            complete = len(self.executors) >= max(1, self.rules.executors)
            if complete and not usable:
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
