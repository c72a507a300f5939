"""The suite machine: what the row machine runs of each workload, what it refuses and why, what that
is worth in processor time, and how many lambdas of other programs its reader understands."""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import geometric_mean, median

from benchmarks.closures import understood
from benchmarks.data import DataFolder
from pyrite.story.read import StoryReader
from pyrite.story.records import TaskEnded

ROOT = Path(__file__).parent.parent
ARMS = {"by hand": ("hand", ""), "without": ("pyrite", "false"), "with": ("pyrite", "true")}
FOLDERS = {
    "benchmarks": ["benchmarks/workloads/*.py"],
    "examples": ["examples/**/*.py"],
    "tests": ["tests/**/*.py"],
    "pages": ["README.md", "docs/*.md"],
}
_FEWEST_REASONS = 6


class RowMachine:
    """Runs the workloads by turns, and reports."""

    def __init__(self, repeat: int, scale: str, data: Path, timeout_s: float) -> None:
        self.repeat = repeat
        self.scale = scale
        self.data = data
        self.timeout_s = timeout_s
        self.times: dict[str, dict[str, list[float]]] = {}
        self.said: dict[str, list[str]] = {}
        self.disagreements: list[str] = []

    def run(self, name: str, environment: dict[str, str]) -> None:
        print(name, flush=True)
        answers = {}
        # Made before the first measurement.
        __import__(f"benchmarks.workloads.{name}", fromlist=["inputs"]).inputs(
            DataFolder(self.data), self.scale
        )
        for _ in range(self.repeat):
            for arm, (engine, mode) in ARMS.items():
                report = self._report([engine, name, self.scale, str(self.data), mode], environment)
                answers[arm] = report["answer"]
                for row, seconds in report["seconds"].items():
                    self.times.setdefault(row, {}).setdefault(arm, []).append(seconds)
        if answers["with"] != answers["without"] or answers["with"] != answers["by hand"]:
            self.disagreements.append(name)
        self.said[name] = self._said(name, environment)

    def _report(self, arguments: list[str], environment: dict[str, str]) -> dict[str, dict]:
        command = [sys.executable, "-m", "benchmarks.machine_run", *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, check=True, timeout=self.timeout_s
        )
        return json.loads(done.stdout.splitlines()[-1])

    def _said(self, name: str, environment: dict[str, str]) -> list[str]:
        """What the machine said about the functions of a workload, from its story."""
        with tempfile.TemporaryDirectory(prefix="pyrite-bench-") as folder:
            settings = f"spark.eventLog.enabled=true,spark.eventLog.dir={folder}"
            self._report(
                ["pyrite", name, "small", str(self.data), "eager"],
                {**environment, "PYRITE_CONF": settings},
            )
            said: dict[str, None] = {}
            for path in sorted(glob.glob(os.path.join(folder, "*.story"))):
                with StoryReader(path) as reader:
                    for record in reader.records():
                        if isinstance(record, TaskEnded):
                            said.update(dict.fromkeys(record.traced))
        return [re.sub(r" \([^()]*:\d+\)", "", each) for each in said]

    @property
    def is_well(self) -> bool:
        return not self.disagreements

    def markdown(self, command: str) -> str:
        rows = [f"| {row} | {self._cells(by)} |" for row, by in self.times.items()]
        ratios = [median(by["with"]) / median(by["by hand"]) for by in self.times.values()]
        chains = [
            f"| {name} | {one.replace('|', '&#124;')} |"
            for name, said in self.said.items()
            for one in dict.fromkeys(said)
        ]
        return "\n".join(
            [
                f"`{command}`: processor seconds, medians of {self.repeat} by turns.",
                "",
                "| workload | by hand | without | with | without / by hand | with / by hand |",
                "|---|--:|--:|--:|--:|--:|",
                *rows,
                f"| geometric mean | | | | | {geometric_mean(ratios):.2f} |",
                "",
                "| workload | functions, their sink, and where they ran |",
                "|---|---|",
                *chains,
                "",
                *self._closures(),
                *(f"ANSWERS DIFFER: {name}" for name in self.disagreements),
            ]
        )

    def _cells(self, by: dict[str, list[float]]) -> str:
        hand, without, machine = (median(by[arm]) for arm in ARMS)
        figures = f"{hand:.2f} | {without:.2f} | {machine:.2f}"
        return f"{figures} | {without / hand:.2f} | {machine / hand:.2f}"

    def _closures(self) -> list[str]:
        lines = ["| lambdas in | read | share | most refused |", "|---|--:|--:|---|"]
        for folder, patterns in FOLDERS.items():
            paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
            found = understood(paths)
            reasons = found.refusals.most_common(_FEWEST_REASONS)
            told = ", ".join(f"{reason} ({count})" for reason, count in reasons)
            share = found.read / max(1, found.lambdas)
            lines.append(f"| {folder} | {found.read} of {found.lambdas} | {share:.0%} | {told} |")
        return lines
