"""What operators and actions do with one partition, as functions that pickle by name.

A lambda inside the package would travel by value with every job; these cost a few bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import reduce
from itertools import chain, count, islice, repeat
from operator import itemgetter, length_hint
from typing import Any

from pyrite.rdd.streamed import Streamed

KEY = itemgetter(0)

ATOMS = (type(None), bool, int, float, complex, str, bytes)
SIZED: tuple[type, ...] = (type(iter([])), type(iter(range(0))), type(iter(())))


class IgnoreIndex:
    """Makes a function of the rows one of (partition index, rows)."""

    def __init__(self, function: Callable[[Iterator[Any]], Iterable[Any]]) -> None:
        self.function = function

    def __call__(self, index: int, rows: Iterator[Any]) -> Iterable[Any]:
        return self.function(rows)


class Constant:
    """Gives each row a fixed companion: x to (x, value)."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, row: Any) -> tuple[Any, Any]:
        return (row, self.value)


class Zero:
    """A fresh copy of a start value at each call, so that no two keys share a mutable one."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.is_atom = type(value) in ATOMS

    def __call__(self) -> Any:
        return self.value if self.is_atom else deepcopy(self.value)


class FromZero:
    """The first combiner of a key: a fresh zero merged with the first value."""

    def __init__(self, zero: Zero, merge: Callable[[Any, Any], Any]) -> None:
        self.zero = zero
        self.merge = merge

    def __call__(self, value: Any) -> Any:
        return self.merge(self.zero(), value)


class OnKey:
    """A function of the key, applied to a (key, value) row."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, row: Any) -> Any:
        return self.function(row[0])


def identity(value: Any) -> Any:
    return value


def first_of(left: Any, right: Any) -> Any:
    return left


def gather(index: int, rows: Iterator[Any]) -> Streamed:
    return Streamed(rows)


def gather_as_one_row(index: int, rows: Iterator[Any]) -> list[list[Any]]:
    return [list(rows)]


def count_rows(index: int, rows: Iterator[Any]) -> int:
    """How many rows there are, without a step of Python for each."""
    if type(rows) in SIZED:
        return length_hint(rows)
    counter = count()
    # zip asks the rows first, so the counter stands at their number when they end.
    deque(zip(rows, counter, strict=False), maxlen=0)
    return next(counter)


def take_rows(number: int, index: int, rows: Iterator[Any]) -> Streamed:
    return Streamed(islice(rows, number))


def reduce_rows(function: Callable[[Any, Any], Any], index: int, rows: Iterator[Any]) -> list[Any]:
    """The reduced rows in a list, which is empty where there are none."""
    for first in rows:
        return [reduce(function, rows, first)]
    return []


def fold_rows(
    zero: Any, function: Callable[[Any, Any], Any], index: int, rows: Iterator[Any]
) -> Any:
    # Tasks of one executor share the closure: each folds into a zero of its own.
    return reduce(function, rows, Zero(zero)())


def reduce_as_row(
    function: Callable[[Any, Any], Any], index: int, rows: Iterator[Any]
) -> list[list[Any]]:
    return [reduce_rows(function, index, rows)]


def fold_as_row(
    zero: Any, function: Callable[[Any, Any], Any], index: int, rows: Iterator[Any]
) -> list[Any]:
    return [fold_rows(zero, function, index, rows)]


class MergeOptional:
    """Merges lists of at most one row, by a function of two rows."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def __call__(self, left: list[Any], right: list[Any]) -> list[Any]:
        if left and right:
            return [self.function(left[0], right[0])]
        return left or right


def extreme_row(
    choose: Callable[..., Any],
    key: Callable[[Any], Any] | None,
    index: int,
    rows: Iterator[Any],
) -> list[Any]:
    """The row that `max` or `min` chooses, in a list, which is empty where there are none."""
    for first in rows:
        return [choose(chain((first,), rows), key=key)]
    return []


def sum_rows(index: int, rows: Iterator[Any]) -> Any:
    return sum(rows)


def reduce_by_key(
    function: Callable[[Any, Any], Any], index: int, rows: Iterable[tuple[Any, Any]]
) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in rows:
        found[key] = function(found[key], value) if key in found else value
    return found


def call_each(function: Callable[[Any], Any], index: int, rows: Iterator[Any]) -> None:
    for row in rows:
        function(row)


def call_once(function: Callable[[Iterator[Any]], Any], index: int, rows: Iterator[Any]) -> None:
    """Calls the function and, where it is a generator or gives an iterable, runs it to its end."""
    answer = function(rows)
    if answer is None:
        return
    try:
        remaining = iter(answer)
    except TypeError:
        return
    deque(remaining, maxlen=0)


def deal_to_parents(partitions: int, index: int, rows: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """Keys a partition's rows by the partition that merges them one level up the tree."""
    return zip(repeat(index % partitions), rows, strict=False)


def values_where_key(key: Any, index: int, rows: Iterable[tuple[Any, Any]]) -> Streamed:
    return Streamed(row[1] for row in rows if row[0] == key)
