"""The nodes and tasks of a story, and their work."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.ids import Partition
from pyrite.story.parts import TaskAttempt


@dataclass(slots=True)
class ExecutorTimes:
    """A node of the run: its executors, how many are busy, and the work of one core so far."""

    executors: int = 0
    busy: int = 0
    done_s: float = 0.0
    at_s: float = 0.0

    def advance(self, at_s: float, model: CostModel) -> float:
        """Returns the work that an always busy core would have done by now."""
        kind = NodeKind(self.executors)
        busy = max(1, self.busy)
        self.done_s += (at_s - self.at_s) * kind.rate_each(busy, model.shared_efficiency)
        self.at_s = at_s
        return self.done_s


@dataclass(slots=True)
class Launched:
    """A running attempt: its node, the node's work at its start, and what it reads."""

    times: ExecutorTimes
    done_s: float
    attempt: TaskAttempt
    # The kept partitions that it has to compute, for each of its partitions.
    missing: list[list[Partition]]
    read_bytes: float


@dataclass(slots=True)
class Ran:
    """An attempt that succeeded."""

    cpu_s: float
    output_bytes: float
    missing: list[Partition]
    # What it read of files.
    input_bytes: float
