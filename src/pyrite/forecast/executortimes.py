"""Where the tasks of a story ran, and what they did there."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.ids import Partition


@dataclass(slots=True)
class ExecutorTimes:
    """A node of the run: its executors, how many were busy, and what a core got done so far."""

    executors: dict[int, None] = field(default_factory=dict)
    busy: int = 0
    done_s: float = 0.0
    at_s: float = 0.0

    def advance(self, at_s: float, model: CostModel) -> float:
        """How much work a core that was always busy would have done by now."""
        kind = NodeKind(len(self.executors))
        busy = max(1, self.busy)
        self.done_s += (at_s - self.at_s) * kind.rate_each(busy, model.shared_efficiency)
        self.at_s = at_s
        return self.done_s


@dataclass(slots=True)
class Launched:
    """An attempt that runs: on which node, what was done there before, and what it reads."""

    bench: ExecutorTimes
    done_s: float
    stage: int
    partitions: list[int]
    executor: int
    # The kept partitions that it has to make, for each of its own.
    missing: list[list[Partition]]
    read_bytes: float
    # Whether it does a piece of a heavy reducer's work.
    is_piece: bool = False
    # What it has told of its map output before its end.
    written_bytes: float = 0.0


@dataclass(slots=True)
class Ran:
    """An attempt that succeeded."""

    cpu_s: float
    output_bytes: float
    missing: list[Partition]
