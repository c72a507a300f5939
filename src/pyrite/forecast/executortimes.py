"""The nodes and tasks of a story, and their work."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.ids import Partition


@dataclass(slots=True)
class ExecutorTimes:
    """A node of the run: its executors, how many are busy, and the work of one core so far."""

    executors: dict[int, None] = field(default_factory=dict)
    busy: int = 0
    done_s: float = 0.0
    at_s: float = 0.0

    def advance(self, at_s: float, model: CostModel) -> float:
        """Returns the work that an always busy core would have done by now."""
        kind = NodeKind(len(self.executors))
        busy = max(1, self.busy)
        self.done_s += (at_s - self.at_s) * kind.rate_each(busy, model.shared_efficiency)
        self.at_s = at_s
        return self.done_s


@dataclass(slots=True)
class Launched:
    """A running attempt: its node, the node's work at its start, and what it reads."""

    times: ExecutorTimes
    done_s: float
    stage: int
    partitions: list[int]
    executor: int
    # The kept partitions that it has to compute, for each of its partitions.
    missing: list[list[Partition]]
    read_bytes: float
    # Whether it is a piece of a heavy reducer.
    is_piece: bool = False
    # The bytes of its map output that it reported before its end.
    written_bytes: float = 0.0


@dataclass(slots=True)
class Ran:
    """An attempt that succeeded."""

    cpu_s: float
    output_bytes: float
    missing: list[Partition]
