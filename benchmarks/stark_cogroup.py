"""Stark's figures 11 and 12 on real nodes: cogroups of datasets that were loaded beside a busy
job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.scache_plots import Plot
from benchmarks.stark_dice import by_dice
from benchmarks.targets import Target
from pyrite import HashPartitioner, SparkConf, SparkContext
from pyrite.rdd import RDD

PARTITIONS = 8
# The goal is about five datasets.
GOAL_COUNT, GOAL = 5, 2.0
WAYS = ("namespace", "without", "homes by dice")


class Cogroups:
    """The time of a cogroup of 1 to 6 datasets, and what it read elsewhere or computed again."""

    def __init__(self, repeat: int, small: bool) -> None:
        self.repeat = repeat
        self.rows = 20_000 if small else 200_000
        self.counts = (1, 3, GOAL_COUNT) if small else (1, 2, 3, 4, GOAL_COUNT, 6)
        self.found: dict[str, list[tuple[float, float, int, int]]] = {}

    def run(self) -> None:
        for way in WAYS:
            self.found[way] = [self._run_once(way, count) for count in self.counts]
            print(f"  {way}: {self.found[way]}", flush=True)

    def _run_once(self, way: str, count: int) -> tuple[float, float, int, int]:
        conf = SparkConf(False).setMaster("local-cluster[4,1,1024]")
        conf.set("spark.ui.showConsoleProgress", "false").set("spark.locality.wait", "3s")
        with SparkContext(conf=conf) as sc:
            if way == "homes by dice":
                sc._engine.scheduler.locality.policies = by_dice(3.0)
            datasets = self._load(sc, way, count)
            together = datasets[0]._cogroup(datasets, None)
            before = sc.memory().hits
            times = [timed(together.count) for _ in range(self.repeat)]
            hits = sc.memory().hits
            away = hits.remote - before.remote
            return times[0], median(times), away, hits.recomputed - before.recomputed

    def _load(self, sc: SparkContext, way: str, count: int) -> list[RDD[Any]]:
        go_on = threading.Event()

        def busy() -> None:
            while not go_on.is_set():
                sc.parallelize(range(2), 2).map(lambda _: time.sleep(0.2)).count()

        thread = threading.Thread(target=busy)
        thread.start()
        loaded = []
        rows, partitioner = self.rows, HashPartitioner(PARTITIONS)
        for salt in range(count):
            pairs = sc.range(rows, numSlices=4).map(lambda x, salt=salt: (x % 9973, (salt, x)))
            if way == "namespace":
                placed = pairs.localityPartitionBy(partitioner, "datasets")
            else:
                placed = pairs.partitionBy(PARTITIONS)
            placed.cache().count()
            loaded.append(placed)
        go_on.set()
        thread.join()
        return loaded

    @property
    def targets(self) -> list[Target]:
        """Time is that of the first query: later ones find what it computed again."""
        ours = self.found["namespace"]
        place = self.counts.index(GOAL_COUNT)
        times = self.found["homes by dice"][place][0] / ours[place][0]
        what = f"figure 11, {GOAL_COUNT} datasets: homes by dice over a namespace, first query"
        return [
            Target(
                "figure 12: read elsewhere", sum(each[2] for each in ours), 0, unit="partitions"
            ),
            Target("figure 12: made again", sum(each[3] for each in ours), 0, unit="partitions"),
            Target(what, times, GOAL, at_least=True),
        ]

    @property
    def plots(self) -> dict[str, Plot]:
        lines = {way: [each[0] for each in found] for way, found in self.found.items()}
        places = [str(count) for count in self.counts]
        title = "Figure 11: cogroups of datasets that were loaded beside a busy job"
        return {"cogroup": Plot(title, "seconds of the first query", "datasets", places, lines)}

    def markdown(self) -> str:
        lines = [
            "## Figures 11 and 12, real, 4 nodes: cogroups of datasets loaded beside a busy job",
            "",
            "Seconds of the first and of the median query; kept partitions read from other nodes; "
            "partitions computed again. In the paper, five "
            "scattered datasets take 5.1 times as long as co-located ones.",
            "",
            "| datasets | " + " | ".join(WAYS) + " |",
            "|---" * (len(WAYS) + 1) + "|",
        ]
        for place, count in enumerate(self.counts):
            cells = [self.found[way][place] for way in WAYS]
            told = " | ".join(
                f"{each[0]:.3f}, {each[1]:.3f}; {each[2]}; {each[3]}" for each in cells
            )
            lines.append(f"| {count} | {told} |")
        return "\n".join([*lines, ""])


def timed(work: Callable[[], Any]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s
