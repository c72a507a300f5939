"""groupByKey: bring all values of a key together, then reduce each group to one number."""

from collections.abc import Iterable
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.grouping import grouped_in_pair
from benchmarks.pair import Pair, half
from benchmarks.stopwatch import Stopwatch

ROWS = ("groupByKey",)
PAIRS = {"small": 50_000, "standard": 3_000_000}
KEYS = 20_000


def inputs(data: DataFolder, scale: str) -> int:
    return PAIRS[scale]


def keyed(number: int) -> tuple[int, int]:
    return number * 7919 % KEYS, number


def spread(values: Iterable[int]) -> int:
    numbers = list(values)
    return max(numbers) - min(numbers)


def rdd(sc: Any, count: int, watch: Stopwatch) -> Any:
    with watch.timed(ROWS[0]):
        groups = sc.range(count).map(keyed).groupByKey()
        return groups.mapValues(spread).values().sum()


def hand(count: int, watch: Stopwatch) -> Any:
    with Pair(_group_half, count) as pair, watch.timed(ROWS[0]):
        return sum(pair.ask())


def _group_half(peer: Any, count: int) -> Any:
    groups = grouped_in_pair(peer, map(keyed, half(count, peer.index)))
    yield sum(map(spread, groups.values()))
