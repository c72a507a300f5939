"""Which stages can have a heavy reducer divided, and where its pieces come together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyrite import SparkContext
from pyrite.plan.dividing import Divisible, divide
from pyrite.plan.program import NarrowInput, Program, flatten
from pyrite.rdd.dependency import SAME
from pyrite.rdd.functions import gather
from pyrite.rdd.narrow import SortLocally
from pyrite.rdd.wide import Combined, Joined


@pytest.fixture(scope="module")
def pairs() -> Any:
    with SparkContext("local[1]", "dividing") as sc:
        yield sc.parallelize([(1, 2), (3, 4)], 2)


def program_of(rdd: Any) -> Program:
    program, _ = flatten(rdd.ctx._engine.freezer.copy(rdd, gather))
    return program


def divisible(rdd: Any) -> tuple[Divisible, Any] | None:
    """Where it is divided, and the last operator that pieces do."""
    program = program_of(rdd)
    found = divide(program)
    return None if found is None else (found, program.ops(found.place)[-1])


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
    program = program_of(pairs.join(pairs).mapValues(sum).filter(bool).mapPartitions(list))
    found = divide(program)
    assert found is not None
    assert [op.name for op in program.ops(found.place)] == ["join", "mapValues", "filter"]
    assert [op.name for op in program.ops(found.place + 1)] == ["mapPartitions"]
    assert program.steps[-1].inputs == (NarrowInput(found.place, SAME),)


def test_a_node_that_is_cut_in_two_stays_the_rdd_that_it_was(pairs: Any) -> None:
    reduced = pairs.reduceByKey(max).map(repr).setName("frozen")
    program, _ = flatten(reduced.ctx._engine.freezer.copy_of_frozen(reduced, gather))
    before = program.steps[-1]
    assert before.rdd == reduced._id
    assert divide(program) == Divisible(0, reduced.dependencies[0].rdd.dependencies[0].shuffle)
    assert [[op.name for op in program.ops(place)] for place in (0, 1)] == [["combined"], ["map"]]
    assert [node.rdd for node in program.steps] == [None, reduced._id]
    assert program.steps[0].inputs == before.inputs


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
    program = program_of(joined)
    assert len(program.steps[-1].inputs) == 2
    assert len([each for node in program.steps for each in node.inputs]) == 4
    assert divisible(joined) is None


def both_ways(rdd: Any) -> Any:
    return rdd.map(repr).union(rdd.map(str))


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
        lambda rdd: both_ways(rdd.join(rdd)),
    ],
)
def test_others_can_not(pairs: Any, make: Callable[[Any], Any]) -> None:
    assert divisible(make(pairs)) is None
