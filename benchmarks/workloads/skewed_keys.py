"""Skewed keys: half of all records belong to one key, the rest to many."""

from collections.abc import Iterable
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.grouping import grouped_in_pair
from benchmarks.pair import Pair, half
from benchmarks.stopwatch import Stopwatch

ROWS = ("skewed keys",)
PAIRS = {"small": 50_000, "standard": 3_000_000}
KEYS = 10_007


def inputs(data: DataFolder, scale: str) -> int:
    return PAIRS[scale]


def keyed(number: int) -> tuple[int, int]:
    return (0 if number & 1 else number * 31 % KEYS), number


def largest(values: Iterable[int]) -> int:
    return max(values)


def rdd(sc: Any, count: int, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        groups = sc.range(count).map(keyed).groupByKey()
        return groups.mapValues(largest).values().sum()


def hand(count: int, watch: Stopwatch) -> Any:
    with Pair(_group_half, count) as pair, watch.timed(ROWS[0]):
        return sum(pair.ask())


def _group_half(peer: Any, count: int) -> Any:
    groups = grouped_in_pair(peer, map(keyed, half(count, peer.index)))
    yield sum(map(largest, groups.values()))
