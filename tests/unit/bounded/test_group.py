"""Grouping gives what plain dicts of lists give, wherever memory runs out."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tight_space import LIMIT_BYTES, Level, ample_space, short_halfway, tight, tight_space

from pyrite.blocks.codec import encode
from pyrite.blocks.weight import deep_size
from pyrite.bounded.group import SpilledValues, cogroup, group_locally, group_values
from pyrite.bounded.large import RowTooLarge
from pyrite.bounded.space import MOST_ROWS_PER_STRIDE, Space
from pyrite.bounded.spill import SpillReader, SpillWriter
from pyrite.resultiterable import ResultIterable

keys = st.one_of(st.integers(0, 30), st.text(max_size=2), st.none())
side = st.lists(st.lists(st.tuples(keys, st.lists(st.integers())), max_size=20), max_size=6)


class Unlucky(int):
    """A key whose hash is the same for all."""

    def __hash__(self) -> int:
        return 7


def plainly(batches: list[list[tuple[Any, list[Any]]]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for batch in batches:
        for key, values in batch:
            groups[key] = groups.get(key, []) + values
    return groups


def local(batches: list[list[tuple[Any, list[Any]]]]) -> list[list[Any]]:
    """The same as map tasks tell it: single values without a list."""
    return [
        [(key, *values) if len(values) == 1 else (key, None, values) for key, values in batch]
        for batch in batches
    ]


def flat(batches: list[list[tuple[Any, list[Any]]]]) -> list[list[tuple[Any, Any]]]:
    """The same values, each as a row of its own."""
    return [[(key, value) for key, values in batch for value in values] for batch in batches]


def flat_lists(batches: list[list[tuple[Any, list[Any]]]]) -> list[list[tuple[Any, list[Any]]]]:
    """Without the keys that have no values."""
    return [[(key, values) for key, values in batch if values] for batch in batches]


def rows_of(key: Any, values: range, size: int) -> list[tuple[Any, list[int]]]:
    return [(key, list(values[start : start + size])) for start in range(0, len(values), size)]


@tight
@given(batches=side, seed=st.integers(0, 99))
def test_groups_hold_all_values_in_order(tmp_path: Path, batches: list[Any], seed: int) -> None:
    space = tight_space(tmp_path, seed)
    result = list(group_values(local(batches), space))
    assert {key: list(values) for key, values in result} == plainly(batches)
    assert all(len(values) == len(list(values)) for _, values in result)
    assert len(result) == len(plainly(batches))
    space.close()
    assert list(tmp_path.iterdir()) == []


@tight
@given(sides=st.lists(side, min_size=1, max_size=3), seed=st.integers(0, 99))
def test_cogroups_hold_the_values_of_every_side(
    tmp_path: Path, sides: list[Any], seed: int
) -> None:
    space = tight_space(tmp_path, seed)
    result = list(cogroup([flat(side) for side in sides], space))
    plain = [plainly(flat_lists(batches)) for batches in sides]
    expected = {key: [each.get(key, []) for each in plain] for one in plain for key in one}
    assert {key: [list(each) for each in values] for key, values in result} == expected
    assert len(result) == len(expected)
    space.close()


@tight
@given(rows=st.lists(st.tuples(keys, st.integers()), max_size=200), seed=st.integers(0, 99))
def test_local_groups_merge_to_the_whole(tmp_path: Path, rows: list[Any], seed: int) -> None:
    space = tight_space(tmp_path, seed)
    parts = list(group_locally(iter(rows), space))
    merged = group_values([parts], ample_space(tmp_path))
    assert dict(merged) == plainly([[(key, [value]) for key, value in rows]])
    assert space.spilled_bytes == 0


def test_a_hot_key_leaves_the_map_side_in_small_rows(tmp_path: Path) -> None:
    space = Space(32 << 20, str(tmp_path))
    rows = [("hot" if index % 10 else index, b"%0200d" % index) for index in range(50_000)]
    found = list(group_locally(rows, space))
    assert max(map(deep_size, found)) * MOST_ROWS_PER_STRIDE < 32 << 20
    assert any(len(row) == 3 for row in found), "values are still given together"
    merged = dict(group_values([found], ample_space(tmp_path)))
    assert list(merged["hot"]) == [value for key, value in rows if key == "hot"]
    large = [("hot", bytes(1 << 20)) for _ in range(10)]
    assert list(group_locally(large, space)) == large


def test_a_hot_key_that_comes_last_is_spilled_in_small_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = iter([0, 0, 33 << 20])
    space = Space(32 << 20, str(tmp_path), measure=lambda: next(levels, 16 << 20))
    largest_row = 0
    write = SpillWriter.write

    def watched(writer: SpillWriter, bucket: Any, rows: list[Any]) -> None:
        nonlocal largest_row
        write(writer, bucket, rows)
        largest_row = max(largest_row, *map(deep_size, rows))

    monkeypatch.setattr(SpillWriter, "write", watched)
    few = [("hot", b"first"), *((index, b"%d" % index) for index in range(64))]
    many = [("hot", b"%0200d" % index) for index in range(50_000)]
    groups = {key: list(values) for key, values in group_values([few, many], space)}
    assert space.spilled_bytes > 200 * len(many)
    assert largest_row * MOST_ROWS_PER_STRIDE < 32 << 20
    assert groups["hot"] == [b"first", *(value for _, value in many)]
    assert len(groups) == 65
    space.close()


def test_a_group_that_memory_can_not_hold_says_so_when_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = tight_space(tmp_path, chance=1.0)
    ((_, values),) = group_values(local([rows_of("giant", range(100), 2)]), space)

    def no_memory(reader: SpillReader, bucket: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(SpillReader, "batches", no_memory)
    with pytest.raises(RowTooLarge, match="the group of key 'giant' has 100 values"):
        encode([("giant", values)])
    space.close()


def test_keys_that_rarely_come_again_are_not_gathered_before_the_shuffle(tmp_path: Path) -> None:
    space = ample_space(tmp_path)
    rows = [(index % 90_000, index) for index in range(100_000)]
    groups = group_locally(iter(rows), space)
    assert all(type(row) is tuple and len(row) == 2 for row in groups)
    again = [(index % 1_000, index) for index in range(100_000)]
    assert len(list(group_locally(iter(again), space))) == 1_000
    assert list(group_locally([["key", 1]], space)) == [("key", 1)]


def test_rows_after_keys_were_found_rare_keep_their_order(tmp_path: Path) -> None:
    space = ample_space(tmp_path)
    rows = [(index % 70_000 or "often", index) for index in range(150_000)]
    rows[10:10] = [("often", -1)]
    expected: dict[Any, list[int]] = {}
    for key, value in rows:
        expected.setdefault(key, []).append(value)
    merged = dict(group_values([list(group_locally(rows, space))], space))
    assert list(merged.items()) == list(expected.items())


def test_keys_come_in_the_order_first_seen_when_nothing_spills(tmp_path: Path) -> None:
    space = ample_space(tmp_path)
    left = [[("b", [1]), ("a", [2])], [("b", [3])]]
    right = [[("c", [4]), ("a", [5])]]
    groups = [(key, list(values)) for key, values in group_values(local(left), space)]
    assert groups == [("b", [1, 3]), ("a", [2])]
    both = [
        (key, list(map(list, values))) for key, values in cogroup([flat(left), flat(right)], space)
    ]
    assert both == [("b", [[1, 3], []]), ("a", [[2], [5]]), ("c", [[], [4]])]
    assert left == [[("b", [1]), ("a", [2])], [("b", [3])]], "the lists given stay as they were"
    assert space.spilled_bytes == 0


def test_a_group_larger_than_memory_is_iterated_from_its_file(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    batches = [rows_of("giant", range(start, start + 500), 5) for start in range(0, 5000, 500)]
    batches[3:3] = [[(f"key {index}", [index]) for index in range(300)]]
    result = dict(group_values(local(batches), space))
    giant = result.pop("giant")
    assert isinstance(giant.data, SpilledValues)
    assert len(giant) == giant.maxindex == 5000
    assert list(giant) == list(giant) == list(range(5000))
    assert 4999 in giant and 5000 not in giant
    assert {key: list(values) for key, values in result.items()} == {
        f"key {index}": [index] for index in range(300)
    }
    space.close()
    assert list(tmp_path.iterdir()) == []
    assert sum(giant) == sum(range(5000)), "who holds a group can read it after the task"


def test_a_group_that_grows_large_late_keeps_its_order(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    space.stride_rows = 64
    few = [[("late", [-1]), *((index, [index]) for index in range(60))], [("late", [-2])]]
    many = rows_of("late", range(1000), 10)
    result = dict(group_values(local([*few, many]), space))
    assert list(result["late"]) == [-1, -2, *range(1000)]
    assert len(result) == 61
    space.close()


def test_a_group_large_on_one_side_only(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    left = [rows_of("giant", range(1000), 10), [("left", [1])]]
    right = [[("giant", [7]), ("right", [2])]]
    result = {key: list(map(list, both)) for key, both in cogroup([flat(left), flat(right)], space)}
    assert result == {
        "giant": [list(range(1000)), [7]],
        "left": [[1], []],
        "right": [[], [2]],
    }
    space.close()


def test_keys_of_equal_hash_are_not_split_for_ever(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    batches = [[(Unlucky(key), [key, key]) for key in range(40)]] * 5
    result = {key: list(values) for key, values in group_values(local(batches), space)}
    assert result == {key: [int(key)] * 10 for key in map(Unlucky, range(40))}
    space.close()


def test_a_spilled_group_travels_as_a_list(tmp_path: Path) -> None:
    space = tight_space(tmp_path, chance=1.0)
    ((_, values),) = group_values(local([rows_of("giant", range(100), 2)]), space)
    assert isinstance(values.data, SpilledValues)
    travelled = pickle.loads(pickle.dumps(values))
    assert type(travelled) is ResultIterable
    assert travelled.data == pickle.loads(pickle.dumps(values.data)) == list(range(100))
    space.close()


def test_freed_memory_that_stays_with_the_process_splits_no_bucket(tmp_path: Path) -> None:
    level = Level()
    space = Space(LIMIT_BYTES, str(tmp_path), measure=level)
    batches = [[(key, "v")] for key in range(1000)]
    groups = group_values(short_halfway(level, batches), space)
    spilled = space.spilled_bytes
    assert spilled > 0
    level.now = LIMIT_BYTES + (3 << 19)
    assert sorted((key, *values) for key, values in groups) == [(key, "v") for key in range(1000)]
    assert space.spilled_bytes == spilled
    space.close()
