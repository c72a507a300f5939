"""What the engine suite must show, each target with what was measured for it."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.results import Results, mean_ratio
from benchmarks.workloads import (
    cached_join,
    empty_tasks,
    gigabyte_group,
    gigabyte_sort,
    growth,
    larger_than_memory,
    log_search,
    regression_by_block,
    start,
    tiny_jobs,
)

# By hand a shorter row takes microseconds to start, which no engine with tasks can follow.
LONG_ROW_S = 0.05

# Rows whose time is spent in numpy, or in making lists of values for the user: the row machine does
# little there.
NOT_BY_RECORD = (regression_by_block.ROWS[0], cached_join.COGROUP)

# Of a gigabyte each, which Pyrite and PySpark run alone.
GIGABYTES = (gigabyte_sort.ROWS[0], gigabyte_group.ROWS[0])

# Rows about the engine's own start and tasks, which a hand-written program does not have.
OWN_BOUNDS_S = {
    start.ROWS[0]: 0.5,
    tiny_jobs.ONE: 0.005,
    empty_tasks.ROWS[0]: 0.5,
}


@dataclass(frozen=True)
class Target:
    """A bound, the figure measured against it, and how to print the two."""

    what: str
    measured: float
    bound: float
    at_least: bool = False
    unit: str = "x"

    @property
    def is_met(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def __str__(self) -> str:
        verdict = "met" if self.is_met else "MISSED"
        sign = "at least" if self.at_least else "at most"
        bound, measured = f"{self.bound:g} {self.unit}", f"{self.measured:.3g} {self.unit}"
        return f"{verdict}: {self.what}: {measured}, {sign} {bound}"


def targets(results: Results, scale: str) -> list[Target]:
    """The targets for which this run has the rows they need."""
    found = [*_against_pyspark(results), *_against_hand(results), *_alone(results)]
    return found + (_memory_limit(results) if scale == "standard" else [])


def _against_pyspark(results: Results) -> list[Target]:
    speedups = {row: results.ratio(row, "pyspark", "pyrite") for row in results.rows()}
    found = []
    if mean := mean_ratio(speedups.values()):
        slowest, least = _extreme(speedups, min)
        found += [
            Target("PySpark's time over Pyrite's, geometric mean", mean, 12, at_least=True),
            Target(f"the same, worst row ({slowest})", least, 1, at_least=True),
        ]
    for row in GIGABYTES:
        if speedup := speedups.get(row):
            found.append(Target(f"PySpark's time over Pyrite's, {row}", speedup, 5, at_least=True))
    memory: dict[str, float | None] = {}
    for name, by_engine in results.by_workload.items():
        if {"pyrite", "pyspark"} <= by_engine.keys() and by_engine["pyspark"].peak_bytes:
            memory[name] = by_engine["pyrite"].peak_bytes / by_engine["pyspark"].peak_bytes
    if mean_ratio(memory.values()):
        largest, most = _extreme(memory, max)
        found.append(Target(f"Pyrite's peak memory over PySpark's, worst ({largest})", most, 1))
    return found


def _against_hand(results: Results) -> list[Target]:
    ratios = {
        row: results.ratio(row, "pyrite", "hand")
        for row in results.rows()
        if row not in OWN_BOUNDS_S and (results.seconds(row, "hand") or 0) > LONG_ROW_S
    }
    found = [
        Target(f"Pyrite's time over the hand-written, {row}", ratio, 1.3)
        for row in NOT_BY_RECORD
        if (ratio := ratios.pop(row, None))
    ]
    if mean := mean_ratio(ratios.values()):
        slowest, most = _extreme(ratios, max)
        found += [
            Target("Pyrite's time over the hand-written, rows by record, mean", mean, 0.45),
            Target(f"the same, worst row ({slowest})", most, 1),
        ]
    if later := results.ratio(log_search.LATER, "pyrite", "hand"):
        found.append(Target("later queries over the hand-written loop", later, 1.1))
    return found


def _alone(results: Results) -> list[Target]:
    found = []
    for row, bound_s in OWN_BOUNDS_S.items():
        if seconds := results.seconds(row, "pyrite"):
            found.append(Target(row, seconds, bound_s, unit="s"))
    grown = results.result(growth.ROWS[0], "pyrite")
    if grown:
        figures = grown.figures
        slower = figures[growth.LATE_S] / figures[growth.EARLY_S]
        larger = figures[growth.LATE_BYTES] / figures[growth.EARLY_BYTES]
        found += [
            Target("time of a job, last tenth of the jobs over second", slower, 1.1),
            Target("memory after the last tenth of the jobs over after the first", larger, 1.05),
        ]
    return found


def _memory_limit(results: Results) -> list[Target]:
    result = results.result(larger_than_memory.ROWS[0], "pyrite")
    if not result:
        return []
    used = result.peak_bytes / larger_than_memory.LIMIT_BYTES
    return [Target("peak memory over the limit, set larger than memory", used, 1.1)]


def _extreme(
    ratios: dict[str, float | None], choose: Callable[..., tuple[str, float]]
) -> tuple[str, float]:
    known = [(name, ratio) for name, ratio in ratios.items() if ratio]
    return choose(known, key=lambda item: item[1])
