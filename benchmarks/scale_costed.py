"""How long it takes to simulate a whole cluster by cost, from small to large.

Each point runs in a process of its own: python -m benchmarks.scale_costed NODES TASKS prints it.
"""

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from benchmarks.report import aligned
from benchmarks.scale import peak_mb
from benchmarks.scale_world import EXECUTORS_PER_NODE
from pyrite.forecast.costed import Failures
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.workload import two_stages, uneven

TASK_S = 2.0
MAP_OUTPUT_BYTES = 16e6
# Nodes, tasks, and failures of each node an hour.
SIZES = [(10, 1_000, 0.0), (100, 10_000, 0.0), (1000, 100_000, 0.0), (1000, 100_000, 0.5)]


@dataclass(frozen=True)
class CostedPoint:
    """One simulated run: its virtual and its real seconds."""

    nodes: int
    tasks: int
    failures_per_hour: float
    launched: int
    events: int
    virtual_s: float
    real_s: float
    peak_mb: float


def measured(nodes: int, tasks: int, failures_per_hour: float) -> CostedPoint:
    """A map stage and a tenth as many reducers, with uneven tasks."""
    reducers = tasks // 10
    workload = two_stages(
        uneven(tasks - reducers, TASK_S, 0.5, seed=1),
        uneven(reducers, TASK_S, 0.5, seed=2),
        MAP_OUTPUT_BYTES,
    )
    kinds = [NodeKind(EXECUTORS_PER_NODE)] * nodes
    failures = Failures(nodes_per_hour=failures_per_hour)
    before_mb = peak_mb()
    began_s = time.perf_counter()
    outcome = simulate(workload, kinds, CostModel(), failures=failures)
    real_s = time.perf_counter() - began_s
    assert not outcome.errors, outcome.errors
    tally = outcome.tally
    return CostedPoint(
        nodes,
        tasks,
        failures_per_hour,
        tally.launched,
        tally.events,
        outcome.seconds,
        real_s,
        peak_mb() - before_mb,
    )


class Costed:
    """Simulates clusters of all sizes, each in a fresh process, and reports."""

    def __init__(self, small: bool, timeout_s: float) -> None:
        self.sizes = SIZES[:1] if small else SIZES
        self.timeout_s = timeout_s
        self.points: list[CostedPoint] = []

    def run(self, env: dict[str, str]) -> None:
        for size in self.sizes:
            command = [sys.executable, "-m", "benchmarks.scale_costed", *map(str, size)]
            done = subprocess.run(
                command,
                env=env,
                timeout=self.timeout_s,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            self.points.append(CostedPoint(**json.loads(done.stdout)))
            titled = zip(*_cells(self.points[-1:]), strict=True)
            print(f"  costed: {', '.join(f'{title} {cell}' for title, cell in titled)}", flush=True)

    def markdown(self) -> str:
        if not self.points:
            return ""
        lines = ["", "**costed**: a map stage and its reducers simulated by cost, uneven tasks of"]
        lines += [f"{TASK_S:g} s and map outputs of {MAP_OUTPUT_BYTES / 1e6:g} MB", ""]
        return "\n".join([*lines, *aligned(_cells(self.points))]) + "\n"


def _cells(points: list[CostedPoint]) -> list[list[str]]:
    titles = ["nodes", "tasks", "failures/h", "attempts", "events", "simulated s", "real s"]
    titles += ["µs/attempt", "MB"]
    return [titles] + [
        [
            f"{each.nodes:,}",
            f"{each.tasks:,}",
            f"{each.failures_per_hour:g}",
            f"{each.launched:,}",
            f"{each.events:,}",
            f"{each.virtual_s:,.1f}",
            f"{each.real_s:.2f}",
            f"{each.real_s / each.launched * 1e6:.0f}",
            f"{each.peak_mb:.0f}",
        ]
        for each in points
    ]


def main() -> None:
    nodes, tasks, failures_per_hour = sys.argv[1:]
    print(json.dumps(asdict(measured(int(nodes), int(tasks), float(failures_per_hour)))))


if __name__ == "__main__":
    main()
