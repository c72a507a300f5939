"""What a simulated run came to, in counts, bytes and times."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class StageTimes:
    """When the tasks of a stage began and ended, and how long all of them waited for input."""

    began_s: float
    ended_s: float = 0.0
    waited_s: float = 0.0


@dataclass(slots=True)
class Tally:
    """What a simulated run came to."""

    launched: int = 0
    redone: int = 0
    busy_s: float = 0.0
    spilled_bytes: float = 0.0
    moved_bytes: float = 0.0
    # What was fetched ahead for reducers, and what they found of it when they read.
    fetched_bytes: float = 0.0
    found_bytes: float = 0.0
    nodes_lost: int = 0
    executors_lost: int = 0
    events: int = 0
    stages: dict[int, StageTimes] = field(default_factory=dict)

    def begin(self, stage: int, now_s: float) -> StageTimes:
        """A task of the stage has begun."""
        if stage not in self.stages:
            self.stages[stage] = StageTimes(now_s)
        return self.stages[stage]

    @property
    def waited_s(self) -> float:
        """How long all tasks together waited until they had read their input."""
        return sum(times.waited_s for times in self.stages.values())
