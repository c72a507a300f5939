"""Counts tasks from the story, for the status tracker and for progress bars."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from pyrite.ids import StageId
from pyrite.plan.stages import StageSpec, new_stages
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event

# How many jobs and stages are remembered.
REMEMBERED = 200


@dataclass(slots=True)
class JobTally:
    id: int
    group: str | None
    partitions: int
    stage: StageSpec
    status: str = "RUNNING"

    def stage_ids(self) -> list[int]:
        """Its stages and their ancestors, skipped ones included."""
        return [stage.id for stage in new_stages(self.stage, ())]


@dataclass(slots=True)
class StageTally:
    id: int
    name: str
    total: int
    started_s: float
    active: int = 0
    done: int = 0
    failed: int = 0
    ended: bool = False


@dataclass(slots=True)
class NodeTally:
    executors: int = 0
    running: int = 0


class StageCounts:
    """Jobs and stages with the numbers of their tasks, counted from events and commands."""

    def __init__(self, find_stage: Callable[[StageId], StageSpec | None]) -> None:
        self.find_stage = find_stage
        self.lock = threading.Lock()
        self.job_tallies: OrderedDict[int, JobTally] = OrderedDict()
        self.stage_tallies: OrderedDict[int, StageTally] = OrderedDict()
        # The stage of each attempt, and how many of its partitions the attempt computes.
        self.attempts: dict[int, tuple[StageTally, int]] = {}
        self.busy: dict[int, int] = {}
        self.homes: dict[int, str] = {}
        self.work = threading.Event()

    def jobs(self) -> list[JobTally]:
        with self.lock:
            return list(self.job_tallies.values())

    def stages(self) -> list[StageTally]:
        with self.lock:
            return list(self.stage_tallies.values())

    def nodes(self) -> dict[str, NodeTally]:
        """The executors of each node, and the tasks that run there."""
        with self.lock:
            found: dict[str, NodeTally] = {}
            for executor, node in self.homes.items():
                tally = found.setdefault(node, NodeTally())
                tally.executors += 1
                _, partitions = self.attempts.get(self.busy.get(executor, -1), (None, 0))
                tally.running += partitions
            return found

    def wait_for_work(self) -> None:
        """Blocks until a task is launched."""
        self.work.wait()
        self.work.clear()

    def stir(self) -> None:
        """Ends `wait_for_work`."""
        self.work.set()

    def record(self, now_s: float, event: Event, commands: list[Command]) -> None:
        """Counts one event and its commands."""
        with self.lock:
            self._record_event(event)
            for command in commands:
                self._record_command(now_s, command)

    def _record_event(self, event: Event) -> None:
        match event:
            case ev.JobSubmitted():
                job = event.job
                partitions = len(job.partitions)
                self.job_tallies[job.id] = JobTally(job.id, job.group, partitions, job.stage)
                trim(self.job_tallies)
            case ev.TaskSucceeded():
                stage, partitions = self.attempts.pop(event.attempt, (None, 0))
                if stage is not None:
                    stage.active -= partitions
                    stage.done += partitions
            case ev.TaskRaised() | ev.TaskCancelled() | ev.FetchFailed():
                self._fail(event.attempt)
            case ev.ExecutorJoined():
                self.homes[event.executor] = event.node
            case ev.ExecutorLost():
                self.homes.pop(event.executor, None)
                self._fail(self.busy.pop(event.executor, -1))

    def _fail(self, attempt: int) -> None:
        stage, partitions = self.attempts.pop(attempt, (None, 0))
        if stage is not None:
            stage.active -= partitions
            stage.failed += 1

    def _record_command(self, now_s: float, command: Command) -> None:
        match command:
            case do.LaunchTask():
                stage = self.stage_tallies.get(command.stage) or self._add_stage(now_s, command)
                partitions = len(command.completes)
                stage.active += partitions
                stage.ended = False
                if not self.work.is_set():
                    self.work.set()
                self.attempts[command.attempt] = stage, partitions
                self.busy[command.executor] = command.attempt
            case do.ForgetStage():
                if command.stage in self.stage_tallies:
                    self.stage_tallies[command.stage].ended = True
            case do.FinishJob():
                job = self.job_tallies.get(command.job)
                if job is not None:
                    job.status = "SUCCEEDED" if command.error is None else "FAILED"

    def _add_stage(self, now_s: float, command: do.LaunchTask) -> StageTally:
        spec = self.find_stage(command.stage)
        job = self.job_tallies.get(command.job)
        name, total = (spec.name, spec.partitions) if spec is not None else ("", 0)
        if job is not None and spec is not None and spec.writes is None:
            total = job.partitions
        stage = StageTally(command.stage, name, total, now_s)
        self.stage_tallies[command.stage] = stage
        trim(self.stage_tallies)
        return stage


def trim(known: OrderedDict[int, JobTally] | OrderedDict[int, StageTally]) -> None:
    while len(known) > REMEMBERED:
        known.popitem(last=False)
