"""Operators that read a shuffle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from pyrite.bounded.aggregate import Aggregator, combine_combiners
from pyrite.bounded.join import (
    Join,
    join,
    left_outer_join,
    right_outer_join,
    subtract_by_key,
)
from pyrite.bounded.traced import cogroup_sides, combine_frames, group_frames, join_sides
from pyrite.rdd.op import DivisionRule, Env, Input, Op


class Shuffled(Op):
    """The rows as they come out of the shuffle."""

    name = "shuffled"
    division = DivisionRule(passes_on=True)

    def __init__(self, count: int) -> None:
        self.count = count

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return inputs[0].chain().last_rows()

    def partitions(self) -> int:
        return self.count


class Combined(Op):
    """One (key, combiner) per key, from combiners made on the map side."""

    name = "combined"
    pipelined = True
    order_varies = True
    division = DivisionRule()

    def __init__(self, aggregator: Aggregator[Any, Any]) -> None:
        self.aggregator = aggregator

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return combine_frames(inputs[0].frames(), self.aggregator, env.space, env.tracing)

    def merge(self, pieces: list[Iterator[Any]], env: Env) -> Iterator[Any]:
        return combine_combiners([chain.from_iterable(pieces)], self.aggregator, env.space)


class Grouped(Op):
    """One (key, values) per key, from lists made on the map side."""

    name = "grouped"
    pipelined = True
    order_varies = True

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return group_frames(inputs[0].frames(), env.space, env.tracing)


# Each row of one side is looked up in all of the other: that side can be divided.
DIVIDED_SIDE: dict[Join, int] = {
    join: 0,
    left_outer_join: 0,
    subtract_by_key: 0,
    right_outer_join: 1,
}


class Joined(Op):
    """The rows of two parents brought together by key, as the kind of join says."""

    pipelined = True
    order_varies = True

    def __init__(self, count: int, name: str, how: Join) -> None:
        self.count = count
        self.name = name
        self.how = how
        side = DIVIDED_SIDE.get(how)
        self.division = None if side is None else DivisionRule(input=side)

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        left, right = inputs
        return join_sides(self.how, left, right, env.space, env.tracing)

    def partitions(self) -> int:
        return self.count


class CoGrouped(Op):
    """For each key of any parent, the values it has in each of them."""

    name = "cogroup"
    pipelined = True
    order_varies = True

    def __init__(self, count: int) -> None:
        self.count = count

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return cogroup_sides(inputs, env.space, env.tracing)

    def partitions(self) -> int:
        return self.count
