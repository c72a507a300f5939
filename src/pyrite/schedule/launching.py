"""Which executor gets which task."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

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
from pyrite.schedule.grouping import Grouping
from pyrite.schedule.runs import StageRun
from pyrite.schedule.state import Executor
from pyrite.schedule.taskset import Attempt, TaskSet


class Launching(Grouping):
    """Hands tasks to free executors."""

    def _launch(self) -> None:
        if not self.free:
            return
        if self.rules.exclusion.enabled and self.health.forgive(self.now_s):
            for run in self.runs.values():
                if run.tasks is not None:
                    run.tasks.ask_all_again()
        if self.rules.fair:
            self._launch_fairly()
            return
        for run in self.turns.everyone():
            if not self.free:
                return
            # The jobs of a later one may have failed with an earlier one.
            if run.jobs:
                for _ in self._launches(run):
                    pass

    def _launch_fairly(self) -> None:
        rounds: dict[StageId, Iterator[None]] = {}
        passed: set[int] = set()
        # Each launch moves the shares, so the next is asked for again.
        while self.free and (run := self.turns.neediest(passed)) is not None:
            if run.spec.id not in rounds:
                rounds[run.spec.id] = self._launches(run)
            if next(rounds[run.spec.id], self) is self:
                passed.add(run.spec.id)

    def _launches(self, run: StageRun) -> Iterator[None]:
        """Launches what the free executors can take; pauses after each launch."""
        tasks = run.tasks
        if tasks is None or not tasks.has_work:
            self.turns.remove(run)
        elif run.spec.barrier:
            self._launch_barrier(run, tasks)
        else:
            # Everyone gets what is their own before anyone takes what is another's.
            yield from self._launch_own(run, tasks)
            if self.free and tasks.gives_any(self.now_s):
                yield from self._launch_any(run, tasks)
            if tasks.pending and self.free:
                self._wait_or_give_up(run, tasks)

    def _launch_own(self, run: StageRun, tasks: TaskSet) -> Iterator[None]:
        for executor in self._to_ask(tasks):
            if executor.attempt is None and not self._is_left_out(run, executor):
                refused = self.health.refused(run.spec.id, executor.id)
                partition = tasks.take_own(executor.id, executor.slot, self.now_s, refused)
                if partition is not None:
                    also = self._companions(run, tasks, executor, partition, own=True)
                    self._start(run, tasks, executor, partition, also)
                    yield
        tasks.all_asked(self.freed)

    def _to_ask(self, tasks: TaskSet) -> list[Executor]:
        """The free executors for which there may be something of their own."""
        if len(tasks.unasked) >= len(self.free):
            return list(self.free.values())
        asked = self.freed if tasks.asked is None else tasks.asked
        found = self._freed_since(asked)
        for partition in tasks.unasked:
            for owner in tasks.owners(partition, self.slots):
                if owner in self.free and self.free[owner].freed <= asked:
                    found.append(self.free[owner])
        return found

    def _freed_since(self, freed: int) -> list[Executor]:
        found = list(takewhile(lambda each: each.freed > freed, reversed(self.free.values())))
        found.reverse()
        return found

    def _launch_any(self, run: StageRun, tasks: TaskSet) -> Iterator[None]:
        for executor in self._freed_since(tasks.offered_before(self.now_s)):
            if not tasks.gives_any(self.now_s):
                return
            if executor.attempt is None and not self._is_left_out(run, executor):
                refused = self.health.refused(run.spec.id, executor.id)
                partition = tasks.take_any(executor.id, self.now_s, refused)
                if partition is not None:
                    also = self._companions(run, tasks, executor, partition, own=False)
                    self._start(run, tasks, executor, partition, also)
                    yield
        tasks.all_offered(self.freed, self.now_s)

    def _wait_or_give_up(self, run: StageRun, tasks: TaskSet) -> None:
        until_s = tasks.waits_until_s()
        # One timer at a time: when it fires and the wait has become longer, another is set.
        if until_s is not None and until_s > self.now_s >= tasks.wakes_at_s:
            tasks.wakes_at_s = until_s
            self.commands.append(SetTimer(f"locality {run.spec.id}", until_s))
        # Executors that are still starting may turn out to be usable.
        complete = len(self.executors) >= max(1, self.rules.executors)
        seen = self.health.changes, len(self.executors)
        if complete and tasks.judged != seen:
            tasks.judged = seen
            self._give_up_refused(run, tasks)

    def _give_up_refused(self, run: StageRun, tasks: TaskSet) -> None:
        """Fails a stage that has a task which no executor may try."""
        refused = (
            self.health.refused(run.spec.id, each.id)
            for each in self.executors.values()
            if not self._is_left_out(run, each)
        )
        hopeless = [each for each in next(refused, tasks.pending) if each in tasks.pending]
        for others in refused:
            if not hopeless:
                return
            hopeless = [each for each in hopeless if each in others]
        if hopeless:
            self._fail_stage(run, reports.no_executor_left(run.spec, hopeless[0]))

    def _is_left_out(self, run: StageRun, executor: Executor) -> bool:
        return self.rules.exclusion.enabled and (
            self.health.excluded(executor.id) or self.health.excluded_from(run.spec.id, executor.id)
        )

    def _launch_barrier(self, run: StageRun, tasks: TaskSet) -> None:
        """All tasks at once or none."""
        if len(self.free) >= len(tasks.pending):
            run.barrier = {}
            for partition, executor in zip(
                list(tasks.pending), list(self.free.values()), strict=False
            ):
                tasks.discard(partition)
                self._start(run, tasks, executor, partition)

    def _start(
        self,
        run: StageRun,
        tasks: TaskSet,
        executor: Executor,
        partition: int,
        also: tuple[int, ...] = (),
    ) -> None:
        attempt = Attempt(
            AttemptId(self.next_attempt),
            tasks,
            partition,
            executor.id,
            tasks.next_number(partition),
            self.now_s,
            also=also,
            writes=run.spec.writes,
        )
        for each in also:
            tasks.next_number(each)
        self.next_attempt += 1
        self.attempts[attempt.id] = attempt
        executor.attempt = attempt
        del self.free[executor.id]
        tasks.start(attempt)
        index = run.pieces.get(partition, partition)
        attempt.blocks = self._kept_blocks(run.spec, index)
        if run.ahead is not None:
            attempt.parcels = self._parcels_for(run, index, executor.node)
            for each in (index, *also):
                self._reducer_launched(run, each)
        for segment in attempt.segments():
            self.ledger.use(segment)
        divided = self._divided(run, partition) if run.divisions else None
        pays = divided is None and not also and self._pays(run, tasks, partition)
        inputs = [
            self.outputs.shuffles[shuffle].snapshot()
            for shuffle in run.spec.shape.shuffles
            if self.outputs.is_complete(shuffle)
        ]
        self.commands.append(
            LaunchTask(
                attempt.id,
                executor.id,
                run.spec.id,
                index,
                attempt.number,
                JobId(run.job),
                tuple(inputs),
                attempt.blocks,
                attempt.parcels,
                also,
                divided,
                self.rules.buffer_bytes if pays else 0,
            )
        )

    def _pays(self, run: StageRun, tasks: TaskSet, partition: int) -> bool:
        """Whether the task tells of its output in installments: not a copy of one that does."""
        shuffle = run.spec.writes
        if shuffle is None or not self.rules.buffer_bytes or run.spec.barrier:
            return False
        if self.rules.output_copies > 1:
            # Only an output that is one block has a copy, and who asks for copies wants one of all.
            return False
        return len(tasks.running[partition]) == 1 and self._is_wanted_early(shuffle)

    def _kept_blocks(
        self, spec: StageSpec, partition: int
    ) -> tuple[tuple[Partition, BlockRef], ...]:
        kept = self.kept.blocks
        if not kept or spec.shape.rdds.isdisjoint(kept.keys()):
            return ()
        return tuple(
            (each, ref)
            for each in spec.shape.kept_partitions(partition, kept.keys(), self.kept.has_block)
            if (ref := self.kept.block(each)) is not None
        )
