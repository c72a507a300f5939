"""The suite replay: does one command lead to the record that failed, here and on Dask?

scripts/bench --suite replay, which installs Dask into virtual environments of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROWS = {"small": 20_000, "standard": 1_000_000}
PROGRAMS = {
    "map": "a map",
    "reduce": "a reduce, where combiners are merged",
    "join": "a map behind a join",
    "join_list": "the same, of a bag with a list",
    "cogroup": "a map behind a cogroup; behind a `groupby` of two bags",
    "sort": "a map behind a sort; of a DataFrame",
    "sort_key": "the key of a sort",
    "ended": "a map, asked for when the program has ended",
}
KILLS = {"no": "", "kills": "after a kill"}


class Answer(NamedTuple):
    """What an engine's command led to."""

    is_found: bool
    says: str
    cpu_s: float

    def __str__(self) -> str:
        return f"yes, {self.cpu_s:.2f} s" if self.is_found else "no"


class Replays:
    """Runs all programs on each engine by turns."""

    def __init__(self, scale: str, timeout: float, environment: dict[str, str]) -> None:
        self.rows = ROWS[scale]
        self.timeout = timeout
        self.environment = environment
        self.pythons = {"Pyrite": sys.executable}
        for python in filter(None, environment.get("PYRITE_BENCH_DASK", "").split(":")):
            self.pythons[f"Dask {dask_version(python)}"] = python
        self.answers: dict[tuple[str, str, str], Answer] = {}
        self.names: list[str] = []

    def run(self, name: str) -> None:
        self.names.append(name)
        for kills in KILLS:
            for engine in self.pythons:
                answer = self._run_once(engine, name, kills)
                self.answers[engine, name, kills] = answer
                print(f"{engine}: {name} {KILLS[kills]}: {answer}: {answer.says}", flush=True)

    def _run_once(self, engine: str, name: str, kills: str) -> Answer:
        kind = "pyrite" if engine == "Pyrite" else "dask"
        with tempfile.TemporaryDirectory() as folder:
            command = [self.pythons[engine], "-m", "benchmarks.dask_replay_run", kind, name]
            try:
                done = subprocess.run(
                    [*command, str(self.rows), kills, folder],
                    env=self.environment,
                    capture_output=True,
                    text=True,
                    timeout=self.timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return Answer(False, f"nothing after {self.timeout:g} s", 0.0)
        lines = [each for each in done.stdout.splitlines() if each.startswith("RESULT ")]
        if not lines:
            return Answer(False, f"failed: {done.stderr[-500:]}", 0.0)
        return Answer(*json.loads(lines[-1].removeprefix("RESULT ")))

    @property
    def is_well(self) -> bool:
        """Whether Pyrite found each record."""
        return all(
            answer.is_found for (engine, *_), answer in self.answers.items() if engine == "Pyrite"
        )

    def markdown(self, command: str) -> str:
        lines = ["# The record that failed, beside Dask\n"]
        lines.append(
            f"`{command}`, {os.cpu_count()} cores, one bad record among {self.rows:,} in four "
            "partitions, two workers; with the processor time of the process that asks\n"
        )
        lines.append("| the record fails in | " + " | ".join(self.pythons) + " |")
        lines.append("|---|" + "---|" * len(self.pythons))
        notes: dict[str, int] = {}
        for name in self.names:
            for kills, when in KILLS.items():
                title = ", ".join(filter(None, [PROGRAMS[name], when]))
                answers = [self.answers[engine, name, kills] for engine in self.pythons]
                cells = " | ".join(self._cell(answer, notes) for answer in answers)
                lines.append(f"| {title} | {cells} |")
        lines += ["", *(f"({number}) {says}" for says, number in notes.items())]
        verdict = "met" if self.is_well else "MISSED"
        lines.append(f"\n{verdict}: on Pyrite, the command leads to each record")
        return "\n".join(lines) + "\n"

    def _cell(self, answer: Answer, notes: dict[str, int]) -> str:
        if answer.is_found:
            return str(answer)
        return f"no ({notes.setdefault(answer.says, len(notes) + 1)})"


def dask_version(python: str) -> str:
    command = [python, "-c", "import distributed; print(distributed.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
