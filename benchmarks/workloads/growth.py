"""Ten thousand small jobs in one context: neither memory nor the time of a job may grow."""

import os
import time
from operator import add
from statistics import median
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.peak import TreeMemory
from benchmarks.stopwatch import Stopwatch

ROWS = ("10,000 small jobs",)
ENGINES = ("pyrite",)
REPEAT = 1
JOBS = {"small": 500, "standard": 10_000}
SHUFFLE_EVERY = 10

EARLY_S = "median job early, s"
LATE_S = "median job late, s"
EARLY_BYTES = "memory early, bytes"
LATE_BYTES = "memory late, bytes"


def inputs(data: DataFolder, scale: str) -> int:
    return JOBS[scale]


def keyed(number: int) -> tuple[int, int]:
    return number % 3, number


def rdd(sc: Any, jobs: int, watch: Stopwatch) -> Any:
    memory = TreeMemory(os.getpid())
    tenth = jobs // 10
    seconds: list[float] = []
    with watch.timed(ROWS[0]):
        for number in range(jobs):
            if number == tenth:
                watch.note(EARLY_BYTES, memory.now_bytes())
            seconds.append(_one_job(sc, number))
    watch.note(LATE_BYTES, memory.now_bytes())
    # The first tenth is warm-up.
    watch.note(EARLY_S, median(seconds[tenth : 2 * tenth]))
    watch.note(LATE_S, median(seconds[-tenth:]))
    return jobs


def _one_job(sc: Any, number: int) -> float:
    began_s = time.perf_counter()
    pairs = sc.parallelize(range(number, number + 10), 2).map(keyed)
    if number % SHUFFLE_EVERY == 0:
        found = sum(pairs.reduceByKey(add).values().collect())
    else:
        found = pairs.values().sum()
    assert found == 10 * number + 45
    return time.perf_counter() - began_s
