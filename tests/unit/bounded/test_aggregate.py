"""Combining gives what a plain dict gives, wherever memory runs out."""

from collections import Counter
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tight_space import LIMIT_BYTES, Level, ample_space, short_halfway, tight, tight_space

from pyrite.bounded.aggregate import (
    BUCKETS,
    MOST_SPLITS,
    Aggregator,
    bucket_of,
    combine_combiners,
    combine_values,
    count_values,
)
from pyrite.bounded.large import RowTooLarge
from pyrite.bounded.space import Space

LISTS: Aggregator[Any, list[Any]] = Aggregator(
    create=lambda value: [value],
    merge_value=lambda values, value: [*values, value],
    merge_combiners=lambda left, right: left + right,
)
SUMS: Aggregator[int, int] = Aggregator(int, int.__add__, int.__add__)

keys = st.one_of(st.integers(-5, 40), st.text(max_size=2), st.none(), st.tuples(st.booleans()))


def plainly(rows: list[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    combined: dict[Any, list[Any]] = {}
    for key, value in rows:
        combined.setdefault(key, []).append(value)
    return combined


class Unlucky(int):
    """A key whose hash is the same for all."""

    def __hash__(self) -> int:
        return 7


@tight
@given(rows=st.lists(st.tuples(keys, st.integers()), max_size=200), seed=st.integers(0, 99))
def test_values_are_combined_in_order(
    tmp_path: Path, rows: list[tuple[Any, int]], seed: int
) -> None:
    space = tight_space(tmp_path, seed)
    result = list(combine_values(iter(rows), LISTS, space))
    assert dict(result) == plainly(rows)
    assert len(result) == len(plainly(rows))
    space.close()
    assert list(tmp_path.iterdir()) == []


@tight
@given(
    batches=st.lists(st.lists(st.tuples(keys, st.lists(st.integers())), max_size=30), max_size=9),
    seed=st.integers(0, 99),
)
def test_combiners_are_merged_in_order(tmp_path: Path, batches: list[Any], seed: int) -> None:
    space = tight_space(tmp_path, seed)
    expected: dict[Any, list[int]] = {}
    for batch in batches:
        for key, combiner in batch:
            expected[key] = expected.get(key, []) + combiner
    result = list(combine_combiners(batches, LISTS, space))
    assert dict(result) == expected
    assert len(result) == len(expected)
    space.close()


@tight
@given(values=st.lists(keys, max_size=200), seed=st.integers(0, 99))
def test_values_are_counted(tmp_path: Path, values: list[Any], seed: int) -> None:
    space = tight_space(tmp_path, seed)
    result = list(count_values(iter(values), space))
    assert dict(result) == Counter(values)
    assert len(result) == len(set(values))
    space.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [int, str, float, lambda x: (x, "x"), lambda x: 64 * x])
def test_each_split_divides_a_bucket_again(make: Callable[[int], Any]) -> None:
    """The keys of one bucket fall evenly into all at the next split."""
    keys = [make(number) for number in range(1, 200_000)]
    for split in range(MOST_SPLITS):
        parts = Counter(bucket_of(key, split) for key in keys)
        if len(keys) > 3000:
            assert len(parts) == BUCKETS
            assert max(parts.values()) < 2 * len(keys) // BUCKETS
        keys = [key for key in keys if bucket_of(key, split) == 7]
    assert len(keys) < 3


def test_values_are_counted_in_the_order_first_seen_when_nothing_spills(tmp_path: Path) -> None:
    counts = count_values(iter("abracadabra"), ample_space(tmp_path))
    assert list(counts) == [("a", 5), ("b", 2), ("r", 2), ("c", 1), ("d", 1)]


def test_keys_come_in_the_order_first_seen_when_nothing_spills(tmp_path: Path) -> None:
    space = ample_space(tmp_path)
    rows = [("b", 1), ("a", 2), ("b", 3), ("c", 4)]
    assert list(combine_values(rows, SUMS, space)) == [("b", 4), ("a", 2), ("c", 4)]
    assert list(combine_combiners([rows, rows], SUMS, space)) == [("b", 8), ("a", 4), ("c", 8)]
    assert space.spilled_bytes == 0


def test_many_keys_spill_and_every_file_is_removed(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=0.3)
    rows = [(index % 500, 1) for index in range(1500)]
    result = combine_values(rows, SUMS, space)
    assert space.spilled_bytes > 0
    assert sorted(result) == [(key, 3) for key in range(500)]
    assert len(list(tmp_path.iterdir())) > 1, "buckets that were too large were split again"
    space.close()
    assert list(tmp_path.iterdir()) == []


def test_one_giant_key_beside_others_ends(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    rows: list[tuple[str, int]] = []
    for index in range(500):
        rows += [("giant", 1), ("giant", 1), (f"key {index % 100}", 1)]
    result = dict(combine_values(rows, SUMS, space))
    assert result == {"giant": 1000} | {f"key {index}": 5 for index in range(100)}
    space.close()


def test_keys_of_equal_hash_are_not_split_for_ever(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    rows = [(Unlucky(index % 50), 1) for index in range(500)]
    assert dict(combine_values(rows, SUMS, space)) == dict.fromkeys(map(Unlucky, range(50)), 10)
    space.close()


def test_a_key_error_in_the_users_function_is_not_swallowed(tmp_path: Path) -> None:
    def merge(left: int, right: int) -> int:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        combine_values([(1, 1), (1, 1)], Aggregator(int, merge, merge), ample_space(tmp_path))


def test_a_combiner_larger_than_memory_is_named(tmp_path: Path) -> None:
    levels = iter([0])
    space = Space(1 << 20, str(tmp_path), measure=lambda: next(levels, 3 << 19))
    rows = [("hot", bytes(1000)) for _ in range(1000)]
    told = "the row of key 'hot' takes about .* by itself.*groupByKey"
    with pytest.raises(RowTooLarge, match=told):
        combine_values(iter(rows), LISTS, space)
    # Where the combiner is small, others hold the memory, and it may yet suffice.
    counts = Aggregator(lambda value: 1, lambda count, value: count + 1, int.__add__)
    assert list(combine_values(iter(rows), counts, space)) == [("hot", 1000)]


def test_no_memory_for_a_combiner_is_told_with_its_key(tmp_path: Path) -> None:
    def merge(values: list[Any], value: Any) -> list[Any]:
        if len(values) == 900:
            raise MemoryError
        return [*values, value]

    lists = Aggregator(LISTS.create, merge, LISTS.merge_combiners)
    rows = [*((index, b"") for index in range(10)), *(("hot", bytes(1000)) for _ in range(1000))]
    with pytest.raises(RowTooLarge, match="the row of key 'hot'"):
        combine_values(iter(rows), lists, Space(1 << 20, str(tmp_path), measure=lambda: 0))
    with pytest.raises(MemoryError) as caught:
        combine_values(iter(rows), lists, ample_space(tmp_path))
    assert type(caught.value) is MemoryError, "no row is large beside the memory there is"


def test_of_two_rows_that_raise_the_first_is_told(tmp_path: Path) -> None:
    adding: Aggregator[Any, Any] = Aggregator(lambda value: value, add, add)
    values = ("no number" if number == 3000 else 1 // (3001 - number) for number in range(5000))
    with pytest.raises(TypeError):
        combine_values(((0, value) for value in values), adding, ample_space(tmp_path))


def test_freed_memory_that_stays_with_the_process_splits_no_bucket(tmp_path: Path) -> None:
    level = Level()
    space = Space(LIMIT_BYTES, str(tmp_path), measure=level)
    counts = count_values(short_halfway(level, list(range(1000))), space)
    spilled = space.spilled_bytes
    assert spilled > 0
    level.now = LIMIT_BYTES + (3 << 19)
    assert sorted(counts) == [(value, 1) for value in range(1000)]
    assert space.spilled_bytes == spilled
    space.close()
