"""What is consumed by reading is found wherever it lies in rows, and nothing else is."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyrite.blocks.consumed import ConsumedValues
from pyrite.resultiterable import ResultIterable

Point = namedtuple("Point", "x y")


class Countdown:
    def __init__(self, left: int) -> None:
        self.left = left

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


class Tagged(list[Any]):
    """A list with attributes."""


class Extended(tuple[Any, ...]):
    """A tuple that hides what it holds."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def numbers() -> Iterator[int]:
    yield 1


async def promise() -> int:
    return 1


async def stream() -> Any:
    yield 1


ITERATORS: dict[str, Callable[[], Any]] = {
    "map": lambda: map(str, [1]),
    "zip": lambda: zip([1], [2], strict=True),
    "filter": lambda: filter(None, [1]),
    "enumerate": lambda: enumerate([1]),
    "reversed": lambda: reversed([1]),
    "list iterator": lambda: iter([1]),
    "dict iterator": lambda: iter({1: 2}.items()),
    "call iterator": lambda: iter(int, 1),
    "generator": numbers,
    "generator expression": lambda: (each for each in [1]),
    "islice": lambda: itertools.islice([1], 1),
    "groupby": lambda: itertools.groupby([1]),
    "tee": lambda: itertools.tee([1])[0],
    "own class": lambda: Countdown(1),
    "text file": lambda: open("/dev/null"),  # noqa: SIM115 - closed by the test
    "binary file": lambda: open("/dev/null", "rb"),  # noqa: SIM115 - closed by the test
    "lines in memory": lambda: io.StringIO("a"),
    "csv reader": lambda: csv.reader(["a"]),
    "coroutine": promise,
    "async generator": stream,
}
HOLDERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda it: it,
    "tuple": lambda it: (1, it),
    "list": lambda it: [1, it],
    "list of many": lambda it: [*range(100), it],
    "value": lambda it: {"a": it},
    "key": lambda it: {it: 1},
    "set": lambda it: {it, 1},
    "frozenset": lambda it: frozenset([it]),
    "named tuple": lambda it: Point(1, it),
    "group": lambda it: (1, ResultIterable([it])),
    "cogroup": lambda it: (1, (ResultIterable(), ResultIterable([1, it]))),
    "object": lambda it: SimpleNamespace(held=it),
    "slots": lambda it: Slotted([it]),
    "attribute of a list": lambda it: with_attribute(Tagged([1]), it),
    "hidden in a tuple": lambda it: Extended([it]),
    "deque": lambda it: deque([it]),
    "default dict": lambda it: defaultdict(list, {1: [it]}),
    "ordered dict": lambda it: OrderedDict({1: it}),
    "object array": lambda it: np.array([[1, it], [2, 3]], dtype=object),
    "closure": lambda it: lambda: it,
    "default argument": lambda it: lambda value=it: value,
    "partial": lambda it: partial(print, it),
    "bound method": lambda it: SimpleNamespace(held=it).__eq__,
    "deep": lambda it: (1, [{"a": (2, [Slotted(Point({3: [[[it]]]}, 4))])}]),
    "knot": lambda it: knot(it),
    "exception": lambda it: ValueError("no", it),
    "slice": lambda it: slice(it),
}


def with_attribute(value: Any, held: Any) -> Any:
    value.held = held
    return value


def knot(held: Any) -> Any:
    loop: list[Any] = []
    loop += [loop, (loop, {"held": [held]})]
    return loop


def is_found(rows: list[Any]) -> bool:
    return ConsumedValues().find(rows) is not None


@pytest.mark.parametrize("held", HOLDERS)
@pytest.mark.parametrize("iterator", ITERATORS)
def test_iterators_are_found_among_rows_without(iterator: str, held: str) -> None:
    made = ITERATORS[iterator]()
    try:
        one = HOLDERS[held](made)
        alike = [HOLDERS[held](each) for each in range(300)]
        assert not is_found(alike)
        assert is_found([one])
        assert is_found([*alike, one])
        assert is_found([one, *alike])
    finally:
        if hasattr(made, "close"):
            made.close()


@pytest.mark.parametrize(
    "row",
    [
        *(1, 1.5, "a", b"a", None, True, 2j, range(3), slice(1), ..., int, Countdown, len, csv),
        *((1, 2), [1], {1: 2}, {1}, frozenset([1]), bytearray(b"a"), memoryview(b"a")),
        *(datetime(2020, 1, 1), np.float64(1), np.zeros(3), np.array([1, "a"], dtype=object)),
        *(ResultIterable([1]), defaultdict(list), deque([1]), numbers, lambda: 1),
        *(asyncio.Queue, ValueError("no"), SimpleNamespace(a=1), Slotted(Point(1, [2])), knot(1)),
    ],
    ids=lambda row: type(row).__name__,
)
def test_what_can_be_read_again_is_not(row: Any) -> None:
    assert not is_found([row] * 100)
    assert not is_found([(1, row), [row], {"a": row}])


def test_what_rows_share_is_looked_at_once() -> None:
    """If not, this would look at a billion values and never end."""
    shared: Any = list(range(1000))
    for _ in range(3):
        shared = [shared] * 1000
    consumed = ConsumedValues()
    for _ in range(3):
        assert consumed.find([(each, shared) for each in range(4096)]) is None
        assert consumed.find([shared] * 4096) is None
    assert consumed.find([(1, shared), [map(str, shared)]]) is map


def test_rows_of_one_partition_are_looked_at_chunk_by_chunk() -> None:
    consumed = ConsumedValues()
    held = []
    for _ in range(40):
        held.append([(each, [[{"a": each}]] * 20) for each in range(1000)])
        assert consumed.find(held[-1]) is None
    assert consumed.find([(1, [[{"a": iter([1])}]])]) is type(iter([]))
