"""Two thousand tasks that do nothing."""

from collections.abc import Iterable
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.pair import Pair
from benchmarks.stopwatch import Stopwatch

ROWS = ("2,000 empty tasks",)
TASKS = {"small": 100, "standard": 2_000}


def inputs(data: DataFolder, scale: str) -> int:
    return TASKS[scale]


def nothing(partition: Iterable[int]) -> None:
    return None


def rdd(sc: Any, tasks: int, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        sc.parallelize(range(tasks), tasks).foreachPartition(nothing)
    return tasks


def hand(tasks: int, watch: Stopwatch) -> Any:
    with Pair(_do_nothing) as pair, watch.timed(ROWS[0]):
        done = sum(len(pair.ask()) for _ in range(tasks // 2))
    return done


def _do_nothing(peer: Any) -> Any:
    while True:
        nothing(())
        yield None
