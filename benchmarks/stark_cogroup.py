"""Stark's figures 11 and 12 on real nodes: cogroups of hours of a log, loaded beside a busy job."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import mean

from benchmarks.scache_plots import Plot
from benchmarks.stark_cogroup_run import QUERIES, CogroupOutcome, CogroupPlan
from benchmarks.stark_data import requests
from benchmarks.targets import Target

# The goal is about five datasets.
GOAL_COUNT, GOAL = 5, 2.0
OURS, DICE, PYSPARK = "namespace", "homes by dice", "PySpark"
WAYS = (OURS, "without", DICE, PYSPARK)


class Cogroups:
    """The time of cogroups of 1 to 6 datasets, and what they read elsewhere or computed again."""

    def __init__(
        self, options: argparse.Namespace, environment: Callable[[str], dict[str, str]]
    ) -> None:
        small = options.scale == "small"
        self.timeout_s = options.timeout
        self.environment = environment
        self.lines = 20_000 if small else 200_000
        self.counts = (1, 3, GOAL_COUNT) if small else (1, 2, 3, 4, GOAL_COUNT, 6)
        pyspark = os.environ.get("PYRITE_BENCH_PYSPARK") if "pyspark" in options.engines else None
        self.pythons = dict.fromkeys(WAYS[:-1], sys.executable)
        if pyspark:
            self.pythons[PYSPARK] = pyspark
        self.found: dict[str, list[CogroupOutcome]] = {}

    def run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pyrite-stark-") as folder:
            logs = []
            for number, lines in enumerate(requests(max(self.counts), self.lines)):
                path = Path(folder, f"hour-{number}.log")
                path.write_text("".join(f"{line}\n" for line in lines))
                logs.append(str(path))
            for way in self.pythons:
                self.found[way] = []
                for count in self.counts:
                    with tempfile.TemporaryDirectory(dir=folder) as scratch:
                        found = self._once(CogroupPlan(way, logs[:count], scratch))
                    self.found[way].append(found)
                    print(f"  {way}, {count}: {_told(way, found)}", flush=True)

    def _once(self, plan: CogroupPlan) -> CogroupOutcome:
        python = self.pythons[plan.way]
        command = [python, "-m", "benchmarks.stark_cogroup_run", json.dumps(asdict(plan))]
        done = subprocess.run(
            command,
            env=self.environment(python),
            timeout=self.timeout_s,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{plan.way} failed:\n{done.stderr[-2000:]}")
        return CogroupOutcome(**json.loads(done.stdout.splitlines()[-1]))

    @property
    def targets(self) -> list[Target]:
        ours = self.found[OURS]
        place = self.counts.index(GOAL_COUNT)
        times = mean(self.found[DICE][place].seconds) / mean(ours[place].seconds)
        what = f"figure 11, {GOAL_COUNT} datasets: homes by dice over a namespace, mean query"
        differing = sum(
            each.found != ours[index].found
            for found in self.found.values()
            for index, each in enumerate(found)
        )
        return [
            Target("figure 12: read elsewhere", sum(each.remote for each in ours), 0, unit="parts"),
            Target("figure 12: made again", sum(each.recomputed for each in ours), 0, unit="parts"),
            Target(what, times, GOAL, at_least=True),
            Target("other answers than with a namespace", differing, 0, unit="runs"),
        ]

    @property
    def plots(self) -> dict[str, Plot]:
        lines = {way: [mean(each.seconds) for each in found] for way, found in self.found.items()}
        places = [str(count) for count in self.counts]
        title = "Figure 11: cogroups of datasets that were loaded beside a busy job"
        subtitle = f"seconds, mean of {QUERIES} queries, real, 4 nodes"
        return {"cogroup": Plot(title, subtitle, "datasets", places, lines)}

    def markdown(self) -> str:
        lines = [
            "## Figures 11 and 12, real, 4 nodes: cogroups of datasets loaded beside a busy job",
            "",
            f"Seconds of the first of {QUERIES} queries, and their mean; kept partitions that they "
            f"read from other nodes, and that they computed again. Datasets are hours of a log, of "
            f"{self.lines:,} requests each. In the paper, five scattered datasets take 5.1 times "
            "as long as co-located ones.",
            "",
            "| datasets | " + " | ".join(self.found) + " |",
            "|---" * (len(self.found) + 1) + "|",
        ]
        for place, count in enumerate(self.counts):
            told = " | ".join(_told(way, found[place]) for way, found in self.found.items())
            lines.append(f"| {count} | {told} |")
        return "\n".join([*lines, ""])


def _told(way: str, found: CogroupOutcome) -> str:
    times = f"{found.seconds[0]:.3f}, {mean(found.seconds):.3f}"
    # Spark does not tell.
    return times if way == PYSPARK else f"{times}; {found.remote}; {found.recomputed}"
