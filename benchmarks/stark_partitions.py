"""Stark's figure 7 on a real node: a count over 8 to 4,096 partitions, with and without groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.scache_plots import Plot
from benchmarks.targets import Target
from pyrite import ExtendablePartitioner, HashPartitioner, SparkConf, SparkContext

GROUPS = 8


class Partitions:
    """The time of a job by its number of partitions."""

    def __init__(self, repeat: int, small: bool) -> None:
        self.repeat = repeat
        self.rows = 50_000 if small else 500_000
        self.counts = (8, 64, 512) if small else (8, 32, 128, 512, 1024, 4096)
        self.found: dict[int, tuple[float, float]] = {}

    def run(self) -> None:
        for count in self.counts:
            self.found[count] = self._time(count, False), self._time(count, True)
            print(f"  {count}: {self.found[count]}", flush=True)

    def _time(self, count: int, grouped: bool) -> float:
        conf = SparkConf(False).setMaster("local[2]").set("spark.ui.showConsoleProgress", "false")
        conf.set("pyrite.collections.report", "false")
        hashed = HashPartitioner(count)
        with SparkContext(conf=conf) as sc:
            pairs = sc.range(self.rows, numSlices=4).map(lambda x: (x % 9973, x))
            partitioner = ExtendablePartitioner(hashed, GROUPS) if grouped else hashed
            placed = pairs.localityPartitionBy(partitioner, "rows").cache()
            placed.count()
            kept = placed.mapValues(lambda x: x + 1)
            return median(timed(kept.count) for _ in range(self.repeat))

    @property
    def targets(self) -> list[Target]:
        one_s, grouped_s = self.found[self.counts[-1]]
        what = f"figure 7, {self.counts[-1]} partitions: a task each over groups"
        return [Target(what, one_s / grouped_s, 1.0, at_least=True)]

    @property
    def plots(self) -> dict[str, Plot]:
        alone, grouped = zip(*(self.found[each] for each in self.counts), strict=True)
        lines = {"a task each": alone, f"in {GROUPS} groups": grouped}
        title = "Figure 7: a count by the number of partitions"
        places = [str(each) for each in self.counts]
        return {"partitions": Plot(title, "seconds, real", "partitions", places, lines)}

    def markdown(self) -> str:
        lines = [
            f"## Figure 7, real: a count by partitions, each a task or in {GROUPS} groups",
            "",
            "| partitions | a task each | groups |",
            "|---|---|---|",
        ]
        lines += [
            f"| {count} | {one:.3f} s | {two:.3f} s |" for count, (one, two) in self.found.items()
        ]
        return "\n".join([*lines, ""])


def timed(work: Callable[[], Any]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s
