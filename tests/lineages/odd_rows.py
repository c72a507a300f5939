"""Rows of all kinds of values, in batches beyond every limit of the codec."""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@dataclass(frozen=True)
class Boxed:
    """A value that can't be a key or be ordered, by a text that can; it checks itself."""

    text: str
    value: Any = field(compare=False, hash=False, repr=False)

    def __post_init__(self) -> None:
        self.check()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.check()

    def check(self) -> None:
        """The value is what the text says, and what it holds twice is one object."""
        kind, number = self.text.split()
        assert is_boxed(self.value, kind, int(number)), f"{self.text} has become {self.value!r}"


def two(value: Any) -> dict[str, Any]:
    return {"a": value, "b": value}


# Within a box: a value from a number, that holds something twice where it can.
BOXED: dict[str, Callable[[int], Any]] = {
    "list": lambda i: [[i]] * 2,
    "dict": lambda i: two([i]),
    "set": lambda i: {i, "a"},
    "bytearray": lambda i: bytearray(b"%d" % i),
    "slice": lambda i: slice(i),
    "deque": lambda i: deque([[i]] * 2),
    "ordered": lambda i: OrderedDict(two([i])),
    "default": lambda i: defaultdict(list, two([i])),
    "exception": lambda i: ValueError("no", i),
    "array": lambda i: np.arange(i % 7),
    "objects": lambda i: np.array([i, "a"], dtype=object),
    "iterator": lambda i: iter([i]),
    "map": lambda i: map(str, [i]),
    # Beyond 64 KB, 256 KB and 1 MB.
    "long": lambda i: bytearray(i % 3 * 70_000),
    "longer": lambda i: np.full(i % 2 * 40_000, i),
    "longest": lambda i: np.full((i % 100 == 0) * 140_000, i),
}


def is_boxed(value: Any, kind: str, number: int) -> bool:
    expected = BOXED[kind](number)
    if type(value) is not type(expected):
        return False
    match kind:
        case "list" | "deque":
            return bool(value == expected) and value[0] is value[1]
        case "dict" | "ordered" | "default":
            return bool(value == expected) and value["a"] is value["b"]
        case "exception" | "slice":
            return repr(value) == repr(expected)
        case "array" | "objects" | "longer" | "longest":
            return value.dtype == expected.dtype and value.tolist() == expected.tolist()
        case "iterator":
            return bool(value.__length_hint__() == 1)
        case "map":
            return True
    return bool(value == expected)


# None equals one of another kind, nor a value that other sources have.
KINDS: tuple[Callable[[int], Any], ...] = (
    lambda i: frozenset([f"f{i}"]),
    lambda i: frozenset([frozenset([i + 0.5])]),
    lambda i: complex(i, 1),
    lambda i: range(i, i + 3),
    lambda i: tuple(Colour)[i % 2],
    lambda i: date(2000, 1, 1) + timedelta(i),
    lambda i: datetime(2000, 1, 1, 1) + timedelta(hours=i),
    lambda i: timedelta(i),
    lambda i: Decimal(i) + Decimal("0.3"),
    lambda i: Fraction(3 * i + 1, 3),
    lambda i: PurePosixPath("/tmp", str(i)),
    lambda i: UUID(int=i),
    lambda i: np.int64(i),
    lambda i: np.float32(i + 0.5),
    lambda i: np.str_(f"s{i}"),
    lambda i: Point(i, f"p{i}"),
    *(
        lambda i, kind=kind: Boxed(f"{kind} {i}", BOXED[kind](i))  # type: ignore[misc]
        for kind in BOXED
    ),
)


def odd_rows(count: int) -> list[tuple[Any, Any]]:
    """So many pairs; keys and values come again, long ones seldom."""
    return [
        (KINDS[i % 16](i % 5), KINDS[i * 7 % len(KINDS)](i % (count // 2 + 1)))
        for i in range(count)
    ]
