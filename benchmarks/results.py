"""What the runs of a suite gave, by workload and engine."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import geometric_mean, median
from typing import Any


@dataclass
class EngineResult:
    """All repetitions of one workload on one engine."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    answers: list[Any] = field(default_factory=list)
    version: str = ""

    def add(self, report: dict[str, Any], peak_bytes: int) -> None:
        """Take in one run: its line of JSON and its peak memory."""
        for row, seconds in report["seconds"].items():
            self.seconds.setdefault(row, []).extend(seconds)
        self.figures = report["figures"]
        self.peak_bytes = max(self.peak_bytes, peak_bytes)
        self.answers.append(report["answer"])
        self.version = report["version"]


@dataclass
class Results:
    """The whole run: results by workload and engine, and what went wrong."""

    by_workload: dict[str, dict[str, EngineResult]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def of(self, workload: str, engine: str) -> EngineResult:
        """The result to add to, empty at first."""
        return self.by_workload.setdefault(workload, {}).setdefault(engine, EngineResult())

    def rows(self) -> list[str]:
        """The rows of all workloads, in the order they ran."""
        engines = (result for by in self.by_workload.values() for result in by.values())
        return list(dict.fromkeys(row for result in engines for row in result.seconds))

    def result(self, row: str, engine: str) -> EngineResult | None:
        """The result that holds the row's times on the engine, if it ran there."""
        for by_engine in self.by_workload.values():
            if engine in by_engine and row in by_engine[engine].seconds:
                return by_engine[engine]
        return None

    def seconds(self, row: str, engine: str) -> float | None:
        """The median time of a row."""
        result = self.result(row, engine)
        return median(result.seconds[row]) if result else None

    def ratio(self, row: str, above: str, below: str) -> float | None:
        """How many times as long as `below` the engine `above` takes."""
        first, second = self.seconds(row, above), self.seconds(row, below)
        return first / second if first and second else None

    def version(self, engine: str) -> str | None:
        """The version of an engine, if it ran."""
        for by_engine in self.by_workload.values():
            if engine in by_engine and by_engine[engine].version:
                return by_engine[engine].version
        return None

    def disagreements(self) -> list[str]:
        """One sentence for each workload whose answers are not all the same."""
        found = []
        for workload, by_engine in self.by_workload.items():
            answers = [(name, answer) for name, by in by_engine.items() for answer in by.answers]
            for name, answer in answers[1:]:
                if not agree(answer, answers[0][1]):
                    found.append(
                        f"{workload}: {name} answers {str(answer)[:200]}, "
                        f"{answers[0][0]} answers {str(answers[0][1])[:200]}"
                    )
                    break
        return found


def agree(left: Any, right: Any) -> bool:
    """Whether two answers are the same, up to the order in which floats were added."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(agree, left, right))
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-6)
    return bool(left == right)


def mean_ratio(ratios: Iterable[float | None]) -> float | None:
    """The geometric mean of the ratios that exist."""
    known = [ratio for ratio in ratios if ratio]
    return geometric_mean(known) if known else None
