"""The actions of random lineages, each with what plain Python says of its answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from plain_rows import Plain, assert_same, bag
from row_functions import add_counts, count_in, digest, larger, rank

from pyrite import RDD

Rdd = RDD[Any]


class Action(NamedTuple):
    """Runs an action and compares its answer."""

    check: Callable[..., None]
    arguments: st.SearchStrategy[tuple[Any, ...]] = st.just(())
    suits: Callable[[Plain], bool] = lambda plain: True
    # As in PySpark, some fail on an RDD without partitions, such as that of an empty file.
    needs_partitions: bool = False


def check_collect(rdd: Rdd, plain: Plain) -> None:
    assert_same(rdd.collect(), plain)


def check_count(rdd: Rdd, plain: Plain) -> None:
    assert rdd.count() == len(plain.rows)
    assert rdd.isEmpty() == (not plain.rows)


def check_reduce(rdd: Rdd, plain: Plain, tree: bool) -> None:
    reduce = rdd.treeReduce if tree else rdd.reduce
    if plain.rows:
        assert rank(reduce(larger)) == max(map(rank, plain.rows))
    else:
        with pytest.raises(ValueError, match="empty"):
            reduce(larger)


def check_fold(rdd: Rdd, plain: Plain) -> None:
    assert rdd.map(digest).fold(0, add) == sum(map(digest, plain.rows))


def check_aggregate(rdd: Rdd, plain: Plain, tree: bool) -> None:
    aggregate = rdd.treeAggregate if tree else rdd.aggregate
    expected = len(plain.rows), sum(map(digest, plain.rows))
    assert aggregate((0, 0), count_in, add_counts) == expected


def check_take(rdd: Rdd, plain: Plain, count: int) -> None:
    found = rdd.take(count)
    assert len(found) == min(count, len(plain.rows))
    if plain.ordered:
        assert bag(found) == bag(plain.rows[:count])
        assert list(map(rank, found)) == list(map(rank, plain.rows[:count]))
    else:
        assert bag(found) <= bag(plain.rows)


def check_first(rdd: Rdd, plain: Plain) -> None:
    if not plain.rows:
        with pytest.raises(ValueError, match="empty"):
            rdd.first()
    else:
        assert rank(rdd.first()) in bag(plain.rows[:1] if plain.ordered else plain.rows)


def check_ends(rdd: Rdd, plain: Plain, count: int) -> None:
    ordered = sorted(map(rank, plain.rows))
    assert list(map(rank, rdd.takeOrdered(count, rank))) == ordered[:count]
    assert list(map(rank, rdd.top(count, rank))) == ordered[::-1][:count]


def check_extremes(rdd: Rdd, plain: Plain) -> None:
    if plain.rows:
        assert rank(rdd.min(rank)) == min(map(rank, plain.rows))
        assert rank(rdd.max(rank)) == max(map(rank, plain.rows))


def check_numbers(rdd: Rdd, plain: Plain) -> None:
    numbers = list(map(digest, plain.rows))
    digests = rdd.map(digest)
    assert digests.sum() == sum(numbers)
    stats = digests.stats()
    assert stats.count() == len(numbers)
    if numbers:
        assert math.isclose(stats.mean(), sum(numbers) / len(numbers))
        assert (stats.min(), stats.max()) == (min(numbers), max(numbers))


def check_count_by_key(rdd: Rdd, plain: Plain) -> None:
    found = {rank(key): count for key, count in rdd.countByKey().items()}
    assert found == bag(key for key, _ in plain.rows)


def check_count_by_value(rdd: Rdd, plain: Plain) -> None:
    assert {rank(row): count for row, count in rdd.countByValue().items()} == bag(plain.rows)


def check_lookup(rdd: Rdd, plain: Plain, number: int) -> None:
    groups = list(plain.groups().values())
    if groups:
        key, values = groups[number % len(groups)]
        assert bag(rdd.lookup(key)) == bag(values)
    assert rdd.lookup("a key that nobody has") == []


def check_map(rdd: Rdd, plain: Plain) -> None:
    groups = plain.groups()
    found = {rank(key): rank(value) for key, value in rdd.collectAsMap().items()}
    assert found.keys() == groups.keys()
    for key, value in found.items():
        values = groups[key][1]
        assert value in bag(values[-1:] if plain.ordered else values)


def check_foreach(rdd: Rdd, plain: Plain) -> None:
    rows, total = rdd.context.accumulator(0), rdd.context.accumulator(0)

    def count(row: Any) -> None:
        rows.add(1)
        total.add(digest(row))

    rdd.foreach(count)
    assert rows.value == len(plain.rows)
    assert total.value == sum(map(digest, plain.rows))


def check_iterator(rdd: Rdd, plain: Plain, prefetch: bool) -> None:
    assert_same(rdd.toLocalIterator(prefetch), plain)


def check_given_up_iterator(rdd: Rdd, plain: Plain, count: int) -> None:
    found = [row for row, _ in zip(rdd.toLocalIterator(True), range(count), strict=False)]
    assert bag(found) <= bag(plain.rows)


def check_sample(rdd: Rdd, plain: Plain, fraction: float) -> None:
    sampled = rdd.sample(False, fraction, 7)
    found = sampled.collect()
    assert bag(found) <= bag(plain.rows)
    if plain.ordered:
        assert repr(sampled.collect()) == repr(found)


def check_unpersist(rdd: Rdd, plain: Plain) -> None:
    rdd.unpersist()


def is_pairs(plain: Plain) -> bool:
    return plain.is_pairs


few = st.tuples(st.integers(0, 12))
yes_or_no = st.tuples(st.booleans())

ACTIONS: dict[str, Action] = {
    "collect": Action(check_collect),
    "count": Action(check_count),
    "reduce": Action(check_reduce, yes_or_no),
    "fold": Action(check_fold),
    "aggregate": Action(check_aggregate, yes_or_no),
    "take": Action(check_take, few),
    "first": Action(check_first),
    "ends": Action(check_ends, few, needs_partitions=True),
    "extremes": Action(check_extremes),
    "numbers": Action(check_numbers, needs_partitions=True),
    "countByKey": Action(check_count_by_key, suits=is_pairs, needs_partitions=True),
    "countByValue": Action(check_count_by_value, needs_partitions=True),
    "lookup": Action(check_lookup, few, suits=is_pairs, needs_partitions=True),
    "collectAsMap": Action(check_map, suits=is_pairs),
    "foreach": Action(check_foreach),
    "toLocalIterator": Action(check_iterator, yes_or_no),
    "givenUpIterator": Action(check_given_up_iterator, few),
    "sample": Action(check_sample, st.tuples(st.sampled_from([0.0, 0.4, 1.0]))),
    "unpersist": Action(check_unpersist),
}
