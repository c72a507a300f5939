"""How the scheduler's time and memory grow with the cluster and with the job.

Each point runs in a process of its own: python -m benchmarks.scale CASE NODES TASKS prints it.
"""

import json
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report import aligned, machine
from benchmarks.scale_cases import CASES
from benchmarks.scale_world import EXECUTORS_PER_NODE

NODES = 10, 100, 1000
TASKS = 1_000, 10_000, 100_000
# Time per event at the largest point over that at the smallest, up to which growth is linear:
# larger tables miss the processor's caches more often.
LINEAR = 2.0


@dataclass(frozen=True)
class Point:
    """One run: the events that were handled, how long that took, and the memory it needed."""

    case: str
    nodes: int
    tasks: int
    events: int
    total_s: float
    median_us: float
    p99_us: float
    join_us: float
    peak_mb: float

    @property
    def mean_us(self) -> float:
        return self.total_s / self.events * 1e6


def measured(case: str, nodes: int, tasks: int) -> Point:
    """Runs the case in this process, which must be fresh: its peak of memory counts."""
    before_mb = peak_mb()
    world = CASES[case](nodes, tasks)
    grown_mb = peak_mb() - before_mb
    times_s = sorted(world.handled_s)
    return Point(
        case,
        nodes,
        tasks,
        len(times_s),
        sum(times_s),
        statistics.median(times_s) * 1e6,
        times_s[len(times_s) * 99 // 100] * 1e6,
        statistics.fmean(world.joined_s) * 1e6,
        grown_mb,
    )


def peak_mb() -> float:
    """The most memory that this process has had."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1e3
    raise RuntimeError("the system does not tell the peak of memory: no VmHWM in /proc/self/status")


class Scale:
    """Runs cases at all sizes, each point in a fresh process, and reports how they grow."""

    def __init__(self, repeat: int, small: bool, timeout_s: float) -> None:
        self.repeat = repeat
        self.timeout_s = timeout_s
        last = -1 if small else None
        self.sizes = [(nodes, tasks) for nodes in NODES[:last] for tasks in TASKS[:last]]
        self.points: dict[str, list[Point]] = {}

    def run(self, case: str, env: dict[str, str]) -> None:
        """All sizes of a case; of the repetitions at each size the fastest, as least disturbed."""
        self.points[case] = []
        for nodes, tasks in self.sizes:
            runs = [self._run_once(case, nodes, tasks, env) for _ in range(self.repeat)]
            point = min(runs, key=lambda each: each.total_s)
            self.points[case].append(point)
            titled = zip(*_cells([point]), strict=True)
            print(
                f"{case:>8}: {', '.join(f'{title} {cell}' for title, cell in titled)}", flush=True
            )

    def _run_once(self, case: str, nodes: int, tasks: int, env: dict[str, str]) -> Point:
        command = [sys.executable, "-m", "benchmarks.scale", case, str(nodes), str(tasks)]
        done = subprocess.run(
            command, env=env, timeout=self.timeout_s, check=True, stdout=subprocess.PIPE, text=True
        )
        return Point(**json.loads(done.stdout))

    @property
    def is_linear(self) -> bool:
        return all(growth(points) <= LINEAR for points in self.points.values())

    def markdown(self, command: str) -> str:
        """Where and how it was measured, and a table for each case."""
        lines = [
            machine([]),
            f"The scheduler alone, in virtual time: its processor time in the fastest of "
            f"{self.repeat} runs, each in a fresh process. A node has {EXECUTORS_PER_NODE} "
            f"executors; joins are timed apart from the other events. Made by `{command}`.",
        ]
        for case, points in self.points.items():
            purpose = (CASES[case].__doc__ or "").partition("\n")[0]
            lines += ["", f"**{case}**: {purpose}", "", *aligned(_cells(points)), ""]
            lines.append(_summary(points))
        return "\n".join(lines) + "\n"


def _cells(points: list[Point]) -> list[list[str]]:
    titles = ["nodes", "tasks", "events", "µs/event", "median", "p99", "µs/join", "total s", "MB"]
    return [titles] + [
        [
            f"{each.nodes:,}",
            f"{each.tasks:,}",
            f"{each.events:,}",
            f"{each.mean_us:.1f}",
            f"{each.median_us:.1f}",
            f"{each.p99_us:.1f}",
            f"{each.join_us:.1f}",
            f"{each.total_s:.3f}",
            f"{each.peak_mb:.1f}",
        ]
        for each in points
    ]


def growth(points: list[Point]) -> float:
    """Time per event at the largest point over that at the smallest."""
    return points[-1].mean_us / points[0].mean_us


def _summary(points: list[Point]) -> str:
    first, last = points[0], points[-1]
    verdict = "linear in the work" if growth(points) <= LINEAR else "NOT linear in the work"
    return (
        f"From {first.nodes:,} nodes and {first.tasks:,} tasks to {last.nodes:,} and "
        f"{last.tasks:,}: events x {last.events / first.events:.0f}, time x "
        f"{last.total_s / first.total_s:.0f}, time per event x {growth(points):.2f}; "
        f"{last.peak_mb * 1e6 / last.tasks:.0f} bytes a task. Growth is {verdict}."
    )


def main() -> None:
    """One point, as JSON for the suite."""
    case, nodes, tasks = sys.argv[1:]
    print(json.dumps(asdict(measured(case, int(nodes), int(tasks)))))


if __name__ == "__main__":
    main()
