"""Learns a workload for the simulator from the story of a real run.

A task's own work is its duration, minus the model's times for its launch, for decoding its input
and encoding its output, and for the slowdown by other executors; only this part stays the same on
another cluster. A node is assumed to have as many cores as executors.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from pyrite.conf import SparkConf
from pyrite.forecast.costs import CostModel
from pyrite.forecast.executortimes import ExecutorTimes, Launched, Ran
from pyrite.forecast.submitted import SubmittedJob, ordered
from pyrite.forecast.workload import (
    DriverEvent,
    KeptModel,
    Reads,
    StageModel,
    Workload,
    reads_of,
)
from pyrite.ids import NamespaceId, Partition, RddId, ShuffleId
from pyrite.plan.program import Shape
from pyrite.schedule.events import (
    NamespaceDropped,
    NamespaceMade,
    RddForgotten,
    RddPersisted,
    RddReported,
    ShuffleForgotten,
)
from pyrite.schedule.lafsettings import read_laf
from pyrite.schedule.rules import Rules
from pyrite.settings import Settings
from pyrite.story import records as rec
from pyrite.story.format import BadStory, StoryHeader
from pyrite.story.model import RunModel
from pyrite.story.parts import ExecutorState, JobState
from pyrite.story.read import StoryReader
from pyrite.story.records import Fields, Record
from pyrite.story.stages import shape_of

# The events of collections, by the names under which a story tells them.
COLLECTION_EVENTS: dict[str, Callable[[Fields], DriverEvent]] = {
    "NamespaceMade": lambda told: NamespaceMade(
        NamespaceId(told["namespace"]),
        told["name"],
        told["partitions"],
        told["groups"],
        told["extendable"],
    ),
    "NamespaceDropped": lambda told: NamespaceDropped(NamespaceId(told["namespace"])),
    "RddReported": lambda told: RddReported(RddId(told["rdd"])),
}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A workload, and the executors and duration of the run it was learnt from."""

    workload: Workload
    executors: int
    seconds: float
    # How the run's tasks went by keys, and how much input stayed in memory.
    rules: Rules


def read_story(path: str | os.PathLike[str], model: CostModel) -> RecordedRun:
    """Reads the workload of a story file; the model gives the engine's share of the times."""
    learner = Learner(model)
    header = follow(learner, path)
    settings = Settings(SparkConf(False).setAll(list(header.settings.items())))
    return replace(learner.recorded_run(str(path)), rules=rules_of(settings))


def rules_of(settings: Settings) -> Rules:
    """The scheduler's rules for input that lies on a ring; all else is as it is by default."""
    cache_bytes = settings.bytes("pyrite.ring.cache")
    return Rules(laf=read_laf(settings), input_cache_bytes=cache_bytes)


def follow(learner: Learner, path: str | os.PathLike[str]) -> StoryHeader:
    """Passes all records of a story to the learner, as far as it has been written."""
    with StoryReader(path) as reader:
        for record in reader.records():
            learner.read(record)
        return reader.header


class Learner:
    """Folds a story into the model of its run, and measures the work and the input of each task."""

    def __init__(self, model: CostModel) -> None:
        self.model = model
        self.run = RunModel()
        self.shapes: dict[int, Shape] = {}
        # What was persisted and forgotten since the last job, and before each job.
        self.since: list[DriverEvent] = []
        self.before: dict[int, tuple[DriverEvent, ...]] = {}
        # The partitions of its last stage that each job computed.
        self.computed: dict[int, dict[int, None]] = {}
        self.node_times: dict[str, ExecutorTimes] = {}
        self.most_executors = 0
        self.first_executor_s = 0.0
        self.running: dict[int, Launched] = {}
        self.ran: dict[tuple[int, int], Ran] = {}
        # The work of pieces of reducers that have not been merged yet.
        self.pieces_s: dict[tuple[int, int], float] = {}
        self.persisted: dict[RddId, None] = {}
        # The executors that hold live rows of a partition; None for a block that all can read.
        self.holders: dict[Partition, dict[int | None, None]] = {}
        self.sizes: dict[Partition, float] = {}
        self.places: dict[RddId, str] = {}
        # What running attempts did with kept partitions.
        self.news: dict[int, rec.PartitionsKept] = {}

    def read(self, record: Record) -> None:
        going = self._going(record)
        self.run.add(record)
        at_s = record.at_s
        for executor in going:
            self._lose_executor(at_s, executor)
        match record:
            case rec.StageMade():
                self.shapes[record.stage] = shape_of(record)
            case rec.JobBegan():
                self.before[record.job] = tuple(self.since)
                self.since.clear()
                self.computed[record.job] = {}
            case rec.ExecutorAdded():
                self._join(at_s, self.run.executors[record.executor])
            case rec.RddKept():
                self._note_persisted(RddPersisted(RddId(record.rdd), namespace_of(record)))
            case rec.RddDropped():
                self._note_persisted(RddForgotten(RddId(record.rdd)))
            case rec.ShuffleDropped():
                self.since.append(ShuffleForgotten(ShuffleId(record.shuffle)))
            case rec.Told() if record.kind in COLLECTION_EVENTS:
                self.since.append(COLLECTION_EVENTS[record.kind](record.fields))
            case rec.TaskStarted():
                self._read_launch(record)
            case rec.PartitionsKept():
                self.news[record.attempt] = record
            case rec.TaskEnded():
                if record.outcome == rec.SUCCEEDED:
                    self._read_success(record)
                else:
                    self._end(at_s, record.attempt)
                self.news.pop(record.attempt, None)

    def _going(self, record: Record) -> list[ExecutorState]:
        """The living executors that end with this record."""
        match record:
            case rec.NodeGone():
                return self.run.executors_of(record.node)
            case rec.ExecutorGone():
                found = self.run.executors.get(record.executor)
                return [] if found is None or found.gone_s is not None else [found]
            case _:
                return []

    def _note_persisted(self, event: RddPersisted | RddForgotten) -> None:
        self.since.append(event)
        known = self.run.rdds.items()
        self.persisted = {RddId(id): None for id, rdd in known if rdd.level is not None}

    def _join(self, at_s: float, executor: ExecutorState) -> None:
        if not self.most_executors:
            self.first_executor_s = at_s
        times = self.node_times.setdefault(executor.node, ExecutorTimes(at_s=at_s))
        times.advance(at_s, self.model)
        times.executors += 1
        living = sum(each.executors for each in self.node_times.values())
        self.most_executors = max(self.most_executors, living)

    def _lose_executor(self, at_s: float, executor: ExecutorState) -> None:
        times = self.node_times[executor.node]
        times.advance(at_s, self.model)
        times.executors -= 1
        for attempt in executor.victims:
            self._end(at_s, attempt)
        for holders in self.holders.values():
            holders.pop(executor.id, None)

    def _end(self, at_s: float, attempt: int) -> tuple[Launched, float] | None:
        """Ends an attempt; returns it with its work."""
        launched = self.running.pop(attempt, None)
        if launched is None:
            return None
        work_s = launched.times.advance(at_s, self.model) - launched.done_s
        launched.times.busy -= 1
        return launched, work_s

    def _read_launch(self, start: rec.TaskStarted) -> None:
        attempt = self.run.running[start.attempt]
        if attempt.stage not in self.shapes:
            return
        # Tiny reducers may run in one task, and a heavy one in pieces.
        partitions = attempt.partitions
        if attempt.stage == self.run.jobs[attempt.job].stage:
            self.computed[attempt.job].update(dict.fromkeys(partitions))
        reads = [self._reads_of(attempt.stage, index, attempt.executor) for index in partitions]
        read_bytes = sum(self._bytes_of(each, start) for each in reads)
        if not attempt.completes and attempt.divided is not None:
            first, end = attempt.divided["maps"]
            read_bytes *= (end - first) / max(1, start.inputs[0]["outputs"])
        times = self.node_times[self.run.executors[attempt.executor].node]
        done_s = times.advance(start.at_s, self.model)
        times.busy += 1
        missing = [each.missing for each in reads]
        self.running[attempt.id] = Launched(times, done_s, attempt, missing, read_bytes)

    def _reads_of(self, stage: int, index: int, executor: int) -> Reads:
        """What a task reads, and the kept partitions that it has to compute."""

        def has(partition: Partition) -> bool:
            holders = self.holders.get(partition, {})
            return None in holders or executor in holders

        return reads_of(self.shapes[stage], index, self.persisted, has)

    def _bytes_of(self, reads: Reads, start: rec.TaskStarted) -> float:
        """The bytes that a task has to decode."""
        totals = {each["shuffle"]: each["bytes"] for each in start.inputs}
        found: float = sum(totals.get(s, 0) / self.run.shuffles[s].parts for s, _ in reads.parts)
        for each in reads.found:
            if start.executor not in self.holders[each]:
                found += self.sizes.get(each, 0.0)
        return found

    def _read_success(self, end: rec.TaskEnded) -> None:
        ended = self._end(end.at_s, end.attempt)
        if ended is None:
            return
        launched, work_s = ended
        if end.attempt in self.news:
            self._read_kept(self.news[end.attempt], launched)
        outputs = [float(size) for size in end.made_bytes]
        model = self.model
        engine_s = model.task_s() + model.decode_s(launched.read_bytes)
        cpu_s = max(0.0, work_s - engine_s - model.write_s(sum(outputs))) / len(outputs)
        attempt = launched.attempt
        input_bytes = end.read_bytes / len(outputs)
        made = zip(attempt.partitions, outputs, launched.missing, strict=True)
        for index, output, missing in made:
            key = attempt.stage, index
            if not attempt.completes:
                self.pieces_s[key] = self.pieces_s.get(key, 0.0) + cpu_s
                continue
            own_s = cpu_s + self.pieces_s.pop(key, 0.0)
            # The first attempt, which computes kept rows, says more than one that finds them.
            if key not in self.ran:
                self.ran[key] = Ran(own_s, output, missing, input_bytes)

    def _read_kept(self, kept: rec.PartitionsKept, launched: Launched) -> None:
        for each in kept.stored:
            self._read_stored(each, launched)
        for each in kept.dropped:
            holders = self.holders.get(partition_of(each), {})
            holders.pop(launched.attempt.executor, None)

    def _read_stored(self, stored: Fields, launched: Launched) -> None:
        partition, blocks = partition_of(stored), stored["blocks"]
        holder = None if blocks else launched.attempt.executor
        self.holders.setdefault(partition, {})[holder] = None
        self.sizes.setdefault(partition, float(stored["bytes"]))
        if not blocks:
            self.places[partition.rdd] = "live"
        else:
            medium = blocks[0]["medium"]
            self.places.setdefault(partition.rdd, "disk" if medium == "disk" else "pool")

    # The workload

    def recorded_run(self, path: str) -> RecordedRun:
        jobs = self._submitted()
        if not jobs:
            raise BadStory(f"{path!r} has no job that succeeded: there is nothing to simulate")
        making = self._making()
        stages = {id: self._stage(id, making) for id in self._wanted([job.id for job in jobs])}
        notes = self._notes(jobs, stages)
        workload = Workload(stages, tuple(ordered(jobs)), self._kept(making), notes)
        # The first job may have been submitted before the first executor joined.
        began_s = max(min(job.at_s for job in jobs), self.first_executor_s)
        seconds = max(job.ended_s for job in jobs) - began_s
        return RecordedRun(workload, max(1, self.most_executors), seconds, Rules())

    def _submitted(self) -> list[SubmittedJob]:
        """The jobs that succeeded."""
        found = []
        before: list[DriverEvent] = []
        for job in self.run.jobs.values():
            # What came before a job that is left out holds for the next one.
            before += self.before[job.id]
            ended_s = self._ended_s(job)
            if ended_s is not None and not job.error:
                partitions = tuple(sorted(self.computed[job.id]))
                began_s, events = job.began_s, tuple(before)
                found.append(SubmittedJob(job.id, job.stage, began_s, ended_s, partitions, events))
                before.clear()
        return found

    def _ended_s(self, job: JobState) -> float | None:
        return job.ended_s

    def _wanted(self, jobs: list[int]) -> list[int]:
        """The stages of these jobs and their ancestors."""
        found = {id: None for job in jobs for id in self.run.stage_ids(self.run.jobs[job])}
        return sorted(found)

    def _making(self) -> dict[Partition, float]:
        """The time to compute each kept partition: the least of the tasks that did."""
        making: dict[Partition, float] = {}
        for ran in self.ran.values():
            for each in ran.missing:
                cost_s = ran.cpu_s / len(ran.missing)
                making[each] = min(cost_s, making.get(each, cost_s))
        return making

    def _stage(self, id: int, making: dict[Partition, float]) -> StageModel:
        made = self.run.stages[id]
        cpu_s, output_bytes, input_bytes = [], [], []
        for index in range(made.partitions):
            ran = self.ran.get((id, index))
            own_s = 0.0 if ran is None else ran.cpu_s - sum(making[each] for each in ran.missing)
            cpu_s.append(max(0.0, own_s))
            output_bytes.append(0.0 if ran is None else ran.output_bytes)
            input_bytes.append(0.0 if ran is None else ran.input_bytes)
        shape = self.shapes[id]
        # Without keys, what reading took is in the task's own work.
        keys = [shape.key(index) for index in range(made.partitions)] if shape.has_keys else []
        return StageModel(
            id,
            cpu_s,
            made.name,
            tuple(made.parents),
            made.writes,
            output_bytes,
            input_bytes=input_bytes if keys else (),
            input_keys=keys,
            steps=tuple(shape.steps),
            namespace=made.namespace,
        )

    def _kept(self, making: dict[Partition, float]) -> dict[int, KeptModel]:
        making_s: dict[int, dict[int, float]] = {}
        size_bytes: dict[int, dict[int, float]] = {}
        for partition, cost_s in making.items():
            making_s.setdefault(partition.rdd, {})[partition.index] = cost_s
        for partition, size in self.sizes.items():
            size_bytes.setdefault(partition.rdd, {})[partition.index] = size
        # Some RDDs may have been persisted and never computed.
        asked = [each.rdd for before in self.before.values() for each in before
                 if isinstance(each, RddPersisted)]  # fmt: skip
        return {
            rdd: KeptModel(
                rdd,
                making_s.get(rdd, {}),
                size_bytes.get(rdd, {}),
                self.places.get(RddId(rdd), "live"),
            )
            for rdd in dict.fromkeys([*making_s, *size_bytes, *asked])
        }

    def _notes(self, jobs: list[SubmittedJob], stages: dict[int, StageModel]) -> tuple[str, ...]:
        notes = []
        ran = {stage for stage, _ in self.ran}
        if unknown := [each.name for each in stages.values() if each.id not in ran]:
            notes.append(
                f"the story has no tasks of {len(unknown)} stages ({unknown[0]}...): where they "
                "have to run, they count as taking no time"
            )
        if len(jobs) < len(self.run.jobs):
            notes.append(
                f"{len(self.run.jobs) - len(jobs)} jobs that failed or did not end are left out"
            )
        return tuple(notes)


def namespace_of(told: rec.RddKept) -> NamespaceId | None:
    return None if told.namespace is None else NamespaceId(told.namespace)


def partition_of(told: Fields) -> Partition:
    return Partition(RddId(told["rdd"]), told["partition"])
