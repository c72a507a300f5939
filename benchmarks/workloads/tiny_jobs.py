"""Tiny jobs of two tasks in a running context: a hundred in a row, and the median of one."""

import time
from statistics import median
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.pair import Pair
from benchmarks.stopwatch import Stopwatch

HUNDRED = "100 tiny jobs"
ONE = "one 2-task job, median"
ROWS = (HUNDRED, ONE)
JOBS = {"small": 20, "standard": 100}


def inputs(data: DataFolder, scale: str) -> int:
    return JOBS[scale]


def shifted(number: int) -> int:
    return number + 1


def rdd(sc: Any, jobs: int, watch: Stopwatch) -> Any:
    numbers = sc.parallelize(range(10), 2)
    with watch.timed(HUNDRED):
        answers = [numbers.map(shifted).sum() for _ in range(jobs)]
    seconds = []
    for _ in range(jobs // 4):
        began_s = time.perf_counter()
        answers.append(numbers.map(shifted).sum())
        seconds.append(time.perf_counter() - began_s)
    watch.record(ONE, median(seconds))
    return answers


def hand(jobs: int, watch: Stopwatch) -> Any:
    with Pair(_shift_half) as pair:
        pair.ask()
        with watch.timed(HUNDRED):
            answers = [sum(pair.ask()) for _ in range(jobs)]
        seconds = []
        for _ in range(jobs // 4):
            began_s = time.perf_counter()
            answers.append(sum(pair.ask()))
            seconds.append(time.perf_counter() - began_s)
        watch.record(ONE, median(seconds))
    return answers


def _shift_half(peer: Any) -> Any:
    mine = range(5) if peer.index == 0 else range(5, 10)
    while True:
        yield sum(map(shifted, mine))
