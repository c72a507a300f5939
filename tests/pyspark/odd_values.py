"""Rows that a stranger may have: each table entry makes a few of one kind, some of them equal."""

import datetime as dt
import re
from array import array
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from functools import partial, total_ordering
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.pyspark.raised import Oops

NAN = float("nan")
INF = float("inf")
PARIS = dt.timezone(dt.timedelta(hours=2), "Paris")


class Color(Enum):
    RED = "r"
    BLUE = "b"
    CRIMSON = "r"  # noqa: PIE796


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Right(Flag):
    READ = 1
    WRITE = 2


@dataclass
class Point:
    x: Any
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, order=True)
class Frozen:
    x: int
    name: str = ""


Pair = namedtuple("Pair", "left right")


class Slots:
    __slots__ = ("left", "right")

    def __init__(self, left: Any) -> None:
        self.left = left


@total_ordering
class Caseless:
    """Equal, and ordered, whatever the case of its letters."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Caseless) and self.text.lower() == other.text.lower()

    def __hash__(self) -> int:
        return sum(self.text.lower().encode())

    def __lt__(self, other: "Caseless") -> bool:
        return self.text.lower() < other.text.lower()


class Collides:
    """All hash alike and none are equal but by number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collides) and self.number == other.number

    def __hash__(self) -> int:
        return -1


class Text(str):
    """A string with something more."""

    def __new__(cls, text: str, more: int = 0) -> "Text":
        made = super().__new__(cls, text)
        made.more = more  # type: ignore[attr-defined]
        return made


class Count(int):
    pass


class Row(list):  # type: ignore[type-arg]
    pass


class ReducesToText:
    """Comes back as another type than it went."""

    def __reduce__(self) -> tuple[Any, ...]:
        return str, ("reduced",)


class Singleton:
    """Comes back as the one that is already there."""

    def __reduce__(self) -> str:
        return "THE_ONE"


THE_ONE = Singleton()


class WithState:
    def __init__(self) -> None:
        self.kept, self.dropped = 1, 2

    def __getstate__(self) -> dict[str, int]:
        return {"kept": self.kept}


class NoEquality:
    def __eq__(self, other: object) -> bool:
        raise Oops("not compared")

    def __hash__(self) -> int:
        return 7


class NoHash:
    def __hash__(self) -> int:
        raise Oops("not hashed")


class NoPickle:
    def __reduce__(self) -> str:
        raise Oops("not pickled")


class NoUnpickle:
    def __reduce__(self) -> tuple[Any, ...]:
        return fail, ("not unpickled",)


class NoTruth:
    def __bool__(self) -> bool:
        raise Oops("neither true nor false")


class NoRepr:
    def __repr__(self) -> str:
        raise Oops("not shown")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoRepr)

    def __hash__(self) -> int:
        return 3


def fail(message: str) -> None:
    raise Oops(message)


def cyclic() -> list[Any]:
    row: list[Any] = [1]
    row.append(row)
    return row


def nested(depth: int) -> Any:
    row: Any = ()
    for _ in range(depth):
        row = (row,)
    return row


def plus(left: Any, right: Any) -> Any:
    return left + right


# Plain and scalar
SCALARS = {
    "nones": lambda: [None, None, None, None],
    "equal_numbers": lambda: [True, 1, 1.0, 0, False, 0.0, 1 + 0j, Decimal(1)],
    "nans": lambda: [NAN, 1.0, NAN, float("nan"), 0.0],
    "zeros": lambda: [0.0, -0.0, 0, -0.0, False],
    "infinities": lambda: [INF, -INF, 1e308, INF, 5e-324],
    "huge": lambda: [2**70, -(2**70), 2**63, 2**63 - 1, 2**31, 2**70, -(2**63) - 1],
    "strings": lambda: ["", "a", "", "\x00", "\n", "\r\n", "é", "e\u0301", "😀"],
    "surrogates": lambda: ["\ud800", "\udfff", "a\ud800", "\ud800"],
    "bytes": lambda: [b"", b"a", b"\x00\xff", b"a"],
    "bytearrays": lambda: [bytearray(b"a"), bytearray(), bytearray(b"a")],
    "complex": lambda: [1j, 0j, 1j, complex(NAN, 0), complex(-0.0, 1)],
    "decimals": lambda: [Decimal("1.10"), Decimal("1.1"), Decimal("-0"), Decimal("Infinity")],
    "fractions": lambda: [Fraction(1, 3), Fraction(2, 6), Fraction(3, 1), 3],
    "datetimes": lambda: [
        dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC),
        dt.datetime(2020, 2, 29, 14, tzinfo=PARIS),
        dt.datetime(1, 1, 1, fold=1, tzinfo=PARIS),
        dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC),
    ],
    "dates": lambda: [dt.date.max, dt.date.min, dt.date(2020, 2, 29), dt.date.max],
    "mixed": lambda: [1, "1", None, (1,), 1.5, b"1", ...],
    "numpy_scalars": lambda: [
        np.float64(1.5),
        np.int8(-1),
        np.bool_(True),
        np.str_("a"),
        np.int8(-1),
    ],
}
# Containers
CONTAINERS = {
    "tuples": lambda: [(), (1, (2, (3,))), ((),), (), (1, (2, (3,))), (NAN,)],
    "lists": lambda: [[], [1, [2, [3]]], [[]], [], [None]],
    "dicts": lambda: [{}, {"a": {"b": [1]}}, {1: 1, 1.5: 2}, {}, {(): None}],
    "sets": lambda: [set(), {1, 2}, {"a", None}, {2, 1}, {frozenset()}],
    "frozensets": lambda: [
        frozenset(),
        frozenset("ab"),
        frozenset([frozenset("ba")]),
        frozenset("ba"),
    ],
    "deep": lambda: [nested(200), nested(199), nested(200)],
    "cycles": lambda: [cyclic(), [1, [1]]],
    "ranges": lambda: [range(0), range(5), range(0, 5, 1), range(5, 0, -2), range(1, 1)],
    "slices": lambda: [slice(None), slice(1, 2, 3), slice("a", "b"), slice(None)],
    "counters": lambda: [Counter("aab"), Counter(), Counter(a=0), Counter("aba")],
    "dict_kinds": lambda: [
        defaultdict(list, {1: [1]}),
        OrderedDict(b=1, a=2),
        OrderedDict(a=2, b=1),
    ],
    "deques": lambda: [deque("abc", 2), deque(), deque([deque()]), deque("bc")],
    "numpy_arrays": lambda: [
        np.arange(3),
        np.zeros((2, 0)),
        np.array(["a", None]),
        array("d", [NAN]),
    ],
    "list_iterators": lambda: [iter([1, 2]), iter([]), iter([1, 2])],
    "maps": lambda: [map(str, [1, 2]), zip("ab", [1, 2], strict=False), enumerate("a")],
}
# Users' classes, and what lives in modules
OBJECTS = {
    "enums": lambda: [Color.RED, Color.BLUE, Color.CRIMSON, Color.RED],
    "int_enums": lambda: [Level.LOW, Level.HIGH, 1, 2, Right.READ | Right.WRITE],
    "dataclasses": lambda: [Point(1), Point(1, ["a"]), Point(Point(None)), Point(1)],
    "frozen_dataclasses": lambda: [Frozen(2), Frozen(1, "b"), Frozen(1, "a"), Frozen(2)],
    "namedtuples": lambda: [Pair(1, 2), Pair(None, ()), Pair(1, 2), (1, 2)],
    "slots": lambda: [Slots(1), Slots([Slots(None)])],
    "caseless": lambda: [Caseless("a"), Caseless("A"), Caseless("B"), Caseless("b"), Caseless("")],
    "collisions": lambda: [Collides(n) for n in (1, 2, 3, 1, 2, 1)],
    "subclasses": lambda: [Text("a", 1), Text("a", 2), Count(1), Row([1]), "a", 1],
    "exceptions": lambda: [ValueError("x"), KeyError(1, 2), Oops("kept"), OSError(2, "no", "f")],
    "paths": lambda: [
        PurePosixPath("a/b"),
        PurePosixPath("/"),
        PurePosixPath("a//b"),
        PurePosixPath(),
    ],
    "functions": lambda: [plus, len, str.upper, partial(plus, 1)],
    "lambdas": lambda: [lambda x: x + 1, lambda: None],
    "classes": lambda: [int, Frozen, type(None), int, Frozen],
    "reduced": lambda: [ReducesToText(), "reduced", WithState()],
    "singletons": lambda: [THE_ONE, THE_ONE, SimpleNamespace(a=1), re.compile("a+", re.I)],
    "no_equality": lambda: [NoEquality(), NoEquality(), NoEquality()],
    "no_hash": lambda: [NoHash(), NoHash()],
    "no_truth": lambda: [NoTruth(), NoTruth()],
    "no_repr": lambda: [NoRepr(), NoRepr()],
}
# What can't be sent
UNSENDABLE = {
    "generators": lambda: [(n for n in [1]), 1],
    "memoryviews": lambda: [memoryview(b"ab"), 1],
    "no_pickle": lambda: [NoPickle(), 1],
    "no_unpickle": lambda: [NoUnpickle(), 1],
}
VALUES = {**SCALARS, **CONTAINERS, **OBJECTS, **UNSENDABLE}
