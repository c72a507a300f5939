"""Join and cogroup of two datasets that are cached and partitioned alike."""

from collections.abc import Iterable
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.grouping import grouped
from benchmarks.pair import Pair
from benchmarks.stopwatch import Stopwatch

JOIN = "join, co-partitioned and cached"
COGROUP = "cogroup, co-partitioned and cached"
ROWS = (JOIN, COGROUP)
PAIRS = {"small": 20_000, "standard": 800_000}
PARTITIONS = 2


def inputs(data: DataFolder, scale: str) -> int:
    return PAIRS[scale]


def order_of(number: int) -> tuple[int, int]:
    return number * 3 // 4, number


def customer_of(number: int) -> tuple[int, int]:
    return number, number * 31 % 1009


def joined_value(pair: tuple[int, tuple[int, int]]) -> int:
    _key, (order, customer) = pair
    return order * customer % 1013


def grouped_value(pair: tuple[int, tuple[Iterable[int], Iterable[int]]]) -> int:
    _key, (orders, customers) = pair
    return sum(orders) * sum(customers) % 1013


def rdd(sc: Any, count: int, watch: Stopwatch) -> Any:
    orders = sc.range(count).map(order_of).partitionBy(PARTITIONS).cache()
    customers = sc.range(count).map(customer_of).partitionBy(PARTITIONS).cache()
    answer = [orders.count(), customers.count()]
    with watch.timed(JOIN):
        answer.append(orders.join(customers).map(joined_value).sum())
    with watch.timed(COGROUP):
        answer.append(orders.cogroup(customers).map(grouped_value).sum())
    return answer


def hand(count: int, watch: Stopwatch) -> Any:
    with Pair(_combine_half, count) as pair:
        sizes = pair.ask()
        with watch.timed(JOIN):
            joined = sum(pair.ask())
        with watch.timed(COGROUP):
            cogrouped = sum(pair.ask())
    return [*map(sum, zip(*sizes, strict=True)), joined, cogrouped]


def _combine_half(peer: Any, count: int) -> Any:
    mine = peer.index
    orders = [pair for pair in map(order_of, range(count)) if pair[0] & 1 == mine]
    customers = [pair for pair in map(customer_of, range(count)) if pair[0] & 1 == mine]
    yield len(orders), len(customers)
    yield sum(map(joined_value, _joined(orders, customers)))
    yield sum(map(grouped_value, _cogrouped(orders, customers)))


def _joined(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> Any:
    groups = grouped(left)
    for key, value in right:
        for other in groups.get(key, ()):
            yield key, (other, value)


def _cogrouped(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> Any:
    left_groups = grouped(left)
    right_groups = grouped(right)
    for key, values in left_groups.items():
        yield key, (values, right_groups.pop(key, []))
    for key, values in right_groups.items():
        yield key, ([], values)
