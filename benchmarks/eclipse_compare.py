"""EclipseMR's figures 9 and 10: the seven applications against PySpark, in the same run.

A part of scripts/bench --suite eclipse. The programs are those of suite engine.
"""

from __future__ import annotations

import argparse
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.suite import Runner

# As the paper names them, and as suite engine does.
APPLICATIONS = {
    "word count": "word_count",
    "inverted index": "inverted_index",
    "grep": "log_search",
    "sort": "sort_records",
    "page rank": "page_rank",
    "k-means": "k_means",
    "logistic regression": "regression_by_record",
}
# How many times Spark's speed EclipseMR has, where the paper tells it.
PAPER = {"k-means": "3.5", "logistic regression": "2.5", "page rank": "0.87"}
GOAL, LEAST = 3.0, 1.0
ENGINES = "pyspark", "pyrite"


class EclipseCompare:
    """Runs the applications on both engines by turns, and reports the median of each."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = argparse.Namespace(**{**vars(options), "engines": list(ENGINES)})
        self.seconds: dict[tuple[str, str], dict[str, float]] = {}
        self.failures: list[str] = []

    def run(self) -> None:
        from benchmarks.suite import Runner

        runner: Runner = Runner(self.options)
        for name, workload in APPLICATIONS.items():
            runner.run(workload)
            runs = {each: runner.results.of(workload, each).seconds for each in ENGINES}
            for row in runs["pyrite"]:
                if row in runs["pyspark"]:
                    self.seconds[name, row] = {each: median(runs[each][row]) for each in ENGINES}
        self.failures = runner.results.failures

    def speed(self, key: tuple[str, str]) -> float:
        """By the time that PySpark takes."""
        return self.seconds[key]["pyspark"] / self.seconds[key]["pyrite"]

    @property
    def mean(self) -> float:
        speeds = [self.speed(key) for key in self.seconds]
        return exp(sum(map(log, speeds)) / len(speeds)) if speeds else 0.0

    @property
    def is_well(self) -> bool:
        slowest = min((self.speed(key) for key in self.seconds), default=0.0)
        return not self.failures and self.mean >= GOAL and slowest >= LEAST

    def markdown(self) -> str:
        rows = [
            f"| {name} | {row} | {times['pyspark']:.3f} | {times['pyrite']:.3f} | "
            f"{self.speed((name, row)):.1f} | {PAPER.get(name, '')} |"
            for (name, row), times in self.seconds.items()
        ]
        return "\n".join(
            [
                "## Figures 9 and 10: seven applications, and their rounds, against PySpark",
                "",
                f"{self.mean:.2f} times PySpark's speed in the geometric mean; the goal is "
                f"{GOAL:g}, and nowhere slower.",
                "",
                "| application | what | PySpark s | Pyrite s | times | the paper |",
                "|---|---|---:|---:|---:|---:|",
                *rows,
                "",
                *(f"- {each}" for each in self.failures),
            ]
        )
