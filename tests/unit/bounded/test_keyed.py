"""Combining in a table of the machine gives what combining in a dict does, at any memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import add
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tight_space import ample_space, tight_space

from pyrite.bounded.aggregate import Aggregator, combine_combiners, combine_values
from pyrite.machine.chain import IS_BUILT, Chain, Mode, Tracing
from pyrite.machine.packed import PackedRows
from pyrite.rdd.fuse import run_steps

if not IS_BUILT:
    pytest.skip("the row machine is not built", allow_module_level=True)

from pyrite.bounded.keyed import TableRows
from pyrite.bounded.traced import combine_chain, combine_frames

SUMS = Aggregator(lambda value: value, add, add)
PAIRS = Aggregator(
    lambda value: (value, 1),
    lambda state, value: (state[0] + value, state[1] + 1),
    lambda left, right: (left[0] + right[0], left[1] + right[1]),
)
ODD_ROWS: list[Any] = [
    (True, 5),
    (1.0, 5),
    (2**70, 5),
    (3, 2.5),
    (3, 2**70),
    (3, None),
    ("text", 5),
    (3, True),
    [3, 4],
    (None, 1),
]


def rows_of(random: Random, count: int, keys: int) -> list[Any]:
    return [(random.randrange(keys), random.randrange(1000)) for _ in range(count)]


def chain_of(rows: list[Any], mode: Mode = "EAGER") -> Chain:
    steps = [("map", lambda row: row)]
    return Chain(iter(rows), steps, run_steps, Tracing(mode), True)


def text_of(rows: Any) -> str:
    try:
        return repr(list(rows()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("aggregator", [SUMS, PAIRS])
@pytest.mark.parametrize("mode", ["TRUE", "EAGER", "DOUBTING"])
def test_results_and_their_order_are_the_same(tmp_path: Path, aggregator: Any, mode: Mode) -> None:
    rows = rows_of(Random(1), 30_000, 700)
    made = combine_chain(chain_of(rows, mode), aggregator, ample_space(tmp_path))
    assert isinstance(made, TableRows)
    assert list(made) == list(combine_values(rows, aggregator, ample_space(tmp_path)))


@pytest.mark.parametrize("odd", ODD_ROWS, ids=repr)
@pytest.mark.parametrize("aggregator", [SUMS, PAIRS])
def test_an_odd_row_turns_the_table_into_a_dict(tmp_path: Path, aggregator: Any, odd: Any) -> None:
    rows = rows_of(Random(2), 500, 20)
    rows[300:300] = [odd]
    rows[400:400] = [odd]
    got = text_of(lambda: combine_chain(chain_of(rows), aggregator, ample_space(tmp_path)))
    assert got == text_of(lambda: combine_values(rows, aggregator, ample_space(tmp_path)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("odd", [None, (1.0, 5), (3, 2**70)])
def test_a_table_that_does_not_fit_spills(tmp_path: Path, seed: int, odd: Any) -> None:
    rows = rows_of(Random(seed), 5000, 900)
    if odd is not None:
        rows[4000:4000] = [odd]
    space = tight_space(tmp_path, seed, 0.3)
    made = sorted(combine_chain(chain_of(rows, "DOUBTING"), PAIRS, space))
    assert made == sorted(combine_values(rows, PAIRS, ample_space(tmp_path)))
    assert space.spilled_bytes > 0
    space.close()


def packed_frames(
    rows: list[Any], random: Random, folder: Path
) -> Iterator[list[Any] | PackedRows]:
    """Combiners in frames, as several maps would write them."""
    rest = iter(rows)
    space = ample_space(folder)
    while some := list(islice(rest, random.randrange(1, 400))):
        made = combine_chain(chain_of(some), SUMS, space)
        if isinstance(made, TableRows):
            for dealt in made.deal(1, 100):
                yield from dealt
        else:
            yield list(made)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("odd", [None, *ODD_ROWS[:4]], ids=repr)
@pytest.mark.parametrize("mode", ["EAGER", "DOUBTING"])
def test_frames_of_both_kinds_are_merged(tmp_path: Path, seed: int, odd: Any, mode: Mode) -> None:
    random = Random(seed)
    rows = rows_of(random, 3000, 150)
    if odd is not None:
        rows[random.randrange(3000) : 0] = [odd]
    frames = list(packed_frames(rows, Random(seed), tmp_path))
    assert any(isinstance(each, PackedRows) for each in frames)
    lists = [each.rows() if isinstance(each, PackedRows) else each for each in frames]
    wanted = list(combine_combiners(lists, SUMS, ample_space(tmp_path)))
    got = list(combine_frames(iter(frames), SUMS, ample_space(tmp_path), Tracing(mode)))
    assert repr(got) == repr(wanted)
    space = tight_space(tmp_path, seed, 0.3)
    assert sorted(combine_frames(iter(frames), SUMS, space, Tracing(mode))) == sorted(wanted)
    space.close()


def test_rows_are_read_in_the_middle_of_a_table_too(tmp_path: Path) -> None:
    made = combine_chain(chain_of(rows_of(Random(3), 9000, 6000)), SUMS, ample_space(tmp_path))
    assert isinstance(made, TableRows)
    first = [next(made) for _ in range(4500)]
    assert len(first) + len(list(made)) == len({key for key, _ in rows_of(Random(3), 9000, 6000)})
