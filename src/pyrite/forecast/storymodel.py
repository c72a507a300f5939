"""Learns a workload for the simulator from the story of a real run.

A task's own work is its duration, minus the model's times for its launch, for decoding its input
and encoding its output, and for the slowdown by other executors; only this part stays the same on
another cluster. A node is assumed to have as many cores as executors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyrite.forecast.costs import CostModel
from pyrite.forecast.executortimes import ExecutorTimes, Launched, Ran
from pyrite.forecast.storylines import (
    HOW_TO_MAKE,
    BadStory,
    Line,
    made_bytes,
    node_of,
    story_lines,
)
from pyrite.forecast.workload import (
    DriverEvent,
    JobModel,
    KeptModel,
    Reads,
    StageModel,
    Workload,
    reads_of,
)
from pyrite.ids import Partition, RddId, ShuffleId
from pyrite.plan.program import Shape, ShuffleInput
from pyrite.schedule.events import RddForgotten, RddPersisted, ShuffleForgotten


@dataclass(slots=True)
class SubmittedJob:
    """A submitted job, and when it ended."""

    id: int
    stage: int
    at_s: float
    before: tuple[DriverEvent, ...]
    partitions: dict[int, None] = field(default_factory=dict)
    ended_s: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A workload, and the executors and duration of the run it was learnt from."""

    workload: Workload
    executors: int
    seconds: float


def read_story(path: str | os.PathLike[str], model: CostModel) -> RecordedRun:
    """Reads the workload of a story file; the model gives the engine's share of the times."""
    learner = Learner(model)
    follow(learner, path)
    return learner.recorded_run(str(path))


def follow(learner: Learner, path: str | os.PathLike[str]) -> None:
    """Passes all lines of a story to the learner, as far as it has been written."""
    for number, line in enumerate(story_lines(path), start=1):
        try:
            learner.read(line)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise BadStory(
                f"{str(path)!r}, line {number}: not as Pyrite writes stories "
                f"({type(error).__name__}: {error}); it may be from another version: {HOW_TO_MAKE}"
            ) from None


class Learner:
    """Reads a story and records the work and the input of each task."""

    def __init__(self, model: CostModel) -> None:
        self.model = model
        self.stages: dict[int, Line] = {}
        self.shapes: dict[int, Shape] = {}
        self.jobs: dict[int, SubmittedJob] = {}
        self.before: list[DriverEvent] = []
        self.executors: dict[int, ExecutorTimes] = {}
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
        self.parts: dict[ShuffleId, int] = {}

    def read(self, line: Line) -> None:
        at_s = float(line["at_s"])
        event = line["event"]
        match event["kind"]:
            case "JobSubmitted":
                self._read_job(at_s, event["job"], line["stages"])
            case "ExecutorJoined":
                self._join(at_s, event["executor"], event["node"])
            case "ExecutorLost":
                self._lose_executor(at_s, event["executor"])
            case "NodeLost" if event["node"] in self.node_times:
                for executor in list(self.node_times[event["node"]].executors):
                    self._lose_executor(at_s, executor)
            case "RddPersisted":
                self.persisted[RddId(event["rdd"])] = None
                self.before.append(RddPersisted(RddId(event["rdd"])))
            case "RddForgotten":
                self.persisted.pop(RddId(event["rdd"]), None)
                self.before.append(RddForgotten(RddId(event["rdd"])))
            case "ShuffleForgotten":
                self.before.append(ShuffleForgotten(ShuffleId(event["shuffle"])))
            case "TaskSucceeded":
                self._read_success(at_s, event)
            case "TaskFailed" | "TaskCancelled" | "FetchFailed":
                self._end(at_s, event["attempt"])
        for command in line["commands"]:
            if command["kind"] == "LaunchTask":
                self._read_launch(at_s, command)
            elif command["kind"] == "FinishJob" and command["job"] in self.jobs:
                self.jobs[command["job"]].ended_s = at_s
                self.jobs[command["job"]].error = command["error"]

    def _join(self, at_s: float, executor: int, node: str) -> None:
        if not self.most_executors:
            self.first_executor_s = at_s
        times = self.node_times.setdefault(node, ExecutorTimes(at_s=at_s))
        times.advance(at_s, self.model)
        times.executors[executor] = None
        self.executors[executor] = times
        self.most_executors = max(self.most_executors, len(self.executors))

    def _lose_executor(self, at_s: float, executor: int) -> None:
        if executor not in self.executors:
            return
        times = self.executors.pop(executor)
        times.advance(at_s, self.model)
        del times.executors[executor]
        for attempt, launched in list(self.running.items()):
            if launched.executor == executor:
                self._end(at_s, attempt)
        for holders in self.holders.values():
            holders.pop(executor, None)

    def _end(self, at_s: float, attempt: int) -> tuple[Launched, float] | None:
        """Ends an attempt; returns it with its work."""
        launched = self.running.pop(attempt, None)
        if launched is None:
            return None
        work_s = launched.times.advance(at_s, self.model) - launched.done_s
        launched.times.busy -= 1
        return launched, work_s

    def _read_job(self, at_s: float, job: Line, stages: list[Line]) -> None:
        for stage in stages:
            self.stages[stage["id"]] = stage
            shape = self.shapes[stage["id"]] = Shape([node_of(each) for each in stage["rdds"]])
            for step in shape.steps:
                for each in step.inputs:
                    if isinstance(each, ShuffleInput):
                        self.parts[each.shuffle] = step.partitions
        self.jobs[job["id"]] = SubmittedJob(job["id"], job["stage"]["id"], at_s, tuple(self.before))
        self.before.clear()

    def _read_launch(self, at_s: float, command: Line) -> None:
        stage, executor = command["stage"], command["executor"]
        if stage not in self.shapes:
            return
        if executor not in self.executors:
            # The executor may have joined before the story begins.
            self._join(at_s, executor, "somewhere")
        # Tiny reducers may run in one task, and a heavy one in pieces.
        partitions = command["partitions"]
        _, _, maps, _ = command.get("divided") or (None,) * 4
        if stage == self.jobs[command["job"]].stage:
            self.jobs[command["job"]].partitions.update(dict.fromkeys(partitions))
        reads = [self._reads_of(stage, index, executor) for index in partitions]
        read_bytes = sum(self._bytes_of(each, command) for each in reads)
        if maps is not None:
            read_bytes *= (maps[1] - maps[0]) / max(1, command["inputs"][0]["outputs"])
        times = self.executors[executor]
        done_s = times.advance(at_s, self.model)
        times.busy += 1
        missing = [each.missing for each in reads]
        self.running[command["attempt"]] = Launched(
            times, done_s, stage, partitions, executor, missing, read_bytes, maps is not None
        )

    def _reads_of(self, stage: int, index: int, executor: int) -> Reads:
        """What a task reads, and the kept partitions that it has to compute."""

        def has(partition: Partition) -> bool:
            holders = self.holders.get(partition, {})
            return None in holders or executor in holders

        return reads_of(self.shapes[stage], index, self.persisted, has)

    def _bytes_of(self, reads: Reads, command: Line) -> float:
        """The bytes that a task has to decode."""
        totals = {each["shuffle"]: each["bytes"] for each in command["inputs"]}
        found: float = sum(totals.get(s, 0) / self.parts[s] for s, _ in reads.parts)
        for each in reads.found:
            if command["executor"] not in self.holders[each]:
                found += self.sizes.get(each, 0.0)
        return found

    def _read_success(self, at_s: float, event: Line) -> None:
        ended = self._end(at_s, event["attempt"])
        if ended is None:
            return
        launched, work_s = ended
        self._read_kept(event["kept"], launched)
        outputs = made_bytes(event)
        outputs[0] += launched.written_bytes
        model = self.model
        engine_s = model.task_s() + model.decode_s(launched.read_bytes)
        cpu_s = max(0.0, work_s - engine_s - model.write_s(sum(outputs))) / len(outputs)
        made = zip(launched.partitions, outputs, launched.missing, strict=True)
        for index, output, missing in made:
            key = launched.stage, index
            if launched.is_piece:
                self.pieces_s[key] = self.pieces_s.get(key, 0.0) + cpu_s
                continue
            own_s = cpu_s + self.pieces_s.pop(key, 0.0)
            # The first attempt, which computes kept rows, says more than one that finds them.
            if key not in self.ran:
                self.ran[key] = Ran(own_s, output, missing)

    def _read_kept(self, kept: list[Any], launched: Launched) -> None:
        stored, dropped, *_ = kept
        for where, ref, size in stored:
            partition = Partition(RddId(where[0]), where[1])
            self._read_stored(partition, ref, size, launched)
        for where in dropped:
            holders = self.holders.get(Partition(RddId(where[0]), where[1]), {})
            holders.pop(launched.executor, None)

    def _read_stored(self, partition: Partition, ref: Any, size: int, launched: Launched) -> None:
        holder = launched.executor if ref is None else None
        self.holders.setdefault(partition, {})[holder] = None
        self.sizes.setdefault(partition, float(size))
        if ref is None:
            self.places[partition.rdd] = "live"
        else:
            _, _, _, _, medium = ref
            self.places.setdefault(partition.rdd, "disk" if medium == "disk" else "pool")

    # The workload

    def recorded_run(self, path: str) -> RecordedRun:
        jobs = [job for job in self.jobs.values() if job.ended_s is not None and not job.error]
        if not jobs:
            raise BadStory(f"{path!r} has no job that succeeded: there is nothing to simulate")
        making = self._making()
        stages = {id: self._stage(id, making) for id in self._wanted(jobs)}
        notes = self._notes(jobs, stages)
        workload = Workload(stages, tuple(ordered(jobs)), self._kept(making), notes)
        # The first job may have been submitted before the first executor joined.
        began_s = max(min(job.at_s for job in jobs), self.first_executor_s)
        seconds = max(job.ended_s or 0.0 for job in jobs) - began_s
        return RecordedRun(workload, max(1, self.most_executors), seconds)

    def _wanted(self, jobs: list[SubmittedJob]) -> list[int]:
        """The stages of these jobs and their ancestors."""
        found: dict[int, None] = {}
        pending = [job.stage for job in jobs]
        while pending:
            stage = pending.pop()
            if stage not in found:
                found[stage] = None
                pending.extend(self.stages[stage]["parents"])
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
        fields = self.stages[id]
        cpu_s, output_bytes = [], []
        for index in range(fields["partitions"]):
            ran = self.ran.get((id, index))
            own_s = 0.0 if ran is None else ran.cpu_s - sum(making[each] for each in ran.missing)
            cpu_s.append(max(0.0, own_s))
            output_bytes.append(0.0 if ran is None else ran.output_bytes)
        return StageModel(
            id,
            cpu_s,
            fields["name"],
            tuple(fields["parents"]),
            fields["writes"],
            output_bytes,
            steps=tuple(self.shapes[id].steps),
        )

    def _kept(self, making: dict[Partition, float]) -> dict[int, KeptModel]:
        making_s: dict[int, dict[int, float]] = {}
        size_bytes: dict[int, dict[int, float]] = {}
        for partition, cost_s in making.items():
            making_s.setdefault(partition.rdd, {})[partition.index] = cost_s
        for partition, size in self.sizes.items():
            size_bytes.setdefault(partition.rdd, {})[partition.index] = size
        # Some RDDs may have been persisted and never computed.
        asked = [each.rdd for job in self.jobs.values() for each in job.before
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
        if len(jobs) < len(self.jobs):
            notes.append(
                f"{len(self.jobs) - len(jobs)} jobs that failed or did not end are left out"
            )
        return tuple(notes)


def ordered(jobs: list[SubmittedJob]) -> Iterator[JobModel]:
    """Orders each job after those that had ended when it was submitted, with the gap between."""
    began_s = min(job.at_s for job in jobs)
    for job in jobs:
        ended = [each for each in jobs if (each.ended_s or 0.0) <= job.at_s and each is not job]
        # A job that ended before another of these began is an indirect predecessor.
        latest_s = max((each.at_s for each in ended), default=0.0)
        after = [each for each in ended if (each.ended_s or 0.0) > latest_s]
        since_s = max((each.ended_s or 0.0 for each in after), default=began_s)
        yield JobModel(
            job.id,
            job.stage,
            tuple(sorted(job.partitions)),
            tuple(each.id for each in after),
            job.at_s - since_s,
            job.before,
        )
