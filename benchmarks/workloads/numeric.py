"""Map, filter and sum over ten million integers: nothing but calls of small functions."""

from typing import Any

from benchmarks.data import DataFolder
from benchmarks.pair import Pair, half
from benchmarks.stopwatch import Stopwatch

ROWS = ("map, filter, sum over 10,000,000",)
NUMBERS = {"small": 200_000, "standard": 10_000_000}


def inputs(data: DataFolder, scale: str) -> int:
    return NUMBERS[scale]


def scaled(number: int) -> int:
    return number * 3 + 1


def is_even(number: int) -> bool:
    return number & 1 == 0


def rdd(sc: Any, count: int, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        return sc.range(count).map(scaled).filter(is_even).sum()


def hand(count: int, watch: Stopwatch) -> Any:
    with Pair(_sum_half, count) as pair, watch.timed(ROWS[0]):
        return sum(pair.ask())


def _sum_half(peer: Any, count: int) -> Any:
    yield sum(filter(is_even, map(scaled, half(count, peer.index))))
