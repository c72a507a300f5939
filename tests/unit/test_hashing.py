"""Equal keys have one hash in every process, whatever its seed."""

import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import os
import pathlib
import subprocess
import sys
import typing
import uuid
from collections import namedtuple

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite import hashing
from pyrite.hashing import HashUnknownHere, UnstableHash, portable_hash

# What PySpark 4's portable_hash gives under PYTHONHASHSEED=0.
PYSPARK = {
    "None": 0,
    "''": 0,
    "'a'": 4644417185603328019,
    "'key'": -2350400668935514176,
    "'\\xe9'": 6047309291227476195,
    "'\\u0416'": 5229429703671838488,
    "'\\U0001f600\\ud800'": 1762687746387226908,
    "'x' * 100": 1359644457043326220,
    "b'abc'": -4594863902769663758,
    "b''": 0,
    "b'12345678'": 3785724242978802311,
    "-1": -2,
    "True": 1,
    "1e300": 1224995262755759164,
    "float('inf')": 314159,
    "()": 3430008,
    "(None, 1)": 3430028580079870073,
    "('a', 2.5, None, ('b', b'c'))": 6552269960648681983,
}

KEYS = """
import datetime, decimal, enum, fractions, pathlib, typing, uuid
from dataclasses import dataclass, field
from pyrite.hashing import portable_hash
class Colour(enum.Enum):
    RED = "r"
class Mode(enum.Flag):
    READ = 1
    WRITE = 2
@dataclass(frozen=True)
class Point:
    x: float
    name: str = None
    note: str = field(default="", compare=False)
utc = datetime.timezone.utc
keys = [
    None, 0, 1.5, 2 ** 80, 1j, "text", "\\u0416", b"bytes", (), ("a", (None, 2)), float("nan"),
    frozenset(["a", "b", None, ("c", 1)]), Colour.RED, Mode.READ | Mode.WRITE, Point(1, "p"),
    Point(1), datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    datetime.datetime(2024, 2, 29, 1, tzinfo=utc), datetime.time(1, 2), utc,
    datetime.timedelta(-1, 5), decimal.Decimal("1.10"), fractions.Fraction(1, 3),
    uuid.UUID(int=7), range(3), pathlib.PurePosixPath("/a/b"), pathlib.PureWindowsPath("C:/a"),
    memoryview(b"abc"), int, Colour, Point, type, len, str.upper, int.from_bytes, dict.fromkeys,
    pathlib.Path.cwd, enum.unique, enum, ..., NotImplemented, list[int], int | str,
    typing.List[int], typing.Optional[int], typing.Literal["a", 1], typing.Annotated[int, "note"],
    typing.Callable[[int], str],
]
print([portable_hash(key) for key in keys])
"""


def in_process(seed: str, program: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("key", PYSPARK)
def test_the_hash_is_pysparks(key):
    assert portable_hash(eval(key)) == PYSPARK[key]


def test_every_process_agrees():
    hashes = {in_process(seed, KEYS) for seed in ("0", "1", "4242", "random")}
    assert len(hashes) == 1


def test_seed_zero_uses_the_builtin_hash_and_agrees_with_pyspark():
    program = (
        "from pyrite.hashing import NATIVE, portable_hash\n"
        f"print(NATIVE, {{key: portable_hash(eval(key)) for key in {list(PYSPARK)!r}}})"
    )
    assert in_process("0", program).strip() == f"True {PYSPARK}"


@given(st.text() | st.text(st.characters(codec=None)) | st.binary())
def test_text_hashes_as_python_does_under_seed_zero(key):
    program_hash = hashing._siphash_str if isinstance(key, str) else hashing._siphash13
    assert program_hash(key) == portable_hash(key)
    if sys.flags.hash_randomization == 0:
        assert portable_hash(key) == hash(key)


def test_texts_of_all_widths_and_lengths_hash_as_the_interpreter_of_seed_zero_does():
    texts = [char * n for char in ("a", "é", "Ж", "😀") for n in (*range(20), 63, 64, 300)]
    native = in_process("0", f"print([hash(text) for text in {texts!r}])")
    assert native.strip() == str([hashing._siphash_str(text) for text in texts])


class Number(enum.IntEnum):
    THREE = 3


class Word(enum.StrEnum):
    HI = "hi"


class Text(str):
    pass


Pair = namedtuple("Pair", "left right")
east = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    "group",
    [
        (1, 1.0, True, 1 + 0j, decimal.Decimal(1), fractions.Fraction(1), numpy.int8(1)),
        (1, numpy.float32(1), numpy.bool_(True), numpy.uint64(1), numpy.longdouble(1)),
        (0, 0.0, -0.0, False, decimal.Decimal("-0"), numpy.clongdouble(0)),
        (2**70, float(2**70), decimal.Decimal(2**70)),
        (0.5, fractions.Fraction(1, 2), decimal.Decimal("0.50"), numpy.float16(0.5)),
        (3, Number.THREE),
        ("hi", Word.HI, Text("hi"), numpy.str_("hi")),
        (b"hi", numpy.bytes_(b"hi"), memoryview(b"hi")),
        ((1, "a"), Pair(1, "a"), (1.0, Text("a")), (True, numpy.str_("a"))),
        (frozenset([1, "a"]), frozenset(["a", True])),
        (range(0), range(5, 5), range(9, 2)),
        (range(4, 5), range(4, 6, 9)),
        (range(0, 6, 4), range(0, 8, 4)),
        (pathlib.PurePosixPath("a/b"), pathlib.PurePosixPath("a//./b")),
        (pathlib.PureWindowsPath("C:/A"), pathlib.PureWindowsPath("c:\\a")),
        (
            datetime.datetime(2024, 1, 1, 0, 30, tzinfo=datetime.UTC),
            datetime.datetime(2024, 1, 1, 2, 30, tzinfo=east),
        ),
        (datetime.time(1, tzinfo=datetime.UTC), datetime.time(3, tzinfo=east)),
        (datetime.date(2024, 1, 1), numpy.datetime64("2024-01-01")),
        (
            numpy.datetime64("2024-01-01", "ns"),
            numpy.datetime64("2024-01", "M"),
            numpy.datetime64("2024-01-01T00:00"),
        ),
        (datetime.timedelta(days=1), numpy.timedelta64(24, "h"), numpy.timedelta64(1, "D")),
        (numpy.timedelta64(1, "Y"), numpy.timedelta64(12, "M")),
        (datetime.UTC, datetime.timezone(datetime.timedelta(0))),
        (int | str, str | int, typing.Union.__getitem__((int, str))),
        (int | None, typing.Optional.__getitem__(int)),
        (list[int], list[int]),
        (typing.Literal[1, "a"], typing.Literal["a", 1]),
        (uuid.UUID(int=5), uuid.UUID("00000000-0000-0000-0000-000000000005")),
    ],
    # By type: a set is shown in another order in each process.
    ids=lambda group: type(group[0]).__name__,
)
def test_equal_keys_of_different_types_hash_equal(group):
    assert all(key == group[0] for key in group)
    assert len({portable_hash(key) for key in group}) == 1


numbers = (
    st.integers() | st.floats() | st.booleans() | st.fractions() | st.decimals(allow_nan=False)
)
atoms = st.none() | numbers | st.text(max_size=5) | st.binary(max_size=5) | st.datetimes()
keys = st.recursive(
    atoms,
    lambda inner: (
        st.tuples(inner, inner) | st.lists(inner, max_size=3).map(tuple) | st.frozensets(atoms)
    ),
    max_leaves=6,
)


@given(st.one_of(st.tuples(keys, keys), numbers.flatmap(lambda n: st.tuples(st.just(n), numbers))))
def test_equality_implies_an_equal_hash(pair):
    left, right = pair
    if left == right:
        assert portable_hash(left) == portable_hash(right)


@given(keys)
def test_a_hash_fits_64_bits_and_survives_a_copy(key):
    import pickle

    value = portable_hash(key)
    assert -(2**63) <= value < 2**63
    assert portable_hash(pickle.loads(pickle.dumps(key))) == value


def test_all_nans_share_a_hash():
    nans = [float("nan"), numpy.float64("nan"), decimal.Decimal("NaN"), complex("nan")]
    assert {portable_hash(nan) for nan in nans} == {0}


def test_enum_members_differ_by_name_and_class():
    first = enum.Enum("First", "A B")
    second = enum.Enum("Second", "A B")
    members = [first.A, first.B, second.A, second.B]
    assert len({portable_hash(member) for member in members}) == 4


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: object = None
    note: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(frozen=True)
class Point3(Point):
    z: float = 0


@dataclasses.dataclass(frozen=True)
class OwnHash:
    x: int

    def __hash__(self):
        return 5


def test_a_frozen_dataclass_hashes_as_the_tuple_of_its_compared_fields():
    assert portable_hash(Point(1, "a", note="n")) == portable_hash((1, "a"))
    assert portable_hash(Point3(1, "a", z=2)) == portable_hash((1, "a", 2))


class Plain:
    def method(self):
        pass


class Equal:
    def __eq__(self, other):
        return isinstance(other, Equal)


class Own(Equal):
    def __hash__(self):
        return 77


class LikeTuple(tuple):
    def __eq__(self, other):
        return tuple.__eq__(self, other)

    __hash__ = tuple.__hash__


def test_a_class_that_takes_over_a_builtin_hash_hashes_like_it():
    assert portable_hash(LikeTuple((1, 2))) == portable_hash((1, 2))


@pytest.mark.parametrize(
    "key",
    [Plain(), object(), [].append, "".join, Plain().method, lambda: 0, functools.partial(len)],
    ids=lambda key: type(key).__name__,
)
def test_a_key_with_an_identity_hash_is_refused(key):
    with pytest.raises(
        UnstableHash, match=r"identity, which differs between processes.*key by"
    ) as e:
        portable_hash(("a", key))
    assert e.value.kind is type(key)


def test_a_function_that_travels_by_value_is_refused_with_a_cure_of_its_own():
    with pytest.raises(UnstableHash, match=r"import the function from a module.*__name__"):
        portable_hash(lambda: 0)


def test_the_refusal_names_the_class_and_the_cure():
    with pytest.raises(
        UnstableHash, match=r"\.Plain is hashed.*define __eq__ and __hash__ on Plain"
    ):
        portable_hash(Plain())


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ([1], "list is unhashable.*use a tuple"),
        ({}, r"dict is unhashable.*tuple\(sorted"),
        ({1}, "set is unhashable.*frozenset"),
        (bytearray(), "use bytes"),
        (numpy.array([1]), "ndarray is unhashable.*tolist"),
        (Equal(), r"\.Equal is unhashable.*define __hash__"),
        ((1, [2]), "list is unhashable"),
        (Point(1, [2]), "list is unhashable"),
    ],
)
def test_an_unhashable_key_is_refused_by_name(key, message):
    with pytest.raises(TypeError, match=message):
        portable_hash(key)


def test_a_hash_of_its_own_is_known_only_where_seeds_are_fixed(monkeypatch):
    monkeypatch.setattr(hashing, "HASHERS", hashing._Hashers())
    monkeypatch.setattr(hashing, "NATIVE", True)
    assert (portable_hash(Own()), portable_hash(OwnHash(1))) == (77, 5)
    monkeypatch.setattr(hashing, "HASHERS", hashing._Hashers())
    monkeypatch.setattr(hashing, "NATIVE", False)
    for key in (Own(), OwnHash(1)):
        with pytest.raises(HashUnknownHere, match="ask an executor"):
            portable_hash(key)


def test_the_table_of_types_stops_growing(monkeypatch):
    table = hashing._Hashers()
    monkeypatch.setattr(hashing, "HASHERS", table)
    for index in range(600):
        kind = type(f"T{index}", (str,), {})
        assert portable_hash(kind("a")) == PYSPARK["'a'"]
    assert len(table) == 512


def test_dates_spread_over_partitions():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(n) for n in range(64)]
    assert len({portable_hash(day) % 8 for day in days}) == 8
