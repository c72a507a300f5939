"""The simulator held against real runs: a story of one executor foretells two, and two are run.

What is compared is the time from the first job's submission to the last one's end, with the
driver's own pauses between the jobs.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.model_calibrate import measured
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.storymodel import read_story

CORES = 2
LOOPBACK_LATENCY_S = 50e-6
LIMIT_MIB = 20
TARGET = 0.25
# A run is repeated if other programs used more of the machine, as often as this.
QUIET_CORES = 0.15
TRIES = 6


class Disturbance:
    """How many cores other programs used since it was made."""

    def __init__(self) -> None:
        self.began_s = time.perf_counter()
        self.before_s = others_s()

    def cores(self) -> float:
        return max(0.0, others_s() - self.before_s) / (time.perf_counter() - self.began_s)


def others_s() -> float:
    """Processor seconds used on this machine, but for those of this process and its children."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _wait, *more = map(int, file.readline().split()[1:9])
    used_s = (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK")
    mine = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return used_s - sum(each.ru_utime + each.ru_stime for each in mine)


@dataclass
class Comparison:
    """One workload: foretold from each story of one executor, and measured on two."""

    alone_s: list[float]
    predicted_s: list[float]
    measured_s: list[float]
    others_cores: list[float]

    @property
    def error(self) -> float:
        """How far the prediction lies above the truth, or below it."""
        return median(self.predicted_s) / median(self.measured_s) - 1


@dataclass
class Target:
    """A real cluster of this machine's two cores, and how the model sees it."""

    master: str
    kinds: list[NodeKind]
    # What each node may send in a second, as the setting says it; 0 for no limit.
    network: str = "0"

    def __str__(self) -> str:
        return self.master if self.network == "0" else f"{self.master}, {self.network[:-1]} MiB/s"


def targets(costs: CostModel, loopback_bytes_per_s: float) -> list[Target]:
    """Two executors on one node, and on a node each with a block server between them; also with a
    network that is limited to what it has on many machines."""
    alone = NodeKind(
        1,
        network_bytes_per_s=loopback_bytes_per_s,
        latency_s=LOOPBACK_LATENCY_S,
        # The cores of both nodes are those of one machine.
        speed=costs.shared_efficiency,
    )
    return [
        Target(f"local[{CORES}]", [NodeKind(CORES, latency_s=0.0)]),
        Target(f"local-cluster[{CORES},1,8g]", [alone] * CORES),
        Target(
            f"local-cluster[{CORES},1,8g]",
            [replace(alone, network_bytes_per_s=float(LIMIT_MIB << 20))] * CORES,
            f"{LIMIT_MIB}m",
        ),
    ]


class Model:
    """Runs workloads on one and on two executors by turns, and compares."""

    def __init__(self, repeat: int, scale: str, data: Path, timeout_s: float) -> None:
        self.repeat = repeat
        self.scale = scale
        self.data = data
        self.timeout_s = timeout_s
        print("calibrating", flush=True)
        self.costs, notes = measured()
        self.targets = targets(self.costs, notes["loopback_bytes_per_s"])
        self.results: dict[tuple[str, str], Comparison] = {}

    def run(self, name: str, environment: dict[str, str]) -> None:
        """All repetitions of one workload."""
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(self.repeat):
                alone, others = self._story(name, Target("local[1]", []), folder, environment)
                told = read_story(alone, self.costs)
                for target in self.targets:
                    result = self.results.setdefault(
                        (name, str(target)), Comparison([], [], [], [])
                    )
                    foretold = simulate(told.workload, target.kinds, self.costs)
                    together, more = self._story(name, target, folder, environment)
                    result.others_cores += [others, more]
                    result.alone_s.append(told.seconds)
                    result.predicted_s.append(foretold.seconds)
                    result.measured_s.append(read_story(together, self.costs).seconds)
        for target in self.targets:
            result = self.results[name, str(target)]
            print(
                f"{name}: local[1] {median(result.alone_s):.3f} s; {target} foretold "
                f"{median(result.predicted_s):.3f} s, measured {median(result.measured_s):.3f} s, "
                f"error {result.error:+.0%}; others used up to "
                f"{max(result.others_cores):.2f} cores",
                flush=True,
            )

    def _story(
        self, name: str, target: Target, folder: str, environment: dict[str, str]
    ) -> tuple[Path, float]:
        """The story of a run that was disturbed little, or of the least disturbed of several."""
        found: tuple[Path, float] | None = None
        for number in range(TRIES):
            story = Path(folder, f"{target.master}-{target.network}-{number}.story")
            command = [sys.executable, "-m", "benchmarks.model_run", target.master, name]
            command += [str(story), "--network", target.network]
            command += ["--scale", self.scale, "--data", str(self.data)]
            watch = Disturbance()
            subprocess.run(command, env=environment, check=True, timeout=self.timeout_s)
            cores = watch.cores()
            if found is None or cores < found[1]:
                found = story, cores
            if cores < QUIET_CORES:
                break
        assert found is not None
        return found

    @property
    def is_near(self) -> bool:
        """Whether every prediction is as near as it should be."""
        return all(abs(result.error) <= TARGET for result in self.results.values())

    def markdown(self, command: str) -> str:
        """The comparison as a table."""
        rows = "\n".join(
            f"| {name} | {master} | {median(each.alone_s):.3f} | {median(each.predicted_s):.3f} | "
            f"{median(each.measured_s):.3f} | {each.error:+.0%} | {max(each.others_cores):.2f} |"
            for (name, master), each in self.results.items()
        )
        return (
            f"# The simulator against real runs\n\n`{command}`\n\n"
            f"From the story of a run on local[1] the simulator foretells two executors, which "
            f"are then run: on one node, on two with block servers, and on two whose servers send "
            f"no more than {LIMIT_MIB} MiB a second. Seconds, medians of "
            f"{self.repeat}; the aim is an error within {TARGET:.0%}. All cores busy, a core has "
            f"{self.costs.shared_efficiency:.0%} of the speed that it has alone. The last column "
            "is the most cores that other programs used during a run: disturbed runs are "
            "repeated.\n\n"
            "| workload | master | local[1] | foretold | measured | error | used by others |\n"
            f"|---|---|---:|---:|---:|---:|---:|\n{rows}\n"
        )
