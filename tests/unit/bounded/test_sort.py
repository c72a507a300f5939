"""Sorting gives what `sorted` gives, also equal rows in their order, wherever memory runs out."""

from operator import itemgetter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tight_space import LIMIT_BYTES, Level, ample_space, short_halfway, tight, tight_space

from pyrite.bounded import sort
from pyrite.bounded.sort import first_rows, sort_rows
from pyrite.bounded.space import Space


@tight
@given(
    keys=st.lists(st.integers(0, 9), max_size=300),
    reverse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_rows_come_in_order_and_equal_rows_as_they_came(
    tmp_path: Path, keys: list[int], reverse: bool, seed: int
) -> None:
    rows = list(zip(keys, range(len(keys)), strict=True))
    space = tight_space(tmp_path, seed, chance=0.3)
    result = list(sort_rows(iter(rows), itemgetter(0), reverse, space))
    assert result == sorted(rows, key=itemgetter(0), reverse=reverse)
    space.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_without_a_key_are_compared_themselves(tmp_path: Path, reverse: bool) -> None:
    rows = Random(1).choices(range(1000), k=5000)
    space = tight_space(tmp_path)
    assert list(sort_rows(rows, None, reverse, space)) == sorted(rows, reverse=reverse)
    assert space.spilled_bytes > 0
    space.close()


def test_nothing_is_written_while_rows_fit(tmp_path: Path) -> None:
    space = ample_space(tmp_path)
    assert list(sort_rows([3, 1, 2], None, False, space)) == [1, 2, 3]
    assert list(sort_rows([], None, False, space)) == []
    assert space.spilled_bytes == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_more_runs_than_may_be_merged_at_once_are_merged_in_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reverse: bool
) -> None:
    monkeypatch.setattr(sort, "RUNS_PER_MERGE", 3)
    rows = [(key, index) for index, key in enumerate(Random(2).choices(range(20), k=200))]
    space = tight_space(tmp_path, chance=1.0)
    result = list(sort_rows(rows, itemgetter(0), reverse, space))
    assert result == sorted(rows, key=itemgetter(0), reverse=reverse)
    assert len(list(tmp_path.iterdir())) > 2, "one file for the runs and one for each pass"
    space.close()


@tight
@given(
    keys=st.lists(st.integers(0, 9), max_size=300),
    number=st.one_of(st.integers(-1, 40), st.integers(1, 300), st.just(10**30)),
    reverse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_first_rows_are_those_of_the_sorted_ones(
    tmp_path: Path, keys: list[int], number: int, reverse: bool, seed: int
) -> None:
    rows = list(zip(keys, range(len(keys)), strict=True))
    space = tight_space(tmp_path, seed, chance=0.3)
    result = list(first_rows(iter(rows), number, itemgetter(0), reverse, space))
    assert result == sorted(rows, key=itemgetter(0), reverse=reverse)[: max(0, number)]
    space.close()
    assert list(tmp_path.iterdir()) == []


class Key:
    """A key that counts how many there are."""

    now = most = 0

    def __init__(self, row: int) -> None:
        self.row = row
        Key.now += 1
        Key.most = max(Key.most, Key.now)

    def __del__(self) -> None:
        Key.now -= 1

    def __lt__(self, other: "Key") -> bool:
        return self.row < other.row


@pytest.mark.parametrize("first", [False, True])
def test_where_memory_is_short_the_keys_of_few_rows_are_held(tmp_path: Path, first: bool) -> None:
    level = Level()
    space = Space(LIMIT_BYTES, str(tmp_path), measure=level)
    Key.most = 0
    rows = short_halfway(level, list(range(12_000)))
    found = (
        first_rows(rows, 12_000, Key, True, space) if first else sort_rows(rows, Key, True, space)
    )
    assert list(found) == list(reversed(range(12_000)))
    assert 0 < Key.most < 5000
    space.close()
