"""One row of the figure, in a process of its own: store the set, descend ten steps; print JSON.

python -m benchmarks.r3s_run JSON, where the JSON is that of a `Plan`.
"""

import importlib
import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import module_of, start_context
from benchmarks.r3s_pagecache import Evicted, device_reads_bytes, evict, files_under
from benchmarks.r3s_regression import DIMENSIONS, MATRIX_BYTES, ROWS, gradient_at, parser_of

STEPS = 10
# Files of blocks, by engine, as they are called in its scratch folders.
BLOCKS = {"pyrite": re.compile(r"[a-z]+[0-9]*-[0-9]+"), "pyspark": re.compile(r"rdd_.*")}


@dataclass(frozen=True)
class Plan:
    """What to run: the engine with its settings, the level, the set, and whether also cold."""

    engine: str
    level: str
    settings: dict[str, str]
    partitions: int
    input: str
    scratch: str
    is_cold_too: bool
    executor_bytes: int
    # What else each executor keeps as live rows, before the set and longer than it.
    filler_bytes: int = 0


@dataclass
class Outcome:
    """What was measured."""

    version: str
    first_s: float = 0.0
    steps_s: float = 0.0
    cold_s: float = 0.0
    weights: list[float] = field(default_factory=list)
    # Shares of the set, as they were after the steps.
    on_disk: float = 0.0
    elsewhere: float = 0.0
    recomputed: float = 0.0
    # A cold step, on average: evicted from the page cache, of that still there, read from devices.
    evicted_bytes: float = 0.0
    resident_bytes: float = 0.0
    device_bytes: float = 0.0
    peaks: dict[str, Any] = field(default_factory=dict)


def run(plan: Plan) -> Outcome:
    """All passes; the page cache is left as it is, and then, if asked for, emptied each time."""
    if plan.engine == "pyspark":
        make_spark_home(plan.scratch)
    sc = start_context(plan.engine, plan.settings)
    try:
        # All executors have come, and have loaded numpy.
        sc.parallelize(range(8), 8).map(lambda _: len(np.zeros(1))).count()
        filler = _fill(sc, plan) if plan.filler_bytes else None
        watcher = _watcher(sc, plan)
        regression = Regression(sc, plan)
        regression.store()
        regression.descend_warm()
        if plan.is_cold_too:
            regression.descend_cold()
        if watcher:
            _note_peaks(sc, plan, regression.outcome, watcher.finish())
        del filler
        return regression.outcome
    finally:
        sc.stop()


class Regression:
    """The set as it is kept, and the steps over it."""

    def __init__(self, sc: Any, plan: Plan) -> None:
        self.plan = plan
        self.outcome = Outcome(sc.version)
        self.made = sc.accumulator(0)
        level = getattr(module_of(sc).StorageLevel, plan.level)
        numbers = sc.parallelize(range(plan.partitions), plan.partitions)
        self.matrices = numbers.map(parser_of(plan.input, self.made)).persist(level)
        self.points = plan.partitions * ROWS

    def store(self) -> None:
        began_s = time.perf_counter()
        assert self.matrices.map(len).sum() == self.points
        self.outcome.first_s = time.perf_counter() - began_s

    def descend_warm(self) -> None:
        before = self.made.value
        self.outcome.steps_s, self.outcome.weights = self._descend(lambda: None)
        partitions = self.plan.partitions
        self.outcome.recomputed = (self.made.value - before) / STEPS / partitions
        on_disk_bytes = sum(path.stat().st_size for path in _block_files(self.plan))
        self.outcome.on_disk = on_disk_bytes / partitions / MATRIX_BYTES

    def descend_cold(self) -> None:
        # What is made again is read from its input, which should be no warmer than blocks are.
        files = [Path(self.plan.input)] if self.outcome.recomputed else []
        evicted = Evicted(0, 0)

        def empty() -> None:
            nonlocal evicted
            evicted += evict([*files, *_block_files(self.plan)])

        before_bytes = device_reads_bytes(os.getpid())
        self.outcome.cold_s, _ = self._descend(empty)
        read_bytes = device_reads_bytes(os.getpid()) - before_bytes
        self.outcome.device_bytes = read_bytes / STEPS
        self.outcome.evicted_bytes = evicted.bytes / STEPS
        self.outcome.resident_bytes = evicted.resident_bytes / STEPS

    def _descend(self, before_step: Callable[[], None]) -> tuple[float, list[float]]:
        weights = np.zeros(DIMENSIONS)
        taken_s = 0.0
        for _ in range(STEPS):
            before_step()
            began_s = time.perf_counter()
            gradient = self.matrices.map(gradient_at(weights)).reduce(add)
            weights = weights - 2.0 * gradient / self.points
            taken_s += time.perf_counter() - began_s
        return taken_s, weights.tolist()


def _fill(sc: Any, plan: Plan) -> Any:
    """Live rows of higher priority on each executor, that leave the set so much less memory.

    An executor with numpy needs more memory to start than a small set leaves it otherwise.
    """
    level = module_of(sc).StorageLevel.MEMORY_ONLY
    rows = plan.filler_bytes >> 20
    filler = sc.parallelize(range(2), 2).flatMap(lambda _: [b"x" * (1 << 20) for _ in range(rows)])
    assert filler.persist(level, priority=1).count() == 2 * rows
    return filler


def make_spark_home(scratch: str) -> None:
    """Spark's workers of local-cluster leave their logs where Spark is installed: not so here."""
    installed = Path(importlib.import_module("pyspark").__path__[0])
    home = Path(scratch, "spark-home")
    home.mkdir()
    for part in installed.iterdir():
        (home / part.name).symlink_to(part)
    os.environ["SPARK_HOME"] = str(home)


def _block_files(plan: Plan) -> list[Path]:
    is_block = BLOCKS[plan.engine].fullmatch
    return [path for path in files_under(plan.scratch) if is_block(path.name)]


def _watcher(sc: Any, plan: Plan) -> Any:
    if plan.engine != "pyrite":
        return None
    # Here, since PySpark's interpreter needs nothing of it.
    from benchmarks.r3s_watch import Watcher

    return Watcher(sc, plan.executor_bytes)


def _note_peaks(sc: Any, plan: Plan, outcome: Outcome, peaks: dict[str, Any]) -> None:
    """The peaks, and what of the set lies on nodes that nothing is computed on."""
    cluster_nodes = sc._engine.cluster.nodes.values()
    idle = [str(node.id) for node in cluster_nodes if not node.shape.executors]
    idle_bytes = sum(each["last_bytes"] for each in peaks["nodes"] if each["node"] in idle)
    outcome.peaks = peaks
    outcome.elsewhere = idle_bytes / plan.partitions / MATRIX_BYTES


def main() -> None:
    """Run the plan given, print what came of it."""
    plan = Plan(**json.loads(sys.argv[1]))
    print(json.dumps(asdict(run(plan))))


if __name__ == "__main__":
    main()
