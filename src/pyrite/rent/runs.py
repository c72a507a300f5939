"""Reads the stories of a job as loads of its stages: averages runs, completes unfinished ones."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from pyrite.forecast.costs import CostModel
from pyrite.forecast.executortimes import Launched, Ran
from pyrite.forecast.storymodel import Learner, RecordedRun, follow
from pyrite.forecast.workload import scaled
from pyrite.rent.completion import Hire, Instance, StageLoad
from pyrite.rent.stageloads import Loads, loads_of, mean_load, work_s
from pyrite.story import records as rec
from pyrite.story.format import BadStory
from pyrite.story.parts import JobState

# Larger relative differences between runs are mentioned.
NOTABLE = 0.1
AMPLE = 1 << 50


@dataclass(frozen=True, slots=True)
class StoryRun:
    """One story: its stages, its cluster and its duration; `unfinished` if jobs still run."""

    path: str
    # The loads as recorded, and scaled to more data.
    recorded: Loads
    loads: Loads
    seconds: float
    nodes: int
    executors: int
    unfinished: bool
    # Whether the story tells the end of its application.
    ended: bool
    elapsed_s: float
    notes: tuple[str, ...]

    def hire(self) -> Hire:
        """Machines like those of the run, free of charge.

        Their memory is unlimited: the recorded times include what did not fit.
        """
        cores = max(1, round(self.executors / self.nodes))
        return Hire(Instance("as in the story", cores, AMPLE, ((0.0, 0.0),)), self.nodes)


@dataclass(frozen=True, slots=True)
class Runs:
    """All stories of a job, and the mean of their stages."""

    runs: tuple[StoryRun, ...]
    loads: Loads
    notes: tuple[str, ...]

    @property
    def last(self) -> StoryRun:
        return self.runs[-1]


def read_runs(paths: Sequence[str], model: CostModel, scale: int = 1) -> Runs:
    """Reads the stories of a job; the last one defines the stages."""
    runs = tuple(read_run(path, model, scale) for path in paths)
    if len(runs) == 1:
        return Runs(runs, runs[0].loads, runs[0].notes)
    loads, notes = averaged([each.loads for each in runs])
    prefixed = [f"{os.path.basename(each.path)}: {note}" for each in runs for note in each.notes]
    return Runs(runs, loads, (*prefixed, *notes))


def read_run(path: str, model: CostModel, scale: int = 1) -> StoryRun:
    """Reads one story; completes unfinished stages with means."""
    follower = Follower(model)
    follow(follower, path)
    told = follower.run
    unfinished = any(job.ended_s is None for job in told.jobs.values())
    added = follower.complete()
    run = follower.recorded_run(path)
    coding = follower.coding()
    loads = loads_of(run.workload, coding)
    return StoryRun(
        path,
        loads,
        loads if scale == 1 else loads_of(scaled(run.workload, scale), coding),
        run.seconds,
        max(1, len(follower.node_times)),
        run.executors,
        unfinished,
        told.ended_s is not None,
        told.length_s,
        (*run.workload.notes, *added),
    )


class Follower(Learner):
    """Learns from a story that may still be running."""

    def __init__(self, model: CostModel) -> None:
        super().__init__(model)
        # When jobs that still run count as ended, once the rest of them is filled in.
        self.filled_s: float | None = None
        # By stage: the work of its tasks, and the model's time for encoding and decoding in it.
        self.taken: dict[int, list[tuple[float, float]]] = {}
        self._last: tuple[Launched, float] | None = None

    def _end(self, at_s: float, attempt: int) -> tuple[Launched, float] | None:
        self._last = super()._end(at_s, attempt)
        return self._last

    def _read_success(self, end: rec.TaskEnded) -> None:
        super()._read_success(end)
        if self._last is not None:
            launched, work_s = self._last
            written_s = self.model.write_s(sum(end.made_bytes))
            coding_s = self.model.decode_s(launched.read_bytes) + written_s
            self.taken.setdefault(launched.attempt.stage, []).append((work_s, coding_s))

    def coding(self) -> dict[int, float]:
        """The stages that took less than the model's time for encoding and decoding, and the
        ratio."""
        found: dict[int, float] = {}
        for stage, taken in self.taken.items():
            coding_s = sum(each for _, each in taken)
            work_s = sum(max(0.0, each - self.model.task_s()) for each, _ in taken)
            if coding_s > work_s:
                found[stage] = work_s / coding_s
        return found

    def recorded_run(self, path: str) -> RecordedRun:
        if not self.ran:
            raise BadStory(
                f"{path!r} has no task that has ended yet: there is nothing to plan by. "
                "Let the program run until some of its tasks have, or use --watch"
            )
        return super().recorded_run(path)

    def complete(self) -> list[str]:
        """Completes unfinished jobs with the means of finished tasks; returns notes on this."""
        open_jobs = [job for job in self.run.jobs.values() if job.ended_s is None]
        if not open_jobs or not self.ran:
            return []
        notes = []
        for id in self._wanted([job.id for job in open_jobs]):
            ran = [each for (stage, _), each in self.ran.items() if stage == id]
            tasks = self._tasks_asked(id)
            if len(ran) < tasks:
                notes.append(self._fill(id, ran, tasks))
        self.filled_s = self.run.last_s
        for job in open_jobs:
            self.computed[job.id].update(dict.fromkeys(range(self._tasks_asked(job.stage))))
        names = "1 job has" if len(open_jobs) == 1 else f"{len(open_jobs)} jobs have"
        notes.insert(0, f"{names} not ended: what comes after is not in the plan")
        return notes

    def _tasks_asked(self, stage: int) -> int:
        """The number of a stage's tasks that its jobs need; first() and take() need few."""
        wanted = [job.partitions for job in self.run.jobs.values() if job.stage == stage]
        return max(wanted, default=self.run.stages[stage].partitions)

    def _ended_s(self, job: JobState) -> float | None:
        return self.filled_s if job.ended_s is None else job.ended_s

    def _fill(self, id: int, ran: list[Ran], tasks: int) -> str:
        name = self.run.stages[id].name
        known = ran or list(self.ran.values())
        mean = Ran(
            fmean(each.cpu_s for each in known),
            fmean(each.output_bytes for each in known) if ran else 0.0,
            [],
            fmean(each.input_bytes for each in known) if ran else 0.0,
        )
        for index in range(tasks):
            self.ran.setdefault((id, index), mean)
        if ran:
            return f"{name}: {len(ran)} of {tasks} tasks have ended; the others count as their mean"
        return f"{name}: none of {tasks} tasks has ended; each counts as the mean of all others"


def averaged(runs: Sequence[Loads]) -> tuple[Loads, list[str]]:
    """The mean of each stage over the runs that have it; matches stages by name and order."""
    by_key: dict[Hashable, list[StageLoad]] = {}
    for loads in runs:
        for key, load in keyed(loads):
            by_key.setdefault(key, []).append(load)
    last = runs[-1]
    stages, alone = [], []
    for key, load in keyed(last):
        found = by_key[key]
        stages.append(replace(mean_load(found), repeats=load.repeats))
        if len(found) < len(runs):
            alone.append(load.name)
    return Loads(stages, last.order), variation(runs, alone)


def keyed(loads: Loads) -> list[tuple[Hashable, StageLoad]]:
    """Each stage with the key that identifies it in other runs, whatever its number of tasks."""
    seen: dict[str, int] = {}
    found: list[tuple[Hashable, StageLoad]] = []
    for load in loads.stages:
        turn = seen[load.name] = seen.get(load.name, 0) + 1
        found.append(((load.name, turn), load))
    return found


def variation(runs: Sequence[Loads], alone: Sequence[str]) -> list[str]:
    """Notes on how far the runs agree."""
    works = [sum(work_s(each) * each.repeats for each in loads.stages) for loads in runs]
    mean_s = fmean(works)
    spread = (max(works) - min(works)) / mean_s if mean_s else 0.0
    notes = [
        f"the mean of {len(runs)} runs; their tasks' own work was {min(works):.3g} s to "
        f"{max(works):.3g} s" + (f", {spread:.0%} apart" if spread > NOTABLE else "")
    ]
    if alone:
        notes.append(f"not all runs have {alone[0]}" + (" and others" if len(alone) > 1 else ""))
    return notes
