"""EclipseMR's figures 9 and 10: the seven applications against PySpark, in the same run.

A part of scripts/bench --suite eclipse. Four applications are those of suite engine; the iterative
ones run from their input on with the paper's numbers of rounds, once with the same program on both
engines and once more on Pyrite with the outputs of rounds on a ring, as EclipseMR has them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean, median

from benchmarks.results import agree
from benchmarks.scache_plots import Plot, svg
from benchmarks.suite import Runner
from benchmarks.targets import Target
from benchmarks.workloads import iterations

# As the paper names them, and as suite engine does.
APPLICATIONS = {
    "inverted index": "inverted_index",
    "sort": "sort_records",
    "word count": "word_count",
    "grep": "log_search",
}
# How many times Spark's speed EclipseMR has, where the paper tells it: whole, and in later rounds.
PAPER = {"k-means": "3.5", "logistic regression": "2.5", "page rank": "0.87"}
PAPER_LATER = {"k-means": "3", "logistic regression": "3", "page rank": "0.77 at least"}
GOAL, LEAST = 3.0, 1.0
ENGINES = ["pyspark", "pyrite"]
KEPT = "kept"
Times = dict[str, float]


class EclipseCompare:
    """Runs the applications on both engines by turns, and reports the median of each."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.runner = Runner(argparse.Namespace(**{**vars(options), "engines": ENGINES}))
        self.folder: Path = options.out.parent
        # Seconds by application, and by application and round: of each engine, and with kept
        # outputs.
        self.whole: dict[str, Times] = {}
        self.rounds: dict[tuple[str, int], Times] = {}

    @property
    def failures(self) -> list[str]:
        results = self.runner.results
        failures = results.failures + results.disagreements()
        plain, kept = (results.of(each, "pyrite") for each in ("iterations", "kept_iterations"))
        answers = [*plain.answers, *kept.answers]
        if not all(agree(each, answers[0]) for each in answers):
            failures.append("iterations: other answers with the outputs on a ring")
        return failures

    def run(self) -> None:
        for name, workload in APPLICATIONS.items():
            self.runner.run(workload)
            seconds = {each: self._medians(workload, each) for each in ENGINES}
            if all(seconds.values()):
                self.whole[name] = {each: sum(rows.values()) for each, rows in seconds.items()}
        self.runner.run("iterations")
        self.runner.run("kept_iterations")
        seconds = {each: self._medians("iterations", each) for each in ENGINES}
        seconds[KEPT] = self._medians("kept_iterations", "pyrite")
        if all(seconds.values()):
            for name, count in iterations.ROUNDS.items():
                self._add_rounds(name, count, seconds)
            self._draw()

    def _medians(self, workload: str, engine: str) -> Times:
        runs = self.runner.results.of(workload, engine).seconds
        return {row: median(seconds) for row, seconds in runs.items()}

    def _add_rounds(self, name: str, count: int, seconds: dict[str, Times]) -> None:
        for number in range(1, count + 1):
            row = iterations.row(name, number)
            self.rounds[name, number] = {each: rows[row] for each, rows in seconds.items()}
        self.whole[name] = {
            each: sum(self.rounds[name, number][each] for number in range(1, count + 1))
            for each in seconds
        }

    def _draw(self) -> None:
        """Figure 10, a picture for each application."""
        self.folder.mkdir(parents=True, exist_ok=True)
        titles = {"pyspark": "PySpark", "pyrite": "Pyrite", KEPT: "Pyrite, outputs on a ring"}
        for name, count in iterations.ROUNDS.items():
            numbers = range(1, count + 1)
            lines = {
                title: [self.rounds[name, number][each] for number in numbers]
                for each, title in titles.items()
            }
            places = [str(number) for number in numbers]
            plot = Plot(f"Figure 10: {name}", "seconds of each round", "round", places, lines)
            (self.folder / picture(name)).write_text(svg(plot))

    def later(self, name: str) -> Times:
        """The median of the rounds after the first."""
        times = [self.rounds[name, each] for each in range(2, iterations.ROUNDS[name] + 1)]
        return {each: median(seconds[each] for seconds in times) for each in times[0]}

    @property
    def speeds(self) -> list[float]:
        """By the time that PySpark takes: of each application, and of later rounds."""
        times = [*self.whole.values(), *(self.later(name) for name in self.iterative)]
        return [speed(each) for each in times]

    @property
    def iterative(self) -> list[str]:
        return [name for name in iterations.ROUNDS if name in self.whole]

    @property
    def mean(self) -> float:
        return geometric_mean(self.speeds) if self.speeds else 0.0

    @property
    def targets(self) -> list[Target]:
        slowest = min(self.speeds, default=0.0)
        return [
            Target("PySpark's time over Pyrite's, geometric mean", self.mean, GOAL, at_least=True),
            Target("the same, where it is least", slowest, LEAST, at_least=True),
        ]

    @property
    def plots(self) -> dict[str, Plot]:
        # Those of the rounds are drawn, and shown, with their table.
        return {}

    @property
    def is_well(self) -> bool:
        is_complete = len(self.whole) == len(APPLICATIONS) + len(iterations.ROUNDS)
        is_fast = all(target.is_met for target in self.targets)
        return is_complete and is_fast and not self.failures

    def markdown(self) -> str:
        return "\n".join(
            [
                "## Figures 9 and 10: seven applications, and their rounds, against PySpark",
                "",
                f"{self.mean:.2f} times PySpark's speed in the geometric mean of the applications "
                f"and of later rounds; the goal is {GOAL:g}, and nowhere slower.",
                "",
                "| figure 9 | PySpark s | Pyrite s | times | the paper |",
                "|---|---:|---:|---:|---:|",
                *self._whole_rows(),
                "",
                "EclipseMR keeps the outputs of rounds in its file system and Spark does not. Here "
                "the same program runs on both engines, and once more with the outputs on a ring "
                "of one member; the first round reads the input, and page rank's last one writes "
                "the ranks.",
                "",
                "| figure 10 | round | PySpark s | Pyrite s | times | on a ring s | times |"
                " the paper |",
                "|---|---|---:|---:|---:|---:|---:|---:|",
                *self._round_rows(),
                "",
                *(f"![{name}]({picture(name)})" for name in self.iterative),
                *(f"- {each}" for each in self.failures),
                "",
            ]
        )

    def _whole_rows(self) -> Iterator[str]:
        for name, times in self.whole.items():
            yield (
                f"| {name} | {times['pyspark']:.3f} | {times['pyrite']:.3f} | {speed(times):.1f} | "
                f"{PAPER.get(name, '')} |"
            )

    def _round_rows(self) -> Iterator[str]:
        for name in self.iterative:
            for number in range(1, iterations.ROUNDS[name] + 1):
                yield _round_row(name, str(number), self.rounds[name, number], "")
            yield _round_row(name, "later ones", self.later(name), PAPER_LATER[name])


def speed(times: Times, engine: str = "pyrite") -> float:
    """How many times PySpark's speed an engine has."""
    return times["pyspark"] / times[engine]


def picture(name: str) -> str:
    """The file of an application's plot."""
    return f"eclipse-{name.replace(' ', '-')}.svg"


def _round_row(name: str, what: str, times: Times, paper: str) -> str:
    seconds = f"{times['pyspark']:.3f} | {times['pyrite']:.3f} | {speed(times):.1f}"
    on_a_ring = f"{times[KEPT]:.3f} | {speed(times, KEPT):.1f}"
    return f"| {name} | {what} | {seconds} | {on_a_ring} | {paper} |"
