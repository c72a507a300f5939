"""The machine and the interpreter agree: on results, errors, and how far rows were read."""

from random import Random

import pytest
from differential import Case, find_difference, make_case, search
from typed_functions import compiled

# `python -m differential 1000000` in this folder searches longer.
ROWS = 12_000


@pytest.mark.parametrize("seed", range(3))
def test_random_functions_agree(seed: int) -> None:
    reasons = search(ROWS, seed)
    assert reasons[""] > sum(reasons.values()) // 2, reasons


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_million_rows_agree() -> None:
    search(1_000_000, 1859335695)


def test_a_type_that_only_decides_a_branch_is_checked() -> None:
    function = compiled(["x, y = row", "if x is None: return y // 0", "return y"], 1)
    case = Case([(1, 2), (1, 3), (None, 4)], [("map", function)], "sum", True, "EAGER")
    assert find_difference(case) == ""


def test_a_comprehension_that_nobody_reads_still_raises() -> None:
    function = compiled(["x, xs = row", "made = [1 // y for y in xs]", "return x"], 1)
    case = Case([(1, [2]), (1, [3]), (1, [0])], [("map", function)], "sum", True, "EAGER")
    assert find_difference(case) == ""


@pytest.mark.parametrize(
    "lines",
    [
        ["x, y = row", "return math.sqrt(y) if x else 0.0"],
        ["x, y = row", "return math.fabs(y) if x else 0.0"],
        ["x, y = row", "return math.exp('1') if x else 0.0"],
    ],
)
def test_functions_of_math_take_no_text(lines: list[str]) -> None:
    case = Case(
        [(0, "4"), (0, "9"), (1, "16")], [("map", compiled(lines, 1))], "sum", True, "EAGER"
    )
    assert find_difference(case) == ""


@pytest.mark.parametrize("lines", [["return row in (row, 1.0)"], ["return row in [2, row]"]])
def test_what_is_no_number_is_in_a_tuple_that_holds_it(lines: list[str]) -> None:
    rows = [1.5, 2.5, float("nan"), 1.0]
    assert find_difference(Case(rows, [("map", compiled(lines, 1))], "sum", True, "EAGER")) == ""


@pytest.mark.parametrize("number", range(40))
def test_kept_cases_agree(number: int) -> None:
    assert find_difference(make_case(Random(f"2/{7170 + number}"))) == ""
