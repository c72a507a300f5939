"""A run, folded from the records of its story: for the page, the terminal, metrics, progress bars,
the status tracker and the planners."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from pyrite.story import records as rec
from pyrite.story.format import StoryHeader
from pyrite.story.happenings import sentence_of
from pyrite.story.parts import (
    COMPLETE,
    LOST,
    ExecutorState,
    Happening,
    JobState,
    KeptPart,
    Measured,
    NodeState,
    PoolState,
    RddState,
    ShuffleState,
    StageState,
    TaskAttempt,
    TaskFailure,
    Totals,
)
from pyrite.story.records import Record

T = TypeVar("T")

# How many jobs, stages and errors a running driver remembers.
REMEMBERED = 200
# Of so many stages it knows the parents.
MOST_PARENTS = 20_000
# More samples of a pool are thinned out.
MOST_SAMPLES = 2000
FIRST_MEASURE = rec.TaskEnded._fields.index("result_bytes")
LAST_MEASURE = rec.TaskEnded._fields.index("traced")


class RunModel:
    """All that is known of a run so far; `add` takes the next record.

    With `remembered`, it keeps only the last jobs, stages and errors, and no ended attempts: its
    memory does not grow with the run.
    """

    def __init__(self, header: StoryHeader | None = None, remembered: int | None = None) -> None:
        self.header = header
        self.remembered = remembered
        # When the application began.
        self.first_s = None if header is None else header.clock_s
        self.last_s = 0.0
        self.ended_s: float | None = None
        self.jobs: OrderedDict[int, JobState] = OrderedDict()
        self.stages: OrderedDict[int, StageState] = OrderedDict()
        # Parents of the stages that have any, also of those that are not remembered.
        self.parents: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self.executors: dict[int, ExecutorState] = {}
        self.nodes: dict[str, NodeState] = {}
        self.rdds: dict[int, RddState] = {}
        self.shuffles: dict[int, ShuffleState] = {}
        # Attempts that run.
        self.running: dict[int, TaskAttempt] = {}
        self.totals = Totals()
        self.jobs_ended = 0
        self.jobs_failed = 0
        self.errors: deque[TaskFailure] = deque(maxlen=remembered)
        # Deaths, losses, recoveries and decisions.
        self.happenings: deque[Happening] = deque(maxlen=remembered)
        # How often each other event and command was told.
        self.counts: dict[str, int] = {}
        self._folds: dict[type[Any], Callable[[Any], None]] = {
            rec.StageMade: self._stage_made,
            rec.JobBegan: self._job_began,
            rec.JobEnded: self._job_ended,
            rec.StageEnded: self._stage_ended,
            rec.TaskStarted: self._task_started,
            rec.TaskEnded: self._task_ended,
            rec.TaskError: self._task_error,
            rec.TaskSampled: self._task_sampled,
            rec.PartitionsKept: self._partitions_kept,
            rec.NodeAdded: self._node_added,
            rec.NodeGone: self._node_gone,
            rec.ExecutorAdded: self._executor_added,
            rec.ExecutorGone: self._executor_gone,
            rec.RddKept: self._rdd_kept,
            rec.RddDropped: self._rdd_dropped,
            rec.ShuffleDropped: self._shuffle_dropped,
            rec.PoolSampled: self._pool_sampled,
            rec.ApplicationEnded: self._ended,
            rec.Told: self._told,
        }

    def add(self, record: Record) -> None:
        """Folds one record into the model."""
        self.last_s = record.at_s
        if self.first_s is None:
            self.first_s = record.at_s
        fold = self._folds.get(type(record))
        if fold is not None:
            fold(record)

    def add_all(self, records: Iterable[Record]) -> None:
        for record in records:
            self.add(record)

    # Questions

    def stage_ids(self, job: JobState) -> list[int]:
        """The stages of a job and their ancestors, skipped ones included."""
        found: dict[int, None] = {}
        pending = [job.stage]
        while pending:
            stage = pending.pop()
            if stage not in found:
                found[stage] = None
                pending.extend(self.parents.get(stage, ()))
        return sorted(found)

    def executors_of(self, node: str) -> list[ExecutorState]:
        """The living executors of a node."""
        known = self.executors.values()
        return [each for each in known if each.node == node and each.gone_s is None]

    @property
    def length_s(self) -> float:
        """How long it took so far; a simulated run begins at 0."""
        return 0.0 if self.first_s is None else self.last_s - self.first_s

    def wall_s(self, at_s: float) -> float:
        """The time of day, in seconds since 1970, of a moment of the engine's clock."""
        return at_s if self.header is None else at_s - self.header.clock_s + self.header.wall_s

    # Jobs and stages

    def _stage_made(self, made: rec.StageMade) -> None:
        if made.parents:
            self.parents[made.stage] = tuple(made.parents)
        stage = self.stages[made.stage] = StageState(*made[1:], total=made.partitions)
        if self.remembered is not None:
            stage.rdds = ()
            while len(self.parents) > MOST_PARENTS:
                self.parents.popitem(last=False)
            return
        for rdd in made.rdds:
            self._rdd_made(made.stage, rdd["id"], rdd["partitions"], rdd["operators"])
            for number, operator in enumerate(rdd["operators"], 1):
                # One in the middle of a pipeline, whose id the program has asked for.
                if operator.get("rdd") not in (None, rdd["id"]):
                    before = rdd["operators"][:number]
                    self._rdd_made(made.stage, operator["rdd"], rdd["partitions"], before)
            for each in rdd["inputs"]:
                if "shuffle" in each:
                    shuffle = self._shuffle(each["shuffle"])
                    shuffle.readers[made.stage] = None
                    shuffle.parts = rdd["partitions"]
        if made.writes is not None:
            self._shuffle(made.writes).writer = made.stage

    def _rdd_made(
        self, stage: int, id: int | None, partitions: int, operators: Sequence[rec.Fields]
    ) -> None:
        if id is None:
            return
        known = self.rdds.setdefault(id, RddState(id, partitions))
        # It may have been persisted before any stage had it.
        known.partitions = partitions
        known.operators = operators or known.operators
        known.stages[stage] = None

    def _job_began(self, began: rec.JobBegan) -> None:
        self.jobs[began.job] = JobState(
            began.job,
            began.stage,
            began.partitions,
            began.at_s,
            began.action,
            began.site,
            began.group,
            began.tags,
            began.pool,
            began.description,
        )
        last = self.stages.get(began.stage)
        if last is not None and last.writes is None:
            last.total = began.partitions

    def _job_ended(self, ended: rec.JobEnded) -> None:
        self.jobs_ended += 1
        self.jobs_failed += ended.error is not None
        job = self.jobs.get(ended.job)
        if job is not None:
            job.ended_s, job.error, job.message = ended.at_s, ended.error, ended.message
        self._trim(self.jobs, lambda each: each.ended_s is not None)
        self._trim(self.stages, lambda each: not each.active)
        if ended.error is not None:
            self._happens(ended)

    def _stage_ended(self, ended: rec.StageEnded) -> None:
        stage = self.stages.get(ended.stage)
        if stage is not None:
            if stage.again is not None:
                self._happens(ended)
            stage.ended, stage.ended_s, stage.again = True, ended.at_s, None

    # Tasks

    def _task_started(self, start: rec.TaskStarted) -> None:
        at_s, id, executor, stage_id, partitions, number, job_id, *_, divided = start
        attempt = TaskAttempt(id, stage_id, job_id, executor, partitions, number, at_s, divided)
        self.running[id] = attempt
        self.totals.started += 1
        count = attempt.completes
        stage = self.stages.get(stage_id)
        if stage is not None:
            if stage.writes is not None and stage.status == COMPLETE:
                self._happens(start)
                stage.again = 0
            if stage.again is not None:
                stage.again += 1
            stage.active += count
            stage.ended = False
            stage.totals.started += 1
            if stage.started_s is None:
                stage.started_s = at_s
            stage.jobs[job_id] = None
            if self.remembered is None:
                stage.attempts.append(attempt)
        job = self.jobs.get(job_id)
        if job is not None:
            job.active += count
            job.ran[stage_id] = None
        home = self.executors.get(executor)
        if home is not None:
            home.running[id] = None
            home.totals.started += 1

    def _task_ended(self, end: rec.TaskEnded) -> None:
        attempt = self.running.get(end.attempt)
        if attempt is None:
            # Its executor was given up before, and its words came late.
            return
        measured = None
        if self.remembered is None:
            measured = attempt.measured = Measured._make(end[FIRST_MEASURE:LAST_MEASURE])
        self._end(attempt, end.at_s, end.outcome, measured)
        stage = self.stages.get(attempt.stage)
        if stage is not None:
            if end.traced:
                stage.traced.update(dict.fromkeys(end.traced))
            if stage.writes is not None and end.outcome == rec.SUCCEEDED and attempt.completes:
                shuffle = self.shuffles.get(stage.writes)
                if shuffle is not None:
                    shuffle.outputs += len(end.made_bytes)
                    shuffle.written_bytes += end.shuffle_written_bytes

    def _end(
        self, attempt: TaskAttempt, at_s: float, outcome: str, measured: Measured | None = None
    ) -> None:
        """Ends an attempt, however it ended."""
        del self.running[attempt.id]
        attempt.ended_s, attempt.outcome = at_s, outcome
        count = attempt.completes
        stage, job = self.stages.get(attempt.stage), self.jobs.get(attempt.job)
        home = self.executors.get(attempt.executor)
        succeeded = outcome == rec.SUCCEEDED
        for part in (stage, job):
            if part is not None:
                part.active -= count
                if succeeded:
                    part.done += count
                elif outcome == rec.CANCELLED:
                    part.cancelled += 1
                else:
                    part.failed += 1
        if home is not None:
            home.running.pop(attempt.id, None)
            home.busy_s += at_s - attempt.started_s
        for totals in (
            self.totals,
            None if stage is None else stage.totals,
            None if home is None else home.totals,
        ):
            if totals is not None:
                totals.count(outcome)
                if measured is not None:
                    totals.add(measured)

    def _task_error(self, error: rec.TaskError) -> None:
        attempt = self.running.get(error.attempt)
        if attempt is None:
            return
        attempt.error = TaskFailure(
            error.at_s,
            error.attempt,
            attempt.stage,
            attempt.partitions,
            attempt.executor,
            error.error,
            error.message,
            error.traceback,
        )
        self.errors.append(attempt.error)
        self._happens(error)

    def _task_sampled(self, sampled: rec.TaskSampled) -> None:
        attempt = self.running.get(sampled.attempt)
        stage = None if attempt is None else self.stages.get(attempt.stage)
        if stage is not None and self.remembered is None:
            for stack, count in sampled.stacks.items():
                stage.samples[stack] = stage.samples.get(stack, 0) + count

    def _partitions_kept(self, kept: rec.PartitionsKept) -> None:
        attempt = self.running.get(kept.attempt)
        executor = -1 if attempt is None else attempt.executor
        for each in kept.stored:
            rdd = self.rdds.get(each["rdd"])
            if rdd is not None and rdd.level is not None:
                rdd.kept[each["partition"]] = KeptPart(each["bytes"], executor, each["blocks"])
        for each in kept.dropped:
            rdd = self.rdds.get(each["rdd"])
            if rdd is not None:
                found = rdd.kept.get(each["partition"])
                if found is not None and not found.blocks and found.executor == executor:
                    del rdd.kept[each["partition"]]

    # Nodes and executors

    def _node_added(self, added: rec.NodeAdded) -> None:
        at_s, id, pool_bytes, lends, storage_only = added
        known = self.nodes.get(id)
        pool = [] if known is None else known.pool
        self.nodes[id] = NodeState(id, pool_bytes, lends, storage_only, at_s, pool=pool)
        if known is not None:
            self._happens(added)

    def _node_gone(self, gone: rec.NodeGone) -> None:
        self._happens(gone)
        node = self.nodes.get(gone.node)
        if node is not None:
            node.gone_s, node.reason = gone.at_s, gone.reason
        for executor in self.executors_of(gone.node):
            self._lose(executor, gone.at_s, gone.reason)
        for rdd in self.rdds.values():
            rdd.kept = {
                index: part
                for index, part in rdd.kept.items()
                if not any(each["node"] == gone.node for each in part.blocks)
            }

    def _executor_added(self, added: rec.ExecutorAdded) -> None:
        at_s, id, node, host, pid = added
        self.executors[id] = ExecutorState(id, node, host, pid, at_s)

    def _executor_gone(self, gone: rec.ExecutorGone) -> None:
        self._happens(gone)
        executor = self.executors.get(gone.executor)
        if executor is not None:
            executor.output = gone.output
            self._lose(executor, gone.at_s, gone.reason)

    def _lose(self, executor: ExecutorState, at_s: float, reason: str) -> None:
        executor.gone_s, executor.reason = at_s, reason
        executor.victims = list(executor.running)
        for id in executor.victims:
            self._end(self.running[id], at_s, LOST)
        for rdd in self.rdds.values():
            rdd.kept = {
                index: part
                for index, part in rdd.kept.items()
                if part.blocks or part.executor != executor.id
            }
        if self.remembered is not None:
            del self.executors[executor.id]

    def _pool_sampled(self, sample: rec.PoolSampled) -> None:
        if self.remembered is not None:
            return
        node = self.nodes.setdefault(sample.node, NodeState(sample.node))
        at_s, _, size, used, lent, borrowed, rdds = sample
        node.pool.append(PoolState(at_s, size, used, lent, borrowed, rdds))
        if len(node.pool) > MOST_SAMPLES:
            del node.pool[::2]

    # RDDs, shuffles and the rest

    def _rdd_kept(self, kept: rec.RddKept) -> None:
        if self.remembered is None:
            self.rdds.setdefault(kept.rdd, RddState(kept.rdd, 0)).level = kept.level

    def _rdd_dropped(self, dropped: rec.RddDropped) -> None:
        rdd = self.rdds.get(dropped.rdd)
        if rdd is not None:
            rdd.level = None
            rdd.kept.clear()

    def _shuffle(self, id: int) -> ShuffleState:
        return self.shuffles.setdefault(id, ShuffleState(id))

    def _shuffle_dropped(self, dropped: rec.ShuffleDropped) -> None:
        if dropped.shuffle in self.shuffles:
            self.shuffles[dropped.shuffle].dropped_s = dropped.at_s

    def _told(self, told: rec.Told) -> None:
        self.counts[told.kind] = self.counts.get(told.kind, 0) + 1
        if told.kind == "SizesForeseen" and self.remembered is None:
            self._shuffle(told.fields["shuffle"]).foreseen = told.fields
        self._happens(told)

    def _ended(self, ended: rec.ApplicationEnded) -> None:
        self.ended_s = ended.at_s
        # Its executors ended with it, and nobody waited for these any more.
        for attempt in list(self.running.values()):
            self._end(attempt, ended.at_s, rec.CANCELLED)

    def _happens(self, record: Record) -> None:
        """Notes what people would tell of; before it is folded, so that the sentence can say what
        was there."""
        if self.remembered is None and (found := sentence_of(record, self)) is not None:
            self.happenings.append(found)

    def _trim(self, known: OrderedDict[int, T], may_go: Callable[[T], bool]) -> None:
        """Forgets the oldest; not while a job begins, which may have more stages than that."""
        if self.remembered is not None and len(known) > self.remembered:
            old = (id for id, each in known.items() if may_go(each))
            for id in list(islice(old, len(known) - self.remembered)):
                del known[id]
