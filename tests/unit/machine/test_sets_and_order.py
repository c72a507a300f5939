"""Sets give their items in the interpreter's order; sorted texts and tuples are where Python has
them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from test_what_is_traced import refusal

from pyrite.machine._rows import set_order

HERE = Path(__file__).parent
SIZES = [*range(40), 76, 77, 78, 200, 1000, 5000, 20_000, 50_000]


def some_ints(size: int) -> list[int]:
    random = Random(size)
    kinds: list[Callable[[], int]] = [
        lambda: random.randrange(-50, 50),
        lambda: random.randrange(-(2**63), 2**63),
        lambda: random.randrange(size + 1) << 40,
        lambda: random.randrange(-3, 3) * (2**61 - 1) + random.randrange(3),
    ]
    return [random.choice(kinds)() for _ in range(size)]


@pytest.mark.parametrize("size", SIZES)
def test_a_set_of_ints_is_in_the_interpreters_order(size: int) -> None:
    items = some_ints(size)
    order = list(set(items))
    assert set_order(items) == order == list({each + 0 for each in items}) == list(frozenset(items))


TEXTS = """
from random import Random
from pyrite.machine._rows import set_order
from pyrite.machine.setorder import is_known
for size in {sizes}:
    random = Random(size)
    longest = 4 if size < 1000 else 9
    items = ["".join(random.choices("abZ\\u00e9\\u2603\\U0001f600", k=random.randrange(longest)))
             for _ in range(size)]
    order = list(set(items))
    agrees = set_order(items) == order == list({{x for x in items}}) == list(frozenset(iter(items)))
    assert agrees == {agrees}, size
assert is_known(True) == {agrees} and is_known(False)
"""


@pytest.mark.parametrize(
    ("seed", "sizes", "agrees"), [("0", SIZES, True), ("7", [200, 1000], False)]
)
def test_a_set_of_texts_is_in_the_order_of_executors(
    seed: str, sizes: list[int], agrees: bool
) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    program = TEXTS.format(sizes=sizes, agrees=agrees)
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_texts_agree_with_the_hash_of_executors() -> None:
    # As this process may hash in another way, sets of texts are searched in one of their own.
    command = [sys.executable, "-m", "differential", "20000", "1901"]
    run = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("items", [[2.5], ["a", 1], [2**70], ["\ud800"], [True], [1, "a"]])
def test_other_items_have_no_order(items: list[Any]) -> None:
    assert set_order(items) is None


def test_a_set_that_is_too_large_has_no_order() -> None:
    assert set_order(list(range(50_001))) is None
    assert set_order(list(range(50_000)) * 2) == list(range(50_000))


def named(x: float, factor: float = 2.0, *, offset: float = 0.5) -> float:
    return x * factor + offset


@pytest.mark.parametrize(
    ("function", "row"),
    [
        (lambda p: sorted(p[1])[0], (1, [3, 1, 2])),
        (lambda p: sorted(p[1], reverse=True)[-1] + len(sorted(p[1])[:2]), (1, [3.5, -0.0, 0.0])),
        (lambda p: sum([n * x for n, x in sorted([(y * y, y) for y in p[1]])]), (1, [3, -1])),
        (lambda line: len(sorted(line.split())[0] + sorted(set(line.split(",")))[-1]), "b a,c"),
        (lambda p: len(set(p[1])) + len({x % 3 for x in p[1]}), (1, [3, 1, 3])),
        (lambda p: len({p[0], p[1]}), (1, 1)),
        (lambda line: len(f"{line}: {len(line)} {len(line) / 7:.2f} {line == 'a'} {1.5!r}"), "abc"),
        (lambda x: named(x, offset=1.0) + named(factor=x, x=2.0), 5.0),
        (lambda line: len(line.split(maxsplit=1, sep=",")), "a,b,c"),
        (lambda p: sum(p[1], start=2), (1, [1, 2])),
        (lambda line: sum([len(w) for w in [v.strip() for v in line.split(",")]]), "a, b"),
        (lambda line: len([*line.split()]), "a b"),
    ],
)
def test_sets_orders_names_and_f_strings_are_traced(
    function: Callable[..., Any], row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The length of a set of texts is the same whatever its order.
    monkeypatch.setattr("pyrite.machine.collecting.is_known", lambda of_texts: True)
    assert refusal(function, row) is None


@pytest.mark.parametrize(
    ("function", "row", "reason"),
    [
        (lambda p: sorted(p[1], key=abs)[0], (1, [3, 1]), "keyword arguments of sorted"),
        (lambda p: len(set(p[1])), (1, [3.5, 1.0]), "a set of values that are neither"),
        (lambda p: len(set({x + 0 for x in p[1]})), (1, [3, 1]), "a set of a set"),
        (lambda p: p[0] in set(p[1]), (1, [3, 1]), "a search in a value that is not text"),
        (lambda line: len(f"{line:>5}"), "abc", "the format >5"),
        (lambda line: len(f"{line!r}"), "abc", "the conversion !r of text"),
        (lambda p: named(*p), (5.0, 1.0), "a call with *arguments or **keywords"),
    ],
)
def test_what_is_refused_of_them(function: Callable[..., Any], row: Any, reason: str) -> None:
    assert (refusal(function, row) or "").startswith(reason)


def test_a_set_of_texts_is_refused_where_its_order_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyrite.machine.collecting.is_known", lambda of_texts: False)
    reason = refusal(lambda line: len(set(line.split())), "a b a")
    assert reason == "a set whose order is not known here"
