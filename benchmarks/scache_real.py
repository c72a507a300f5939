"""The shuffle as a service on real processes: between nodes, of a gigabyte, and very wide.

The parts are `cluster` (three nodes and a slow network, with and without prefetch and placement),
`gigabyte` (against PySpark, in bounded memory) and `wide` (as many reducers as maps).
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from itertools import product

from benchmarks.model import Disturbance
from benchmarks.results import Results
from benchmarks.scache_cluster_run import OPERATORS, Plan
from benchmarks.scache_real_report import Case, Measured, Wide, markdown, problems, targets

PARTS = ("cluster", "gigabyte", "wide")
GIGABYTE = ("gigabyte_sort", "gigabyte_group")

RECORDS = {"small": 120_000, "standard": 2_000_000}
# Of each node's block server; at the small scale as much slower as there is less to send.
NETWORKS = {"small": ("", "2m"), "standard": ("", "40m", "20m")}
NOT_AHEAD = {"pyrite.shuffle.prefetch": "false"}
WAYS = {
    "SCache": {},
    "pull, placed": NOT_AHEAD,
    "pull": {**NOT_AHEAD, "pyrite.shuffle.small": "1t"},
}

# Maps (and reducers), rows, and settings. A reducer alone: without computing tiny ones together.
ALONE = "pyrite.shuffle.tiny=0"
# Between two nodes parts are fetched ahead, which takes files too.
TWO_NODES = "spark.master=local-cluster[2,1,2g]"
WIDE: dict[str, tuple[Wide, ...]] = {
    "small": (
        Wide(20, 20_000),
        Wide(200, 20_000),
        Wide(200, 20_000, ALONE),
        Wide(300, 100_000, TWO_NODES),
    ),
    "standard": (
        Wide(200, 2_000_000),
        Wide(2_000, 2_000_000),
        Wide(2_000, 2_000_000, ALONE),
        Wide(2_000, 2_000_000, TWO_NODES),
    ),
}


class Real:
    """Runs the parts asked for, each case in a fresh process, by turns, and reports."""

    def __init__(
        self,
        repeat: int,
        scale: str,
        timeout_s: float,
        environment: dict[str, str],
        run_engines: Callable[[str], None],
        results: Results,
    ) -> None:
        self.repeat = repeat
        self.scale = scale
        self.timeout_s = timeout_s
        self.environment = environment
        self.run_engines = run_engines
        self.measured = Measured(scale, RECORDS[scale], repeat, results)

    def run(self, part: str) -> None:
        """One part, by its name."""
        print(part, flush=True)
        match part:
            case "cluster":
                for _ in range(self.repeat):
                    self._run_cluster()
            case "gigabyte":
                for name in GIGABYTE:
                    self.run_engines(name)
            case "wide":
                for _ in range(self.repeat):
                    self._run_wide()

    def _run_cluster(self) -> None:
        for network, operator, way in product(NETWORKS[self.scale], OPERATORS, WAYS):
            settings = dict(WAYS[way])
            if network:
                settings["pyrite.network.bytesPerSecond"] = network
            plan = Plan(operator, self.measured.records, settings)
            case = Case(operator, network, way)
            watch = Disturbance()
            outcome = self._answer(str(case), "scache_cluster_run", json.dumps(asdict(plan)))
            if outcome:
                self.measured.others_cores.append(watch.cores())
                self.measured.cases.setdefault(case, []).append(outcome)
                print(
                    f"  {case}: {outcome['total_s']:.2f} s, reduces {outcome['reduces_s']:.2f} s, "
                    f"fetched ahead {outcome['fetched_bytes'] / 1e6:.0f} MB",
                    flush=True,
                )

    def _run_wide(self) -> None:
        for wide in WIDE[self.scale]:
            arguments = [str(wide.side), str(wide.rows), *filter(None, [wide.setting])]
            if outcome := self._answer(str(wide), "scache_wide_run", *arguments):
                self.measured.wides.setdefault(wide, []).append(outcome)
                print(f"  {wide}: {outcome['seconds']:.2f} s, {outcome['files']} files", flush=True)

    def _answer(self, name: str, module: str, *arguments: str) -> dict[str, float] | None:
        """What a program of ours prints as JSON; None where it fails."""
        command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
        try:
            done = subprocess.run(
                command,
                env=self.environment,
                timeout=self.timeout_s,
                capture_output=True,
                text=True,
            )
            failure = done.stderr.strip()[-2000:] if done.returncode else ""
        except subprocess.TimeoutExpired:
            failure = f"stopped after {self.timeout_s:.0f} s, see --timeout"
        if failure:
            print(f"{name} failed:\n{failure}\n", file=sys.stderr, flush=True)
            self.measured.failures.append(f"{name} failed: {failure.rpartition(chr(10))[2]}")
            return None
        outcome: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return outcome

    def markdown(self) -> str:
        return markdown(self.measured)

    @property
    def is_well(self) -> bool:
        met = all(target.is_met for target in targets(self.measured))
        return met and not problems(self.measured)
