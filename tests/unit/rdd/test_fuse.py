"""Record operators compiled into one loop."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.rdd.fuse import DEEPEST, LONGEST, Step, run_steps

Plain = Callable[[Iterable[Any]], Iterable[Any]]

# Each step on pairs of numbers beside what it means.
STEPS: list[tuple[Step, Plain]] = [
    (("map", lambda x: (x[1], x[0])), lambda rows: [(x[1], x[0]) for x in rows]),
    (("map", lambda x: (x[0] + 1, x[1])), lambda rows: [(x[0] + 1, x[1]) for x in rows]),
    (("filter", lambda x: x[0] % 3), lambda rows: [x for x in rows if x[0] % 3]),
    (("flatMap", lambda x: [x, x]), lambda rows: [x for x in rows for _ in range(2)]),
    (("mapValues", lambda v: v * 2), lambda rows: [(x[0], x[1] * 2) for x in rows]),
    (
        ("flatMapValues", lambda v: [v, v + 1]),
        lambda rows: [(x[0], v) for x in rows for v in (x[1], x[1] + 1)],
    ),
]


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=5),
    st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=10),
)
def test_a_chain_does_what_its_steps_do(rows: list[tuple[int, int]], chosen: list[int]) -> None:
    expected: Iterable[Any] = rows
    for place in chosen:
        expected = STEPS[place][1](expected)
    assert list(run_steps(rows, [STEPS[place][0] for place in chosen])) == list(expected)


def test_an_inner_key_does_not_leak_into_the_outer_loop() -> None:
    steps: list[Step] = [
        ("flatMapValues", lambda v: [v, v]),
        ("map", lambda x: (x[0] + "!", x[1])),
        ("flatMapValues", lambda v: [v]),
    ]
    assert list(run_steps([("a", 1)], steps)) == [("a!", 1), ("a!", 1)]


@pytest.mark.parametrize("kind", ["flatMap", "flatMapValues"])
def test_chains_deeper_than_python_nests_are_cut(kind: str) -> None:
    steps: list[Step] = [(kind, lambda x: [x])] * (3 * DEEPEST)
    assert list(run_steps([(1, 2)], steps)) == [(1, 2)]


def test_long_chains_are_cut() -> None:
    steps: list[Step] = [("map", lambda x: x + 1)] * (5 * LONGEST + 3)
    assert list(run_steps([0], steps)) == [5 * LONGEST + 3]


def test_keys_and_values() -> None:
    assert list(run_steps([(1, 2)], [("keys", None)])) == [1]
    assert list(run_steps([(1, 2)], [("values", None)])) == [2]
    assert list(run_steps([3], [("keyBy", str)])) == [("3", 3)]
