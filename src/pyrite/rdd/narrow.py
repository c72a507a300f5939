"""Operators that need only their own parent partitions."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, product
from typing import Any

from pyrite.bounded.aggregate import Aggregator, count_values
from pyrite.bounded.group import popped
from pyrite.bounded.sort import first_rows, sort_rows
from pyrite.bounded.traced import combine_chain, group_chain
from pyrite.machine.chain import named_step, verdict_on
from pyrite.rdd.dependency import UnionIndex
from pyrite.rdd.functions import KEY
from pyrite.rdd.fuse import run_steps
from pyrite.rdd.op import DivisionRule, Env, Input, Op, Sliced


class RecordOp(Op):
    """An operator on single rows, such as map; chains of them are fused into one loop."""

    pipelined = True

    def __init__(self, kind: str, function: Callable[..., Any] | None = None) -> None:
        self.kind = kind
        self.function = function

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.kind

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return run_steps(inputs[0].rows(), [(self.kind, self.function)])

    def verdict(self, said: Sequence[str]) -> str:
        return verdict_on(named_step(self.kind, self.function), said)


class PartitionOp(Op):
    """A user's function of (partition index, rows) that gives an iterable."""

    pipelined = True
    name = "mapPartitions"

    def __init__(
        self, function: Callable[[int, Iterator[Any]], Iterable[Any]], name: str = "mapPartitions"
    ) -> None:
        self.function = function
        self.name = name

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return iter(self.function(index, inputs[0].rows()))


class Numbered(Sliced):
    """Pairs the rows with numbers, from each partition's start on."""

    pipelined = True

    def __init__(self, name: str, starts: Sequence[int], step: int) -> None:
        self.name = name
        self.slices = starts
        self.step = step

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return zip(inputs[0].rows(), count(self.slices[index], self.step), strict=False)


class CombineLocally(Op):
    """The map side of an aggregation: one combiner per key of the partition."""

    pipelined = True
    name = "combineLocally"
    order_varies = True

    def __init__(self, aggregator: Aggregator[Any, Any]) -> None:
        self.aggregator = aggregator

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return combine_chain(inputs[0].chain(), self.aggregator, env.space)


class CountLocally(Op):
    """How often each row of the partition occurs, or each row's key."""

    pipelined = True
    name = "countLocally"
    order_varies = True

    def __init__(self, by_key: bool = False) -> None:
        self.by_key = by_key

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        rows = inputs[0].rows()
        return count_values(map(KEY, rows) if self.by_key else rows, env.space)


class DistinctLocally(Op):
    """The map side of distinct: (row, None), with few rows twice."""

    pipelined = True
    name = "distinctLocally"
    order_varies = True

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        weighed = env.space.weighed(inputs[0].rows())
        seen: dict[Any, None] = {}
        while some := weighed.take(env.space.stride_rows):
            seen.update(dict.fromkeys(some))
            if env.space.over():
                yield from popped(seen)
                env.space.relieved()
        yield from seen.items()


class GroupLocally(Op):
    """The map side of a grouping: (key, list of values)."""

    pipelined = True
    name = "groupLocally"
    order_varies = True

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return group_chain(inputs[0].chain(), env.space)


class SortLocally(Op):
    """Sorts each partition on its own, on disk where it does not fit in memory."""

    pipelined = True
    name = "sortLocally"
    division = DivisionRule()

    def __init__(self, key: Callable[[Any], Any] | None, reverse: bool) -> None:
        self.key = key
        self.reverse = reverse

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return sort_rows(inputs[0].rows(), self.key, self.reverse, env.space, env.tracing)

    def merge(self, pieces: list[Iterator[Any]], env: Env) -> Iterator[Any]:
        # Rows that compare equal stay in the order of the pieces.
        return heapq.merge(*pieces, key=self.key, reverse=self.reverse)


class FirstLocally(Op):
    """The first rows of each partition in an order, on disk where they do not fit in memory."""

    pipelined = True
    name = "firstLocally"

    def __init__(self, number: int, key: Callable[[Any], Any] | None, reverse: bool) -> None:
        self.number = number
        self.key = key
        self.reverse = reverse

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return first_rows(inputs[0].rows(), self.number, self.key, self.reverse, env.space)


class Union(Op):
    """The partitions of all parents, one after another."""

    name = "union"

    def __init__(self, lengths: Sequence[int]) -> None:
        self.index = UnionIndex(lengths)

    def __getstate__(self) -> dict[str, Any]:
        # A node of the program has the index: tasks do not load all lengths.
        return {}

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return inputs[self.index.find(index)[0]].rows()

    def partitions(self) -> int:
        return self.index.total


class Concat(Op):
    """Partition i holds the rows of partition i of every parent: union of co-partitioned RDDs,
    and coalesce."""

    name = "concat"

    def __init__(self, count: int) -> None:
        self.count = count

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        return chain.from_iterable(each.rows() for each in inputs)

    def partitions(self) -> int:
        return self.count


class Zip(Op):
    """Pairs the rows of two parents, which must be equally many in each partition."""

    name = "zip"

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        left, right = inputs
        try:
            yield from zip(left.rows(), right.rows(), strict=True)
        except ValueError as error:
            # A function of the user's may call zip, too.
            is_own = error.__traceback__ is not None and error.__traceback__.tb_next is None
            if not is_own or "zip()" not in str(error):
                raise
            raise ValueError(
                "Can not deserialize PairRDD with different number of items in batches: "
                f"zip needs equally many rows on both sides, and partition {index} differs"
            ) from None


class Cartesian(Op):
    """Every row of the left with every row of the right."""

    name = "cartesian"

    def __init__(self, count: int) -> None:
        self.count = count

    def compute(self, index: int, inputs: list[Input], env: Env) -> Iterator[Any]:
        left, right = inputs
        for batch in left.batches():
            # The right side is read once per batch of the left, not once per row.
            for pairs in right.batches():
                yield from product(batch, pairs)

    def partitions(self) -> int:
        return self.count
