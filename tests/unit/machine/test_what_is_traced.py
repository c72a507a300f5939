"""Which functions the machine runs, and why it leaves the others to the interpreter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from operator import add
from typing import Any

import pytest
from differential import reason_in

from pyrite.machine import take
from pyrite.machine.chain import Chain, Tracing
from pyrite.rdd.functions import FromZero, Zero
from pyrite.rdd.fuse import run_steps

SCALE = 3
CENTRES = [(0.0, 0.0), (1.0, 1.0)]
seen: list[Any] = []


def nearest(point: tuple[float, float]) -> int:
    best, least = 0, float("inf")
    for number, (x, y) in enumerate(CENTRES):
        distance = (point[0] - x) ** 2 + (point[1] - y) ** 2
        if distance < least:
            best, least = number, distance
    return best


def clipped(x: float) -> float:
    if x > 1:
        return 1.0
    if x < -1:
        return -1.0
    return x


def dotted(row: tuple[float, float]) -> float:
    return sum(a * b for a, b in zip(row, (0.5, 2.0)))  # noqa: B905


def counting(row: float) -> float:
    seen.append(row)
    return row


def later(row: float) -> Iterator[float]:
    yield row


def added_up(pair: tuple[int, list[float]]) -> float:
    total = 0.0
    for y in pair[1]:
        total += y
    return total


class Doubler:
    """A callable of the user's."""

    def __call__(self, row: float) -> float:
        return row * 2


def refusal(function: Callable[..., Any], row: Any, alone: bool = True) -> str | None:
    rows = iter([row] * 50)
    chain = Chain(rows, [("map", function)], run_steps, Tracing("EAGER"), alone)
    plain = sum(map(function, [row] * 50))
    taken = take.sum_rows(chain)
    assert taken is not None and repr(taken.result) == repr(plain)
    return reason_in(chain.tracing) or None


@pytest.mark.parametrize(
    ("function", "row"),
    [
        (lambda x: x * 3 + 1, 5),
        (lambda x: x / 7, 5),
        (lambda x: math.exp(-x) + math.pi, 0.5),
        (lambda x: x * SCALE, 2),
        (lambda x, factor=2.5: x * factor, 2.0),
        (lambda p: p[0] * p[1], (2, 0.5)),
        (lambda p: max(p[0], p[1]) if p[2] else 0.0, (1.0, 2.0, True)),
        (lambda p: sum([x * x for x in p]), (1.0, 2.0, 3.0)),
        (lambda x: 1 if (x > 3 and x < 9) or not x else 0, 5),
        (lambda p: len(p[1]), (1, [1.0, 2.0])),
        (partial(add, 5), 7),
        (nearest, (0.7, 0.9)),
        (clipped, 3.5),
        (dotted, (1.5, 2.5)),
        (lambda x: isinstance(x, float) and x > 1, 2.5),
        (lambda text: len(text), "abc"),
        (lambda pair: pair[0] * 2, (1, {"not": "looked at"})),
        (lambda line: float(line.split(",")[1]), "a,2.5"),
        (lambda line: sum(len(w) for w in line.split() if w.startswith("a")), "abc de af"),
        (lambda line: sum(map(int, line.split())), "1 2 3"),
        (lambda p: sum(p[1]) / len(p[1]) + p[1][0] - p[1][-1], (1, [1.0, 2.0])),
    ],
)
def test_functions_on_numbers_and_text_are_traced(function: Callable[..., Any], row: Any) -> None:
    assert refusal(function, row) is None


@pytest.mark.parametrize(
    ("function", "row", "reason"),
    [
        (counting, 1.0, "the attribute append"),
        (Doubler(), 1.0, "a call of Doubler"),
        (lambda x: round(x), 1.5, "a call of round"),
        (lambda x: len(repr(x)), 5, "a call of repr"),
        (lambda x: x + int(print("") is None), 5, "a call of print"),
        (lambda x: float(x) if x else x, 5, "a value whose type differs by branch"),
        (lambda x: x % 2.0, 5.0, "% of floats"),
        (lambda x: {1: 2}.get(x, 3), 1, "a dict"),
        (lambda x: seen.__len__() + x, 1, "the attribute __len__"),
        (lambda text: len(text), b"abc", "a row with a value of type bytes"),
        (lambda pair: len(pair[1]), (1, b"ab"), "len of a value of unknown length"),
        (lambda pair: int(pair[1] is None), (1, None), "the identity of an object"),
        (lambda text: len(text.title()), "abc", "a call of str.title"),
        (lambda text: len(text[::2]), "abc", "a slice of a text with a step"),
        (lambda x: next(later(x)), 1.0, "a generator"),
        (added_up, (1, [1.0, 2.0]), "a loop that is no comprehension"),
        (lambda x: id(x) * 0, 1, "a call of id"),
    ],
)
def test_what_is_refused_says_why(function: Callable[..., Any], row: Any, reason: str) -> None:
    found = refusal(function, row)
    assert found is not None and reason in found


@pytest.mark.parametrize(
    "function",
    [lambda x: x * SCALE, lambda x, by=[2]: x * by[0], nearest],
    ids=["global", "default", "closure"],
)
def test_captured_variables_are_not_read_where_other_code_runs_between_rows(
    function: Callable[..., Any],
) -> None:
    row = (0.5, 0.5) if function is nearest else 3
    found = refusal(function, row, alone=False)
    assert found is not None and "could change between two rows" in found


def test_zeros_of_the_engine_are_traced() -> None:
    create = FromZero(Zero((0, 0)), lambda state, value: (state[0] + value, state[1] + 1))
    chain = Chain(iter(range(90)), [("map", create)], run_steps, Tracing("EAGER"), True)
    taken = take.reduce_rows(chain, lambda left, right: (left[0] + right[0], left[1] + right[1]))
    assert taken == ([(sum(range(90)), 90)],)
    assert not reason_in(chain.tracing)


def test_few_rows_are_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyrite.machine import sinks

    monkeypatch.setattr(sinks, "build", None)
    chain = Chain(iter(range(1999)), [("map", lambda x: x + 1)], run_steps, Tracing("TRUE"), True)
    assert take.sum_rows(chain) == (sum(range(2000)),)


def test_a_profiler_or_a_debugger_turns_it_off() -> None:
    import sys

    assert Tracing("TRUE").is_usable() == (sys.gettrace() is None)
    before = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        assert not Tracing("EAGER").is_usable()
    finally:
        sys.setprofile(before)
    assert not Tracing("FALSE").is_usable()


def test_rows_that_keep_coming_back_are_left_to_the_interpreter() -> None:
    rows = [1] * 6000 + [1.5] * 20_000
    chain = Chain(iter(rows), [("map", lambda x: x + 1)], run_steps, Tracing("TRUE"), True)
    assert take.sum_rows(chain) == (sum(x + 1 for x in rows),)


@pytest.mark.parametrize(
    "rows", [range(10**6), range(7, -(10**6), -3), range(2**62, 2**62 + 19_000)]
)
def test_ranges_are_counted(rows: range) -> None:
    function = lambda x: x & 1023  # noqa: E731
    chain = Chain(iter(rows), [("map", function)], run_steps, Tracing("TRUE"), True)
    assert take.sum_rows(chain) == (sum(map(function, rows)),)
    assert not reason_in(chain.tracing)


def test_a_long_function_is_refused_in_no_time() -> None:
    source = "def long(x):\n" + "".join(f"    if x > {n}: x = x - 1\n" for n in range(3000))
    scope: dict[str, Any] = {}
    exec(source + "    return x", scope)
    assert refusal(scope["long"], 5) == "a long function"


def test_functions_that_lie_too_deep_stay_with_the_interpreter() -> None:
    names: dict[str, Any] = {}
    for number in range(14):
        lines = [f"def step{number}(x):", " if x == -1: return 0"]
        lines += [f" elif x == {each}: return {each}" for each in range(100, 122)]
        lines += [f" else: return {f'step{number - 1}(x)' if number else 'x + 1'}"]
        exec("\n".join(lines), names)
    assert refusal(names["step13"], 5) == "calls and branches that lie too deep"


def test_rows_with_many_results_are_traced_sooner() -> None:
    rows = iter(range(5000))
    chain = Chain(rows, [("flatMap", lambda n: [n] * 100)], run_steps, Tracing("TRUE"), True)
    assert len(list(chain.first_results())) == 6400
    assert next(rows) == 64
