"""The machine and the interpreter agree: on results, errors, and how far rows were read."""

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from differential import Case, find_difference, make_case, outcome, search
from typed_functions import compiled

# `python -m differential 1000000` in this folder searches longer.
ROWS = 12_000
HERE = Path(__file__).parent


@pytest.mark.parametrize("seed", range(3))
def test_random_functions_agree(seed: int) -> None:
    reasons = search(ROWS, seed)
    assert reasons[""] > sum(reasons.values()) // 2, reasons


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_million_rows_agree() -> None:
    # By itself, under its own limit of memory.
    command = [sys.executable, "-m", "differential", "1000000", "1859335695"]
    run = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_type_that_only_decides_a_branch_is_checked() -> None:
    function = compiled(["x, y = row", "if x is None: return y // 0", "return y"], 1)
    case = Case([(1, 2), (1, 3), (None, 4)], [("map", function)], "sum", True, "EAGER")
    assert find_difference(case) == ""


def test_a_comprehension_that_nobody_reads_still_raises() -> None:
    function = compiled(["x, xs = row", "made = [1 // y for y in xs]", "return x"], 1)
    case = Case([(1, [2]), (1, [3]), (1, [0])], [("map", function)], "sum", True, "EAGER")
    assert find_difference(case) == ""


def made_by_words(row: Any) -> Any:
    return row[0], [int(word) for word in row[1].split()]


def summed(row: Any) -> Any:
    return sum(row[1])


ABC = [(1, "1 2"), (2, "3"), (3, "1 2"), (0, "x"), (1, "4")]


@pytest.mark.parametrize(
    ("steps", "rows", "sink"),
    [
        ([("filter", lambda row: row[0] > 0), ("map", summed)], ABC, "sum"),
        (
            [("flatMap", lambda row: [(w, row[1]) for w in range(row[0])]), ("map", summed)],
            ABC,
            "sum",
        ),
        ([], [*ABC[:3], (4, "x")], "lists"),
    ],
    ids=["filter", "flatMap", "combiner"],
)
def test_a_list_made_in_one_step_and_read_in_another_still_raises(
    steps: list[Any], rows: list[Any], sink: str
) -> None:
    made = [("map", made_by_words), *steps]
    assert find_difference(Case(rows, made, sink, True, "EAGER")) == ""
    assert outcome(Case(rows, made, sink, True, "EAGER"), "EAGER").text.startswith("ValueError")


def test_a_flat_map_over_no_items_does_not_hide_a_list_that_raises() -> None:
    steps: list[Any] = [
        ("map", lambda row: ([1 // y for y in row[0]], row[1])),
        ("flatMap", lambda row: [(row[0], each) for each in row[1]]),
        ("map", lambda row: sum(row[0])),
    ]
    rows = [([1, 2], [1]), ([3], [2, 3]), ([0], [])]
    assert find_difference(Case(rows, steps, "sum", True, "EAGER")) == ""


def test_a_list_is_read_in_a_loop_over_itself() -> None:
    steps: list[Any] = [
        ("map", lambda xs: [y + 1 for y in xs]),
        ("map", lambda ys: (ys, ys)),
        ("flatMapValues", lambda ys: ys),
        ("map", lambda row: sum(row[0]) * row[1]),
    ]
    assert find_difference(Case([[1, 2, 3], [4, 5]], steps, "sum", True, "EAGER")) == ""


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


@pytest.mark.parametrize(
    "lines",
    [
        ["y = 1", "return sum(map(lambda x: x + y, (row, 2)), (y := 5)) + y"],
        ["y = 1", "return sum((x + y for x in (row, 2)), (y := 5)) + y"],
        ["y = 1", "for x in (v + y for v in (row, 2, 3)): y = x", "return y"],
        ["y = 1", "return (lambda x, z: x + y + z)(row, (y := 5)) + y"],
        ["y = 1", "return sum([x + y for x in (row, 2)], (y := 5)) + y"],
    ],
)
def test_an_iterator_finds_variables_as_they_are_when_it_is_read(lines: list[str]) -> None:
    case = Case([1, 2, 3], [("map", compiled(lines, 1))], "sum", True, "EAGER")
    assert find_difference(case) == ""


@pytest.mark.parametrize(
    "types", ["(int, (float, str))", "(str, ((bool, float), int))", "(str, (bytes,))", "[float]"]
)
def test_tuples_of_types_within_tuples(types: str) -> None:
    lines = ["if row > 9:", "    return 0", f"return 2 if isinstance(row, {types}) else 3"]
    case = Case([10.5, 11.5, 2.5], [("map", compiled(lines, 1))], "sum", True, "EAGER")
    assert find_difference(case) == ""


@pytest.mark.parametrize(
    "lines",
    [
        ["return sum([y * 1.0 for y in row], 9007199254740992) - 9007199254740992"],
        ["return sum((y for y in row if y > 0.5), len(row) + 9007199254740989) - 2**53"],
        ["return sum(row, 9007199254740992) - 9007199254740992"],
        ["return sum([y for y in row if y > 5], 9007199254740992) - 9007199254740992"],
    ],
)
def test_a_sum_of_floats_from_an_int_on(lines: list[str]) -> None:
    # Since 3.12 `sum` does not compensate for what its first float loses.
    rows = [[1.0, 1.0, 1.0]] * 3
    assert find_difference(Case(rows, [("map", compiled(lines, 1))], "sum", True, "EAGER")) == ""


@pytest.mark.parametrize("number", range(40))
def test_kept_cases_agree(number: int) -> None:
    assert find_difference(make_case(Random(f"2/{7170 + number}"))) == ""


@pytest.mark.parametrize("sink", ["sum", "count", "reduce", "fold", "combine", "group", "join"])
@pytest.mark.parametrize("nothing", ["()", "[]", "[] if isinstance(row, tuple) else [row]"])
def test_rows_without_any_result(nothing: str, sink: str) -> None:
    steps: list[Any] = [("flatMap", compiled([f"return {nothing}"], 1))]
    rows = [(1, 2)] * 5 + [[3, 4]]
    assert find_difference(Case(rows, steps, sink, True, "EAGER", ((3, 4),))) == ""
