"""Counts, bytes and times of a simulated run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class TaskTimes(NamedTuple):
    """How long one task waited for its input, computed, and wrote."""

    waited_s: float
    worked_s: float
    wrote_s: float


@dataclass(slots=True)
class StageTimes:
    """The start and end of a stage's tasks, and the times of each partition."""

    began_s: float
    ended_s: float = 0.0
    tasks: list[TaskTimes] = field(default_factory=list)

    @property
    def waited_s(self) -> float:
        """The total time that its tasks waited for their input."""
        return sum(each.waited_s for each in self.tasks)


@dataclass(slots=True)
class Tally:
    """The totals of a simulated run."""

    launched: int = 0
    redone: int = 0
    busy_s: float = 0.0
    spilled_bytes: float = 0.0
    moved_bytes: float = 0.0
    # What was prefetched for reducers, and what of it they read.
    fetched_bytes: float = 0.0
    found_bytes: float = 0.0
    # Blocks of a ring that tasks found in memory, and those that they read.
    inputs_found: int = 0
    inputs_read: int = 0
    nodes_lost: int = 0
    executors_lost: int = 0
    events: int = 0
    stages: dict[int, StageTimes] = field(default_factory=dict)

    def begin(self, stage: int, now_s: float) -> StageTimes:
        """Records the start of a stage's task."""
        if stage not in self.stages:
            self.stages[stage] = StageTimes(now_s)
        return self.stages[stage]

    @property
    def waited_s(self) -> float:
        """The total time that tasks waited for their input."""
        return sum(times.waited_s for times in self.stages.values())
