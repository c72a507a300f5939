"""Record operators one by one: the same rows as the fused loop makes, and the record in hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.rdd.fuse import BODY, run_steps
from pyrite.replay.culprit import find_culprit, short, shown
from pyrite.replay.recording import Operator
from pyrite.replay.watched import RecordWatch, WatchedFunction, run_watched

FUNCTIONS: dict[str, Any] = {
    "map": lambda x: (x[0], x[1] + 1),
    "filter": lambda x: x[1] % 3,
    "flatMap": lambda x: [x] * (x[1] % 3),
    "mapValues": lambda value: value * 2,
    "flatMapValues": lambda value: range(value % 4),
    "keyBy": lambda x: x[1] % 5,
    "keys": None,
    "values": None,
}
# They give no pairs: what comes behind them would fail.
LAST = ("keyBy", "keys", "values")


def watched(kinds: list[str], functions: dict[str, Any] = FUNCTIONS) -> list[tuple[str, Any]]:
    return [
        (kind, WatchedFunction(functions[kind], RecordWatch(operator(kind, number), 0)))
        for number, kind in enumerate(kinds)
    ]


def operator(kind: str, number: int) -> Operator:
    told = {"operator": kind, "method": kind, "site": f"job.py:{number}"}
    return Operator(4, 0, number, told, number)


def test_all_kinds_are_known() -> None:
    assert FUNCTIONS.keys() == BODY.keys()


@given(
    st.lists(st.sampled_from([kind for kind in FUNCTIONS if kind not in LAST]), max_size=6),
    st.sampled_from(["", *LAST]),
    st.lists(st.tuples(st.text(max_size=2), st.integers(0, 30)), max_size=8),
)
def test_the_rows_are_those_of_the_fused_loop(
    kinds: list[str], last: str, rows: list[tuple[str, int]]
) -> None:
    kinds = kinds + [last] * bool(last)
    fused = list(run_steps(rows, [(kind, FUNCTIONS[kind]) for kind in kinds]))
    assert list(run_watched(rows, watched(kinds))) == fused


@pytest.mark.parametrize("kind", [kind for kind in FUNCTIONS if FUNCTIONS[kind] is not None])
def test_the_culprit_is_the_record_in_hand(kind: str) -> None:
    def fail(given: Any) -> Any:
        if given in (7, ("key", 7)):
            raise KeyError(given)
        return FUNCTIONS[kind](given)

    steps = [*watched(["map"], {"map": lambda x: ("key", x)}), *watched([kind], {kind: fail})]
    with pytest.raises(KeyError) as caught:
        list(run_watched(range(10), steps))
    culprit = find_culprit(caught.value)
    assert culprit is not None
    assert culprit.record == ("key", 7)
    assert culprit.operator.title == kind
    assert culprit.lines()[1] == f"operator  {kind}, RDD 4.0, called at job.py:0"


def test_a_generator_that_fails_halfway_is_its_operators() -> None:
    def halfway(x: int) -> Any:
        yield x
        raise KeyError(x)

    steps = watched(["flatMap", "map"], {"flatMap": halfway, "map": lambda x: x + 1})
    with pytest.raises(KeyError) as caught:
        list(run_watched([5], steps))
    culprit = find_culprit(caught.value)
    assert culprit is not None and culprit.operator.title == "flatMap" and culprit.record == 5


def test_a_stop_iteration_is_found_too() -> None:
    def stop(x: int) -> Any:
        return next(iter(()))

    with pytest.raises(RuntimeError) as caught:
        list(run_watched([5], watched(["map"], {"map": stop})))
    culprit = find_culprit(caught.value)
    assert culprit is not None and culprit.record == 5


def test_thousands_of_operators_need_no_recursion() -> None:
    steps = watched(["map"] * 5000, {"map": lambda x: x + 1})
    assert list(run_watched([0], steps)) == [5000]


class Odd:
    def __repr__(self) -> str:
        raise ValueError


def test_a_value_is_shown_whatever_its_repr_does() -> None:
    assert shown(Odd()) == "a Odd whose repr raises ValueError"
    assert shown("x" * 3000).endswith("(3002 characters)")
    assert len(short(list(range(1000)))) < 200
