"""The actions of random lineages, each with what plain Python says of its answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lineage_operators import YES_OR_NO, Choice
from plain_rows import Plain, bag, expect, expect_among, expect_refusal, expect_rows
from row_functions import add_counts, count_in, digest, few_keys, larger, rank

if TYPE_CHECKING:
    from pyrite import RDD

Rdd: TypeAlias = "RDD[Any]"
UNKNOWN_KEY = "a key that nobody has"


class Action(NamedTuple):
    """Runs an action and compares its answer."""

    check: Callable[..., None]
    arguments: tuple[Choice, ...] = ()
    suits: Callable[[Plain], bool] = lambda plain: True
    # As in PySpark, some fail on an RDD without partitions, such as that of an empty file.
    needs_partitions: bool = False


def check_collect(rdd: Rdd, plain: Plain) -> None:
    expect_rows("collect", rdd.collect(), plain)


def check_count(rdd: Rdd, plain: Plain) -> None:
    expect("count", rdd.count(), len(plain.rows))
    expect("isEmpty", rdd.isEmpty(), not plain.rows)


def check_reduce(rdd: Rdd, plain: Plain, tree: bool) -> None:
    reduce = rdd.treeReduce if tree else rdd.reduce
    if plain.rows:
        expect("reduce", rank(reduce(larger)), max(map(rank, plain.rows)))
    else:
        expect_refusal("reduce", lambda: reduce(larger), ValueError, "empty")


def check_fold(rdd: Rdd, plain: Plain) -> None:
    expect("fold", rdd.map(digest).fold(0, add), sum(map(digest, plain.rows)))


def check_aggregate(rdd: Rdd, plain: Plain, tree: bool) -> None:
    aggregate = rdd.treeAggregate if tree else rdd.aggregate
    expected = len(plain.rows), sum(map(digest, plain.rows))
    expect("aggregate", aggregate((0, 0), count_in, add_counts), expected)


def check_take(rdd: Rdd, plain: Plain, count: int) -> None:
    found = rdd.take(count)
    expect("rows taken", len(found), min(count, len(plain.rows)))
    if plain.ordered:
        expect("take", list(map(rank, found)), list(map(rank, plain.rows[:count])))
    else:
        expect_among("take", found, plain.rows)


def check_first(rdd: Rdd, plain: Plain) -> None:
    if not plain.rows:
        expect_refusal("first", rdd.first, ValueError, "empty")
    else:
        expect_among("first", [rdd.first()], plain.rows[:1] if plain.ordered else plain.rows)


def check_ends(rdd: Rdd, plain: Plain, count: int) -> None:
    ordered = sorted(map(rank, plain.rows))
    expect("takeOrdered", list(map(rank, rdd.takeOrdered(count, rank))), ordered[:count])
    expect("top", list(map(rank, rdd.top(count, rank))), ordered[::-1][:count])


def check_extremes(rdd: Rdd, plain: Plain) -> None:
    if plain.rows:
        expect("min", rank(rdd.min(rank)), min(map(rank, plain.rows)))
        expect("max", rank(rdd.max(rank)), max(map(rank, plain.rows)))


def check_numbers(rdd: Rdd, plain: Plain) -> None:
    numbers = list(map(digest, plain.rows))
    digests = rdd.map(digest)
    expect("sum", digests.sum(), sum(numbers))
    stats = digests.stats()
    expect("count of stats", stats.count(), len(numbers))
    if numbers:
        mean = sum(numbers) / len(numbers)
        expect(f"whether {stats.mean()} is {mean}", math.isclose(stats.mean(), mean), True)
        expect("range of stats", (stats.min(), stats.max()), (min(numbers), max(numbers)))


def check_count_by_key(rdd: Rdd, plain: Plain) -> None:
    found = {rank(key): count for key, count in rdd.countByKey().items()}
    expect("countByKey", found, bag(key for key, _ in plain.rows))


def check_count_by_value(rdd: Rdd, plain: Plain) -> None:
    found = {rank(row): count for row, count in rdd.countByValue().items()}
    expect("countByValue", found, bag(plain.rows))


def some_key(plain: Plain, number: int) -> Any:
    """One of the keys, or one that nobody has where there are none."""
    keys = [key for key, _ in plain.groups().values()]
    return keys[number % len(keys)] if keys else UNKNOWN_KEY


def check_lookup(rdd: Rdd, plain: Plain, number: int) -> None:
    for key in (some_key(plain, number), UNKNOWN_KEY):
        _, values = plain.groups().get(rank(key), (key, []))
        expect(f"lookup({key!r})", bag(rdd.lookup(key)), bag(values))


def check_map(rdd: Rdd, plain: Plain) -> None:
    groups = plain.groups()
    found = {rank(key): value for key, value in rdd.collectAsMap().items()}
    expect("keys of collectAsMap", found.keys(), groups.keys())
    for key, value in found.items():
        values = groups[key][1]
        expect_among("collectAsMap", [value], values[-1:] if plain.ordered else values)


def check_foreach(rdd: Rdd, plain: Plain) -> None:
    rows, total = rdd.context.accumulator(0), rdd.context.accumulator(0)

    def count(row: Any) -> None:
        rows.add(1)
        total.add(digest(row))

    rdd.foreach(count)
    expect("rows counted", rows.value, len(plain.rows))
    expect("sum of digests", total.value, sum(map(digest, plain.rows)))


def check_map_side(rdd: Rdd, plain: Plain, count: int) -> None:
    """Each map output counts once: for the second job none is made, or made again in silence."""
    rows = rdd.context.accumulator(0)

    def counted(row: Any) -> tuple[int, int]:
        rows.add(1)
        return few_keys(row)

    largest = rdd.map(counted).reduceByKey(max, count)
    expected: dict[int, int] = {}
    for key, value in map(few_keys, plain.rows):
        expected[key] = max(value, expected.get(key, 0))
    for job in ("first", "second"):
        expect(f"reduceByKey, {job} job", dict(largest.collect()), expected)
        expect(f"rows counted, {job} job", rows.value, len(plain.rows))


def check_iterator(rdd: Rdd, plain: Plain, prefetch: bool) -> None:
    expect_rows("toLocalIterator", rdd.toLocalIterator(prefetch), plain)


def check_given_up_iterator(rdd: Rdd, plain: Plain, count: int) -> None:
    found = [row for row, _ in zip(rdd.toLocalIterator(True), range(count), strict=False)]
    expect_among("toLocalIterator", found, plain.rows)


def check_sample(rdd: Rdd, plain: Plain, fraction: float) -> None:
    sampled = rdd.sample(False, fraction, 7)
    found = sampled.collect()
    expect_among("sample", found, plain.rows)
    if plain.ordered:
        expect("the same sample", repr(sampled.collect()), repr(found))


def check_unpersist(rdd: Rdd, plain: Plain) -> None:
    rdd.unpersist()


def is_pairs(plain: Plain) -> bool:
    return plain.is_pairs


FEW: Choice = tuple(range(13))

ACTIONS: dict[str, Action] = {
    "collect": Action(check_collect),
    "count": Action(check_count),
    "reduce": Action(check_reduce, (YES_OR_NO,)),
    "fold": Action(check_fold),
    "aggregate": Action(check_aggregate, (YES_OR_NO,)),
    "take": Action(check_take, (FEW,)),
    "first": Action(check_first),
    "ends": Action(check_ends, (FEW,), needs_partitions=True),
    "extremes": Action(check_extremes),
    "numbers": Action(check_numbers, needs_partitions=True),
    "countByKey": Action(check_count_by_key, suits=is_pairs, needs_partitions=True),
    "countByValue": Action(check_count_by_value, needs_partitions=True),
    "lookup": Action(check_lookup, (FEW,), suits=is_pairs, needs_partitions=True),
    "collectAsMap": Action(check_map, suits=is_pairs),
    "foreach": Action(check_foreach),
    "mapSide": Action(check_map_side, ((1, 2, 3),)),
    "toLocalIterator": Action(check_iterator, (YES_OR_NO,)),
    "givenUpIterator": Action(check_given_up_iterator, (FEW,)),
    "sample": Action(check_sample, ((0.0, 0.4, 1.0),)),
    "unpersist": Action(check_unpersist),
}
