"""Whatever rows hold, they come back as the full pickler gives them, in batches of any size."""

from __future__ import annotations

import enum
import pickle
from array import array
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import PurePosixPath
from random import Random
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from alike import assert_alike

from pyrite.blocks.codec import MOST_ROWS, Encoder, decode, decode_frames, encode, frame_size
from pyrite.blocks.pickling import FEWEST_PLAIN_ROWS, pickle_plain

MANY = MOST_ROWS + 100
Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


class Bag:
    """Compared by what it holds; may refer to itself."""

    def __init__(self, *held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return f"Bag of {len(self.held)}"


# A value of each type from a number: mostly others, some equal ones.
KINDS: dict[str, Callable[[int], Any]] = {
    "None": lambda i: None,
    "bool": lambda i: i % 2 == 0,
    "int": lambda i: (i - 300) * 7 ** (i % 90),
    "float": lambda i: (0.0, -0.0, float("nan"), float("inf"), i / 7)[i % 5],
    "complex": lambda i: complex(i, -i),
    "str": lambda i: f"é{i}" * (i % 9),
    "surrogate": lambda i: f"\ud800{i}",
    "bytes": lambda i: b"%d" % i * (i % 9),
    "bytearray": lambda i: bytearray(b"%d" % i),
    "tuple": lambda i: tuple(range(i % 6)),
    "list": lambda i: list(range(i % 6)),
    "dict": lambda i: {each: str(i) for each in range(i % 4)},
    "set": lambda i: set(range(i % 5)),
    "frozenset": lambda i: frozenset(range(i % 5)),
    "range": lambda i: range(i, 2 * i, 3),
    "slice": lambda i: slice(i, None, 2),
    "ellipsis": lambda i: ...,
    "type": lambda i: (int, Bag, type(None))[i % 3],
    "function": lambda i: (len, pickle.dumps)[i % 2],
    "enum": lambda i: Colour.RED,
    "named tuple": lambda i: Point(i, [i]),
    "object": lambda i: Bag(i),
    "exception": lambda i: ValueError("no", i),
    "date": lambda i: date(2000, 1, 1) + timedelta(i),
    "datetime": lambda i: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(hours=i),
    "time": lambda i: time(i % 24, microsecond=i),
    "timedelta": lambda i: timedelta(i, -i),
    "decimal": lambda i: Decimal(i) / 7,
    "fraction": lambda i: Fraction(i, 7),
    "path": lambda i: PurePosixPath("/tmp", str(i)),
    "uuid": lambda i: UUID(int=i),
    "array": lambda i: array("i", range(i % 5)),
    "deque": lambda i: deque(range(i % 5)),
    "ordered dict": lambda i: OrderedDict({i: i}),
    "default dict": lambda i: defaultdict(int, {i: i}),
    "numpy scalar": lambda i: (np.int64, np.float32, np.str_)[i % 3](i),
    "numpy array": lambda i: np.arange(i % 4),
    "numpy view": lambda i: np.arange(12).reshape(3, 4)[:, :: i % 3 + 1],
    "object array": lambda i: np.array([i, "a", None], dtype=object),
    "pickle buffer": lambda i: pickle.PickleBuffer(b"%d" % i),
}
HASHABLE = ("None", "bool", "int", "complex", "str", "bytes", "frozenset", "enum", "decimal")


def full(rows: list[Any]) -> list[Any]:
    loaded: list[Any] = pickle.loads(pickle.dumps(rows, protocol=5))
    return loaded


def check(rows: list[Any]) -> None:
    """As a batch, as a result, and as rows of a map output, where frames share nothing."""
    assert_alike(decode(b"".join(encode(rows))), full(rows))
    if len(rows) < MANY:
        assert_alike(decode(b"".join(encode([rows]))), full([rows]))
    frames = list(decode_frames(b"".join(Encoder().encode_many(rows))))
    assert sum(map(len, frames)) == len(rows)
    assert_alike(frames[-1], full(rows[-len(frames[-1]) :]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, FEWEST_PLAIN_ROWS, MANY])
def test_rows_of_every_type(kind: str, count: int) -> None:
    values = [KINDS[kind](i) for i in range(count)]
    check(values)
    # One value in neighbouring rows, and twice in a row.
    check([(values[i // 3], i, (values[i // 3],)) for i in range(count)])


def some_value(dice: Random, pool: list[Any], depth: int) -> Any:
    """Nested, and with what others hold too."""
    if pool and dice.random() < 0.2:
        return dice.choice(pool)
    chance = dice.random()
    if depth == 0 or chance < 0.6:
        value = KINDS[dice.choice(list(KINDS))](dice.randrange(400))
    elif chance < 0.7:
        value = [some_value(dice, pool, depth - 1) for _ in range(dice.randrange(4))]
    elif chance < 0.8:
        value = tuple(some_value(dice, pool, depth - 1) for _ in range(dice.randrange(4)))
    elif chance < 0.9:
        keys = [KINDS[dice.choice(HASHABLE)](dice.randrange(99)) for _ in range(dice.randrange(4))]
        value = {key: some_value(dice, pool, depth - 1) for key in keys}
    else:
        value = Bag(some_value(dice, pool, depth - 1), some_value(dice, pool, depth - 1))
    pool.append(value)
    if isinstance(value, list) and dice.random() < 0.05:
        value.append(dice.choice(pool))
    return value


@pytest.mark.parametrize("seed", range(12))
def test_rows_nested_and_shared_at_random(seed: int) -> None:
    dice = Random(seed)
    pool: list[Any] = []
    check([some_value(dice, pool, dice.randrange(5)) for _ in range(dice.choice((3, 70, 1500)))])


@pytest.mark.parametrize("seed", range(6))
def test_plain_rows_nested_and_shared_at_random(seed: int) -> None:
    """Only types that the pickler without a memo takes, so that only the hash tells."""
    dice = Random(seed)
    kinds = ("None", "bool", "int", "float", "str", "bytes")
    changing = ("list", "dict", "set", "bytearray", "frozenset")
    rows: list[Any] = []
    for _ in range(MANY):
        row = tuple(KINDS[dice.choice(kinds)](dice.randrange(50)) for _ in range(3))
        for _ in range(dice.randrange(3)):
            row = (row, dice.choice(row), row)
        rows.append(row)
    check(rows)
    # A single one among thousands of rows, anywhere, twice.
    one = KINDS[dice.choice(changing)](4)
    rows[dice.randrange(MANY)] = ("a", ((1, one), one))
    check(rows)


@pytest.mark.parametrize(
    "wrap", [lambda x: [x], lambda x: (x,), lambda x: {0: x}], ids=["list", "tuple", "dict"]
)
@pytest.mark.parametrize("depth", [47, 48, 49, 50, 51, 52, 120])
def test_rows_nested_up_to_and_beyond_the_pickler_s_limit(
    wrap: Callable[[Any], Any], depth: int
) -> None:
    def nested(i: int) -> Any:
        value: Any = i
        for _ in range(depth):
            value = wrap(value)
        return value

    check([nested(i) for i in range(70)])
    check([(frozenset([i]), nested(i)) for i in range(70)])


@pytest.mark.parametrize("count", [47, 48, 49, 50, 51, 52, 200])
def test_frozensets(count: int) -> None:
    check([frozenset([i]) for i in range(count)])
    check([frozenset([frozenset([i]), i]) for i in range(count)] + [("a", [count])] * 100)


def test_rows_that_hold_themselves() -> None:
    rows: list[Any] = []
    for i in range(500):
        knot: list[Any] = [i]
        table = {"knot": knot}
        knot.append((knot, table))
        table["table"] = table
        bag = Bag(knot)
        knot.append(bag)
        rows.append((knot, table, bag))
    check(rows)
    check([rows])
    rows.append(rows)
    check(rows)


@pytest.mark.parametrize("size", [255, 256, 65_520, 65_535, 65_536, 65_537, 200_000])
def test_values_around_the_pickler_s_frames(size: int) -> None:
    for make in (lambda i: "é" * (size // 2) + str(i), lambda i: bytes([i]) * size):
        values = [make(i) for i in range(20)]
        check(values * 5)
        check([(i, value, [value]) for i, value in enumerate(values)])
        check([values[0][:size]] + ["short"] * 100)


@pytest.mark.parametrize("count", [100, MANY])
def test_what_neighbours_share_is_written_once(count: int) -> None:
    """Not even long strings may swell: a line beside each of its words."""
    lines = [f"{line} ".ljust(2_000, "x") for line in range(count // 50 + 1)]
    rows = [(str(i), lines[i // 50]) for i in range(count)]
    for each in (rows, [rows], [tuple(rows)]):
        assert frame_size(encode(each)) < 2 * len(pickle.dumps(each))
    assert frame_size(Encoder().encode_many(rows)) < 2 * len(pickle.dumps(rows))


def test_what_is_shared_takes_no_more_than_some_bytes_a_reference() -> None:
    word = "a word of some characters"
    for rows in ([(i, word) for i in range(MANY)], [(word,) * 100 for _ in range(MANY)]):
        assert frame_size(encode(rows)) < 64 * sum(map(len, rows)) + 128 * len(rows)


def test_plain_rows_go_without_a_memo() -> None:
    pairs = [(f"word {i}", i) for i in range(MANY)]
    wide = [tuple(f"{i} {field}" for field in range(40)) for i in range(500)]
    groups = [(i, None, tuple(f"{i} {each}" for each in range(200))) for i in range(100)]
    for rows in (pairs, wide, groups):
        assert pickle_plain(rows) is not None
        assert pickle_plain([rows]) is not None
        check(rows)


def test_many_rows_with_a_memo_become_several_frames() -> None:
    rows = [[i] for i in range(2 * MOST_ROWS + 1)]
    frames = list(decode_frames(b"".join(Encoder().encode_many(rows))))
    assert [len(each) for each in frames] == [MOST_ROWS, MOST_ROWS, 1]
    assert list(chain.from_iterable(frames)) == rows
