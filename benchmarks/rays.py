"""The suite ray: Pyrite on Ray beside Ray Data, Ray tasks by hand and local-cluster; deaths."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.deaths import Deaths
from benchmarks.ray_cases import Sizes
from benchmarks.targets import Target

ROOT = Path(__file__).parent.parent
# Only rows of local-cluster that take longer are compared with it.
LONG_S = 1.0
ENGINES = ["pyrite", "ray-data", "ray-tasks", "local-cluster"]
QUIET = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",
}
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
node = {"node_ip_address": "127.0.0.1", "num_cpus": 1, "object_store_memory": 1 << 30}
cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
cluster.add_node(**node)
print("address", cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@contextmanager
def two_nodes(environment: Mapping[str, str]) -> Iterator[str]:
    """A Ray of two nodes on loopback, by its address."""
    cluster = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )
    assert cluster.stdin is not None and cluster.stdout is not None
    try:
        yield next(each for each in cluster.stdout if each.startswith("address")).split()[1]
    finally:
        cluster.stdin.close()
        cluster.wait()


class Rays:
    """Runs all workloads on each engine by turns; they must agree."""

    def __init__(self, repeat: int, scale: str) -> None:
        self.repeat = repeat
        self.scale = scale
        self.names: list[str] = []
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.answers: dict[str, set[str]] = {}
        self.deaths: Deaths | None = None
        self.is_well = True

    def run(self, name: str) -> None:
        if name == "deaths":
            self.deaths = Deaths()
        else:
            self.names.append(name)

    def _run_all(self) -> None:
        environment = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT)}
        with two_nodes(environment) as address:
            for _ in range(self.repeat):
                for engine in ENGINES if self.names else ():
                    self._run_engine(engine, address, environment)
                if self.deaths is not None:
                    self.deaths.run(address, environment)

    def _run_engine(self, engine: str, address: str, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", "benchmarks.ray_run", engine, self.scale, address]
        done = subprocess.run(
            [*command, *self.names], env=environment, capture_output=True, text=True, check=False
        )
        lines = [each for each in done.stdout.splitlines() if each.startswith("RESULT ")]
        if not lines:
            self.is_well = False
            print(f"{engine} failed:\n{done.stderr[-2000:]}", file=sys.stderr, flush=True)
            return
        for name, (seconds, answer) in json.loads(lines[-1].removeprefix("RESULT ")).items():
            print(f"{engine:>14} {name}: {seconds:.3f} s", flush=True)
            self.seconds.setdefault((name, engine), []).append(seconds)
            self.answers.setdefault(name, set()).add(str(answer))

    def markdown(self, command: str) -> str:
        self._run_all()
        lines = ["# On Ray", "", f"`{command}`, {os.cpu_count()} cores, medians in seconds", ""]
        if self.names:
            lines += ["| workload | " + " | ".join(ENGINES) + " |", "|---" * 5 + "|"]
        for name in self.names:
            cells = [self._median(name, engine) for engine in ENGINES]
            texts = ["" if cell is None else f"{cell:.3f}" for cell in cells]
            lines.append(f"| {name} | " + " | ".join(texts) + " |")
        targets = self._targets()
        if self.deaths is not None:
            lines += self.deaths.lines()
            targets += self.deaths.targets()
            self.is_well = self.is_well and self.deaths.is_well
        lines += ["", "What the suite must show, and whether it did:", ""]
        lines += [f"- {target}" for target in targets]
        odd = [name for name, answers in self.answers.items() if len(answers) > 1]
        if odd:
            self.is_well = False
            lines.append(f"\nAnswers differ: {', '.join(odd)}.")
        return "\n".join(lines) + "\n"

    def _median(self, name: str, engine: str) -> float | None:
        found = self.seconds.get((name, engine))
        return statistics.median(found) if found else None

    def _ratios(self, engine: str) -> dict[str, float]:
        """Its time over that of Pyrite on Ray, by workload."""
        found = {}
        for name in self.names:
            ours, theirs = self._median(name, "pyrite"), self._median(name, engine)
            if ours and theirs:
                found[name] = theirs / ours
        return found

    def _targets(self) -> list[Target]:
        found = []
        for engine, least_mean in (("ray-data", 2), ("ray-tasks", 1)):
            if ratios := self._ratios(engine):
                mean = statistics.geometric_mean(ratios.values())
                what = f"time of {engine} over that of Pyrite on Ray"
                found.append(Target(f"{what}, geometric mean", mean, least_mean, at_least=True))
                if engine == "ray-data":
                    worst = min(ratios, key=lambda name: ratios[name])
                    what += f", worst ({worst})"
                    found.append(Target(what, ratios[worst], 1, at_least=True))
        for name, ratio in self._ratios("local-cluster").items():
            if (self._median(name, "local-cluster") or 0) > LONG_S:
                found.append(Target(f"{name}, time over that on local-cluster", 1 / ratio, 1.3))
        if jobs_s := self._median("tiny_jobs", "pyrite"):
            each_ms = jobs_s / Sizes(self.scale).jobs * 1000
            found.append(Target("a job of two tasks", each_ms, 3, unit="ms"))
        return found
