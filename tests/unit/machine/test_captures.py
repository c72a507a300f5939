"""A row that the interpreter runs may change what the other rows' functions captured."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from differential import run_sink

from pyrite.bounded.aggregate import Aggregator
from pyrite.bounded.space import Space
from pyrite.bounded.traced import combine_chain, combine_frames
from pyrite.machine.captures import Captures, held
from pyrite.machine.chain import Chain, Mode, Tracing
from pyrite.machine.packed import PackedRows
from pyrite.rdd.fuse import run_steps

errors = 0
Function = Callable[[Any], Any]


def counts_errors(line: str) -> int:
    try:
        return int(line) + errors
    except ValueError:
        globals()["errors"] += 1
        return 0


def with_a_list() -> Function:
    bad: list[str] = []

    def parse(line: str) -> int:
        if len(bad) > 1:
            return -1
        try:
            return int(line)
        except ValueError:
            bad.append(line)
            return 0

    return parse


def with_a_nonlocal() -> Function:
    strange = 0

    def shift(row: Any) -> int:
        nonlocal strange
        if row is None:
            strange += 1
            return -1
        return row + strange  # type: ignore[no-any-return]

    return shift


def with_a_set() -> Function:
    stops = {"a"}

    def is_kept(word: Any) -> int:
        if isinstance(word, bytes):
            stops.add("b")
            return 0
        return 1 if word in stops else 2

    return is_kept


def with_a_default() -> Function:
    def depth(row: Any, found: list[Any] = [[0]]) -> int:  # noqa: B006
        if isinstance(row, str):
            found[0].append(1)
            return 0
        return row + len(found[0])  # type: ignore[no-any-return]

    return depth


def with_an_argument_of_partial() -> Function:
    def larger(most: list[int], row: Any) -> int:
        if isinstance(row, list):
            most.append(1)
            return 0
        return row + len(most)  # type: ignore[no-any-return]

    return partial(larger, [3])


LINES: list[Any] = ["1"] * 20 + ["x"] * 3 + ["1"] * 20
CASES: list[tuple[Callable[[], Function], list[Any]]] = [
    (lambda: counts_errors, LINES),
    (with_a_list, LINES),
    (with_a_nonlocal, [1] * 20 + [None] + [1] * 20),
    (with_a_set, ["a", "b"] * 9 + [b""] + ["a", "b"] * 9),
    (with_a_default, [1] * 20 + ["x"] + [1] * 20),
    (with_an_argument_of_partial, [1] * 20 + [[]] + [1] * 20),
]


@pytest.mark.parametrize("sink", ["sum", "combine", "group", "join"])
@pytest.mark.parametrize(("make", "rows"), CASES)
def test_what_a_given_back_row_changes_is_seen_by_those_behind_it(
    make: Callable[[], Function], rows: list[Any], sink: str
) -> None:
    def outcome(mode: Mode) -> tuple[str, list[str]]:
        global errors
        errors = 0
        steps: list[Any] = [("map", make())]
        if sink != "sum":
            steps.append(("map", lambda value: (value & 3, value * 0.5)))
        tracing = Tracing(mode)
        chain = Chain(iter(rows), steps, run_steps, tracing, True)
        return repr(run_sink(sink, chain, ((1, 2), (2, 3)) * 3)), tracing.said

    expected, _ = outcome("FALSE")
    found, said = outcome("EAGER")
    assert found == expected
    assert said[0].endswith("in C"), said


def test_what_a_merge_changes_is_seen_by_those_behind_it(tmp_path: Path) -> None:
    def merged(mode: Mode) -> Any:
        zeros: list[int] = []

        def merge(left: int, right: int) -> int:
            try:
                return left // right + len(zeros)
            except ZeroDivisionError:
                zeros.append(left)
                return left

        aggregator: Aggregator[int, int] = Aggregator(int, merge, merge)
        frames: list[Any] = [
            PackedRows("(ii)", struct.pack("<40q", *range(1, 41))),
            PackedRows("(ii)", struct.pack("<8q", 1, 0, 3, 2, 5, 2, 1, 1)),
            [(key, 3) for key in range(1, 41, 2)],
        ]
        space = Space(1 << 40, str(tmp_path))
        return list(combine_frames(iter(frames), aggregator, space, Tracing(mode)))

    assert merged("EAGER") == merged("FALSE")


def test_long_containers_are_told_apart_by_their_size() -> None:
    rows = list(range(1000))
    before = held(rows)
    rows[0] = 5
    assert before.is_same(rows)
    rows.clear()
    assert not before.is_same(rows)


@pytest.mark.parametrize("value", [5, "ab", (1, 2), ((1.0, "a"),) * 9, frozenset([1]), print])
def test_what_can_not_change_is_compared_by_identity_alone(value: Any) -> None:
    assert held(value) == (value, None, (), ())
    assert held(value).is_same(value)


def test_what_lies_within_a_tuple_can_change() -> None:
    value = (1, ([2], "a"))
    before = held(value)
    assert before.is_same(value)
    value[1][0][0] = 3
    assert not before.is_same(value)


def test_a_deleted_variable_has_changed() -> None:
    variables = {"a": 1}
    captures = Captures()
    assert captures.note(lambda: variables["a"]) == 1
    assert captures.are_unchanged()
    del variables["a"]
    assert not captures.are_unchanged()


@pytest.mark.parametrize("memory", [1 << 40, 1 << 20])
def test_a_combiner_that_does_not_fit_is_not_merged_twice(memory: int, tmp_path: Path) -> None:
    strange: list[Any] = []

    def merge(left: Any, right: Any) -> Any:
        if isinstance(right, str):
            strange.append(right)
            return float(left)
        return left + right

    def combined(mode: Mode) -> Any:
        strange.clear()
        aggregator: Aggregator[Any, Any] = Aggregator(same, merge, merge)
        rows = iter([(1, 2), (2, 3), (1, 4), (1, "x"), (2, 5)])
        chain = Chain(rows, [], run_steps, Tracing(mode), True)
        return list(combine_chain(chain, aggregator, Space(memory, str(tmp_path)))), list(strange)

    assert combined("EAGER") == combined("FALSE")


def same(value: Any) -> Any:
    return value
