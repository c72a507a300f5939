"""Values of many kinds that can be keys, for the rows of random lineages.

No NaN is among them: whether one equals itself depends on whether it was sent. A set has one
element, since the order in which it shows several is not always the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple


class Color(Enum):
    RED = "r"
    BLUE = "b"

    def __repr__(self) -> str:
        return f"Color.{self.name}"


class Level(IntEnum):
    LOW = 1
    HIGH = 2

    def __repr__(self) -> str:
        return f"Level.{self.name}"


@dataclass(frozen=True)
class Frozen:
    x: Any


class Pair(NamedTuple):
    left: Any
    right: Any


NOON = datetime(2020, 2, 29, 12, tzinfo=UTC)

# Equal ones among them, and with plain numbers and tuples, differ in type.
ODD_ATOMS: tuple[Any, ...] = (
    *(inf, -inf, -0.0, 5e-324, Decimal("1.00"), Decimal("0.1"), Decimal("-0"), Fraction(1, 3)),
    *(Fraction(4, 2), "\ud800", "\x00", "e\u0301", "\n", b"\xff\n", ()),
    *(frozenset(), frozenset([1]), frozenset([True]), frozenset([("a",)]), (frozenset(), ())),
    *(NOON, NOON.astimezone(timezone(timedelta(hours=2))), datetime(1, 1, 2, tzinfo=UTC)),
    *(Color.RED, Color.BLUE, Level.LOW, Level.HIGH, Frozen(1), Frozen(1.0), Frozen((None,))),
    *(Pair(1, True), Pair("a", ()), Pair(None, Pair(1, 1))),
)
