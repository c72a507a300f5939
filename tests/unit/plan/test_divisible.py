"""Which stages can have a heavy reducer divided, and where its pieces come together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyrite import SparkContext
from pyrite.plan.dividing import Divisible, find_divisible
from pyrite.plan.program import flatten
from pyrite.rdd.narrow import SortLocally
from pyrite.rdd.wide import Combined, Joined


@pytest.fixture(scope="module")
def pairs() -> Any:
    with SparkContext("local[1]", "dividing") as sc:
        yield sc.parallelize([(1, 2), (3, 4)], 2)


def divisible(rdd: Any) -> tuple[Divisible, Any] | None:
    program, _ = flatten(rdd)
    found = find_divisible(program)
    return None if found is None else (found, program.ops[found.place])


@pytest.mark.parametrize(
    ("make", "op"),
    [
        (lambda rdd: rdd.reduceByKey(max), Combined),
        (lambda rdd: rdd.reduceByKey(max).mapValues(str).filter(bool), Combined),
        (lambda rdd: rdd.combineByKey(str, str, str).map(repr), Combined),
        (lambda rdd: rdd.sortByKey(numPartitions=2), SortLocally),
        (lambda rdd: rdd.sortBy(repr, numPartitions=2).map(repr), SortLocally),
        (lambda rdd: rdd.repartitionAndSortWithinPartitions(2), SortLocally),
        (lambda rdd: rdd.join(rdd), Joined),
        (lambda rdd: rdd.leftOuterJoin(rdd).mapPartitions(list), Joined),
        (lambda rdd: rdd.subtractByKey(rdd), Joined),
    ],
)
def test_sorts_joins_and_combiners_can(pairs: Any, make: Callable[[Any], Any], op: type) -> None:
    found = divisible(make(pairs))
    assert found is not None and type(found[1]) is op


def test_what_is_made_of_joined_rows_one_by_one_is_done_by_the_pieces(pairs: Any) -> None:
    joined = pairs.join(pairs).mapValues(sum).filter(bool)
    found = divisible(joined.mapPartitions(list))
    assert found is not None
    program, _ = flatten(joined.mapPartitions(list))
    assert program.nodes[found[0].place].rdd == joined._id


@pytest.mark.parametrize(
    ("join", "side"), [("join", 0), ("leftOuterJoin", 0), ("rightOuterJoin", 1)]
)
def test_joins_are_divided_along_the_side_that_looks_up(pairs: Any, join: str, side: int) -> None:
    joined = getattr(pairs, join)(pairs.mapValues(str))
    found = divisible(joined)
    assert found is not None and found[0].shuffle == joined.dependencies[side].shuffle


@pytest.mark.parametrize("join", ["join", "leftOuterJoin", "rightOuterJoin", "subtractByKey"])
@pytest.mark.parametrize("side", [0, 1])
def test_what_pieces_would_compute_again_is_not_divided(pairs: Any, join: str, side: int) -> None:
    lies_so = pairs.partitionBy(2).mapValues(str)
    left, right = (lies_so, pairs) if side == 0 else (pairs, lies_so)
    joined = getattr(left, join)(right, 2)
    program, shuffles = flatten(joined)
    assert len(program.nodes[-1].inputs) == 2 and len(shuffles) == 2
    assert divisible(joined) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda rdd: rdd.map(repr),
        lambda rdd: rdd.groupByKey(),
        lambda rdd: rdd.fullOuterJoin(rdd),
        lambda rdd: rdd.cogroup(rdd),
        lambda rdd: rdd.partitionBy(2),
        lambda rdd: rdd.partitionBy(2).mapPartitions(list),
        lambda rdd: rdd.reduceByKey(max, 4).coalesce(2),
        lambda rdd: rdd.reduceByKey(max).union(rdd),
        lambda rdd: rdd.reduceByKey(max).cartesian(rdd),
    ],
)
def test_others_can_not(pairs: Any, make: Callable[[Any], Any]) -> None:
    assert divisible(make(pairs)) is None
