"""The launcher: which free executor gets which task."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.blocks.fetched import Stretch
from pyrite.ids import BlockRef, NodeId, Partition, ShuffleId, StageId, TaskKey, partition_of
from pyrite.plan.stages import StageSpec
from pyrite.schedule import reports
from pyrite.schedule.attempts import Attempt, Attempts
from pyrite.schedule.collections import Collections
from pyrite.schedule.commands import LaunchTask, SetTimer
from pyrite.schedule.divider import Divider
from pyrite.schedule.fleet import Executor, Fleet
from pyrite.schedule.grouping import Grouping
from pyrite.schedule.health import Health
from pyrite.schedule.jobs import Jobs
from pyrite.schedule.keyranges import KeyRanges
from pyrite.schedule.outputs import Outputs
from pyrite.schedule.prefetch.planner import ReducePlanner
from pyrite.schedule.prefetch.prefetcher import Prefetcher
from pyrite.schedule.queue import StageQueue
from pyrite.schedule.replicas import Replicas
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskinputs import InputBlock, Prefetched
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.timer import LocalityWait
from pyrite.schedule.turn import Turn

# Up to this share of its limit, cached input is taken in whatever its key is.
ROOMY = 0.75


class Launcher:
    """Launches tasks on free executors."""

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        health: Health,
        stages: Stages,
        queue: StageQueue[StageRun],
        outputs: Outputs,
        storage: Storage,
        attempts: Attempts,
        planner: ReducePlanner,
        prefetcher: Prefetcher,
        divider: Divider,
        grouping: Grouping,
        collections: Collections,
        replicas: Replicas,
        jobs: Jobs,
        ranges: KeyRanges,
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.health = health
        self.stages = stages
        self.queue = queue
        self.outputs = outputs
        self.storage = storage
        self.attempts = attempts
        self.planner = planner
        self.prefetcher = prefetcher
        self.divider = divider
        self.grouping = grouping
        self.collections = collections
        self.replicas = replicas
        self.jobs = jobs
        self.ranges = ranges

    def launch(self) -> None:
        """Launches as many tasks as the free executors can take."""
        if not self.fleet.free:
            return
        if self.rules.exclusion.enabled and self.health.forgive(self.turn.now_s):
            for run in self.stages:
                if run.tasks is not None:
                    run.tasks.queue.ask_all_again()
        if self.rules.fair:
            self._launch_fairly()
            return
        for run in self.queue.everyone():
            if not self.fleet.free:
                return
            # Launching for an earlier stage may have failed this one's jobs.
            if run.jobs:
                for _ in self._launches(run):
                    pass

    def _launch_fairly(self) -> None:
        rounds: dict[StageId, Iterator[None]] = {}
        passed: set[int] = set()
        # Each launch changes the shares, so choose the next stage after each.
        while self.fleet.free and (run := self.queue.neediest(passed)) is not None:
            if run.spec.id not in rounds:
                rounds[run.spec.id] = self._launches(run)
            if next(rounds[run.spec.id], self) is self:
                passed.add(run.spec.id)

    def _launches(self, run: StageRun) -> Iterator[None]:
        """Launches a stage's tasks on free executors; yields after each launch."""
        tasks = run.tasks
        if tasks is None or not tasks.has_work:
            self.queue.remove(run)
        elif run.spec.barrier:
            self._launch_barrier(run, tasks)
        else:
            # Local tasks first: no executor takes another's task before that one was asked.
            yield from self._launch_own(run, tasks)
            if self.fleet.free and tasks.gives_any(self.turn.now_s):
                yield from self._launch_any(run, tasks)
            if tasks.pending and self.fleet.free:
                self._wait_or_give_up(run, tasks)

    def _launch_own(self, run: StageRun, tasks: TaskSet) -> Iterator[None]:
        tasks.queue.follow_ranges()
        for executor in self._with_own_tasks(tasks):
            if executor.attempt is None and not self._is_excluded(run, executor):
                refused = self.health.refused(run.spec.id, executor.id)
                task = tasks.queue.take_own(executor.id, executor.slot, self.turn.now_s, refused)
                if task is not None:
                    group = self.grouping.group(run, tasks, executor, task, own=True)
                    self._start(run, tasks, executor, group)
                    yield
        tasks.queue.all_asked(self.fleet.freed)

    def _with_own_tasks(self, tasks: TaskSet) -> list[Executor]:
        """Returns the free executors that may find a task of their own."""
        queue = tasks.queue
        if len(queue.unasked) >= len(self.fleet.free):
            return list(self.fleet.free.values())
        asked = self.fleet.freed if queue.asked is None else queue.asked
        found = self.fleet.freed_since(asked)
        for task in queue.unasked:
            for owner in queue.owners(task, self.fleet.slots):
                executor = self.fleet.free.get(owner)
                if executor is not None and executor.freed <= asked:
                    found.append(executor)
        return found

    def _launch_any(self, run: StageRun, tasks: TaskSet) -> Iterator[None]:
        offered = tasks.queue.offered_before(self.turn.now_s)
        for executor in self._by_contention(run, self.fleet.freed_since(offered)):
            if not tasks.gives_any(self.turn.now_s):
                return
            if executor.attempt is None and not self._is_excluded(run, executor):
                refused = self.health.refused(run.spec.id, executor.id)
                task = tasks.take_any(executor.id, self.turn.now_s, refused)
                if task is not None:
                    group = self.grouping.group(run, tasks, executor, task, own=False)
                    self._start(run, tasks, executor, group)
                    yield
        tasks.queue.all_offered(self.fleet.freed, self.turn.now_s)

    def _by_contention(self, run: StageRun, executors: list[Executor]) -> list[Executor]:
        """Orders the executors that take a collection's tasks from others (Stark, algorithm 1)."""
        if not run.groups or len(executors) < 2:
            return executors
        return sorted(executors, key=lambda each: self.collections.count(each.id))

    def _wait_or_give_up(self, run: StageRun, tasks: TaskSet) -> None:
        queue = tasks.queue
        until_s = None if tasks.paused else queue.waits_until_s()
        # One timer at a time: if the wait has grown when it fires, another is set.
        if until_s is not None and until_s > self.turn.now_s >= queue.wakes_at_s:
            queue.wakes_at_s = until_s
            self.turn.add(SetTimer(LocalityWait(run.spec.id), until_s))
        # Executors that are still starting may be usable.
        complete = len(self.fleet) >= max(1, self.fleet.expected)
        seen = self.health.changes, len(self.fleet)
        if complete and queue.judged != seen:
            queue.judged = seen
            self._give_up_refused(run, tasks)

    def _give_up_refused(self, run: StageRun, tasks: TaskSet) -> None:
        """Fails a stage that has a task which every executor is excluded from."""
        refused = (
            self.health.refused(run.spec.id, each.id)
            for each in self.fleet
            if not self._is_excluded(run, each)
        )
        hopeless = [each for each in next(refused, tasks.pending) if each in tasks.pending]
        for others in refused:
            if not hopeless:
                return
            hopeless = [each for each in hopeless if each in others]
        if hopeless:
            self.jobs.fail(run, reports.no_executor_left(run.spec, partition_of(hopeless[0])))

    def on_wait_over(self, timer: LocalityWait) -> None:
        """Allows the next timer; this one may have been set for an earlier run of the stage."""
        run = self.stages.get(timer.stage)
        if run is not None and run.tasks is not None:
            run.tasks.queue.wakes_at_s = self.turn.now_s

    def _is_excluded(self, run: StageRun, executor: Executor) -> bool:
        return self.rules.exclusion.enabled and (
            self.health.excluded(executor.id) or self.health.excluded_from(run.spec.id, executor.id)
        )

    def _launch_barrier(self, run: StageRun, tasks: TaskSet) -> None:
        """Launches all tasks at once, or none."""
        if len(self.fleet.free) >= len(tasks.pending):
            run.barrier = {}
            for task, executor in zip(
                list(tasks.pending), list(self.fleet.free.values()), strict=False
            ):
                self._start(run, tasks, executor, (tasks.queue.take(task),))
        elif len(tasks.pending) > self.jobs.most_executors:
            # It starts again, and nodes have left since it first did.
            self.jobs.judge_barriers()

    def _start(
        self, run: StageRun, tasks: TaskSet, executor: Executor, keys: tuple[TaskKey, ...]
    ) -> None:
        first = keys[0]
        number = tasks.next_number(first)
        for each in keys[1:]:
            tasks.next_number(each)
        attempt = Attempt(
            self.attempts.next_id(),
            tasks,
            keys,
            executor.id,
            number,
            self.turn.now_s,
        )
        self.attempts.add(attempt)
        self.fleet.occupy(executor, attempt)
        tasks.launch(attempt)
        partitions = tuple(map(partition_of, keys))
        attempt.blocks = self._kept_blocks(run.spec, partitions, executor.node)
        if run.plan is not None:
            attempt.prefetched = self._prefetched_for(run, partitions, executor)
            for index in partitions:
                self.prefetcher.reducer_launched(run, index)
        if run.spec.shape.has_keys:
            attempt.cached = self._cached_inputs(run.spec, partitions, executor)
        for segment in attempt.segments():
            self.storage.ledger.use(segment)
        divided = self.divider.divided(run, first) if run.divisions else None
        if run.groups:
            self.collections.launched(run.spec, partitions, executor.id)
            self.replicas.launched(run.spec, attempt, executor)
        self.turn.add(
            LaunchTask(
                attempt.id,
                executor.id,
                run.spec.id,
                partitions,
                number,
                run.job,
                self.outputs.snapshots(run.spec.shape.shuffles),
                attempt.blocks,
                attempt.prefetched,
                divided,
                attempt.cached,
            )
        )

    def _cached_inputs(
        self, spec: StageSpec, partitions: tuple[int, ...], executor: Executor
    ) -> tuple[InputBlock, ...]:
        """Returns where a task that starts finds the blocks of its keys."""
        if not self.rules.input_cache_bytes:
            return ()
        keys = [key for index in partitions if (key := spec.shape.key(index)) is not None]
        found = [InputBlock(key, self._cached_input(key, executor.node)) for key in keys]
        for each in found:
            self.storage.book.read_input(each.ref is not None)
        return tuple(each for each in found if self._stays(each, executor))

    def _stays(self, block: InputBlock, executor: Executor) -> bool:
        """Whether a block may stay in memory: one of another range takes no room from those of the
        own one."""
        if block.ref is not None or self.rules.laf is None:
            return True
        pool = self.storage.ledger.pools.get(executor.node)
        has_room = pool is not None and pool.input_bytes < self.rules.input_cache_bytes * ROOMY
        return has_room or self.ranges.includes(executor.id, block.key)

    def _cached_input(self, key: int, node: NodeId) -> BlockRef | None:
        found = self.storage.inputs.find(key, node)
        if found is None and self.rules.laf is not None and self.rules.laf.migrates:
            near = (self.storage.inputs.find(key, n) for n in self.ranges.neighbours(node))
            found = next((each for each in near if each is not None), None)
        return found

    def _prefetched_for(
        self, run: StageRun, partitions: tuple[int, ...], executor: Executor
    ) -> tuple[Prefetched, ...]:
        """Returns the prefetched segments of all of the attempt's partitions, each once."""
        if len(partitions) == 1:
            return self.prefetcher.prefetched_for(run, partitions[0], executor.node)
        found: dict[ShuffleId, dict[str, Stretch | None]] = {}
        for index in partitions:
            for each in self.prefetcher.prefetched_for(run, index, executor.node):
                stretches = dict(zip(each.segments, each.stretches, strict=True))
                found.setdefault(each.shuffle, {}).update(stretches)
        return tuple(
            Prefetched(shuffle, tuple(stretches), tuple(stretches.values()))
            for shuffle, stretches in found.items()
        )

    def _kept_blocks(
        self, spec: StageSpec, partitions: tuple[int, ...], node: NodeId
    ) -> tuple[tuple[Partition, BlockRef], ...]:
        kept = self.storage.kept
        rdds = kept.block_rdds()
        if not rdds or spec.shape.rdds.isdisjoint(rdds):
            return ()
        # A task may come upon a partition more than once.
        wanted = dict.fromkeys(
            partition
            for index in partitions
            for partition in spec.shape.kept_partitions(index, rdds, kept.has_blocks)
        )
        return tuple((each, ref) for each in wanted for ref in kept.blocks_near(each, node))
