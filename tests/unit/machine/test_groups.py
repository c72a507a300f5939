"""Groups hold the values of each key, in the order in which they came."""

import struct
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pyrite.bounded import vectors
from pyrite.bounded.space import Space
from pyrite.bounded.vectors import Side, gather, group_packed
from pyrite.machine._rows import CoGroups, Groups, Program, Table
from pyrite.machine.chain import Chain, Tracing
from pyrite.machine.emit import OPERATIONS
from pyrite.machine.grouprows import GroupRows
from pyrite.machine.packed import PackedRows
from pyrite.rdd.fuse import run_steps

LAYOUT = "(i(if))"


def packed(rows: list[tuple[int, tuple[int, float]]]) -> PackedRows:
    return PackedRows(LAYOUT, b"".join(struct.pack("<qqd", key, *value) for key, value in rows))


def some_rows(size: int) -> list[tuple[int, tuple[int, float]]]:
    random = Random(size)
    return [(random.randrange(-50, 50), (number, number * 0.5)) for number in range(size)]


def expected(rows: list[Any]) -> list[Any]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    return list(groups.items())


@pytest.mark.parametrize("size", [1, 1024, 1025, 20_000])
def test_values_are_by_key_in_their_order(size: int, tmp_path: Path) -> None:
    rows = some_rows(size)
    frames = [packed(rows[start : start + 700]) for start in range(0, size, 700)]
    grouped = group_packed(iter(frames), Space(1 << 40, str(tmp_path)))
    assert isinstance(grouped, GroupRows)
    assert [(key, list(values)) for key, values in grouped] == expected(rows)


def test_few_values_are_objects_at_a_time(tmp_path: Path) -> None:
    rows = [(n % 10, (n, 0.5)) for n in range(20_000)]
    grouped = group_packed(iter([packed(rows)]), Space(1 << 40, str(tmp_path)))
    assert isinstance(grouped, GroupRows)
    # The first rows, which the interpreter runs, are few as well.
    chain = Chain(grouped, [("mapValues", len)], run_steps, Tracing("TRUE"))
    assert list(chain.first_results()) == []
    assert [len(list(batch)) for batch in grouped._batches()] == [8, 2]


def test_rows_of_another_kind_go_on_plainly(tmp_path: Path) -> None:
    rows = some_rows(5000)
    frames: list[Any] = [packed(rows[:3000]), [(True, "odd")], packed(rows[3000:])]
    grouped = group_packed(iter(frames), Space(1 << 40, str(tmp_path)))
    assert not isinstance(grouped, GroupRows)
    wanted = expected([*rows[:3000], (True, "odd"), *rows[3000:]])
    assert [(key, list(values)) for key, values in grouped] == wanted


def test_short_memory_goes_on_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MOST_ROWS_PER_STRIDE", 500)
    rows = some_rows(5000)
    frames = [packed(rows[start : start + 700]) for start in range(0, 5000, 700)]
    space, answers = Space(1 << 40, str(tmp_path)), iter([False, True])
    monkeypatch.setattr(space, "over", lambda: next(answers, False))
    grouped = group_packed(iter(frames), space)
    assert not isinstance(grouped, GroupRows)
    assert sorted((key, list(values)) for key, values in grouped) == sorted(expected(rows))
    space.close()


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    frames = [packed([(key, (key, 0.5)) for key in range(3000)])]
    grouped = group_packed(iter(frames), Space(1 << 40, str(tmp_path)))
    assert isinstance(grouped, GroupRows)
    assert [next(grouped)[0] for _ in range(1500)] == list(range(1500))
    assert grouped.read() == 1500
    assert [key for key, _ in grouped.from_group(grouped.read())] == list(range(1500, 3000))


@pytest.mark.parametrize("layout", ["i", "(f)", "(fi)", "(si)", "(ss)", "(i[f])", "(is)", "[ii]"])
def test_only_pairs_whose_keys_are_ints_or_text_are_grouped(layout: str, tmp_path: Path) -> None:
    gathered = gather(iter([PackedRows(layout, b"")]), Space(1 << 40, str(tmp_path)))
    assert isinstance(gathered, Side) == (layout in ("(si)", "(ss)", "(is)"))


@pytest.mark.parametrize("odd", [(1, 2, 3), [1, 2], (True, 2), (1, 2.5), (1, 2**63), (1.0, 2)])
def test_rows_between_packed_ones_are_gathered(odd: Any, tmp_path: Path) -> None:
    rows = [(number % 3000, number) for number in range(9000)]
    words = b"".join(struct.pack("<qq", *row) for row in rows)
    frames = [rows[:4000], PackedRows("(ii)", words), rows]
    space = Space(1 << 40, str(tmp_path))
    side = gather(iter(frames), space)
    assert isinstance(side, Side)
    assert [row for batch in side.batches() for row in batch] == rows[:4000] + rows + rows
    left = gather(iter([*frames, [(7, 7), odd], frames[1]]), space)
    assert not isinstance(left, Side)
    wanted = rows[:4000] + rows + rows + [(7, 7), odd] + rows
    assert [row for batch in left for row in batch] == wanted


@pytest.mark.parametrize("words", [254, 255, 300])
def test_rows_of_many_numbers_are_gathered_or_left(words: int, tmp_path: Path) -> None:
    """A layout has 255 words at most, the key's among them."""
    rows = [(n % 7, (n, *range(words - 1))) for n in range(100)]
    side = gather(iter([rows[:60], rows[60:]]), Space(1 << 40, str(tmp_path)))
    assert isinstance(side, Side) == (words < 255)
    batches = side.batches() if isinstance(side, Side) else side
    assert [row for batch in batches for row in batch] == rows


def test_wrong_arguments_are_refused() -> None:
    groups = Groups("(ii)")
    with pytest.raises(ValueError):
        groups.add("(iii)", bytes(24), b"")
    with pytest.raises(ValueError):
        groups.add("(si)", bytes(16), b"")
    with pytest.raises(ValueError):
        groups.put("(si)", [])
    with pytest.raises(ValueError):
        groups.find("i", 0)
    with pytest.raises(ValueError):
        CoGroups((groups,))
    with pytest.raises(ValueError):
        groups.close()
    assert groups.reserve()
    assert groups.add("(ii)", bytes(32), b"") == 2
    with pytest.raises(ValueError):
        groups.close()
    assert groups.reserve()
    groups.close()
    with pytest.raises(ValueError):
        groups.add("(ii)", bytes(16), b"")
    with pytest.raises(ValueError):
        groups.rows("i", 0, 1)
    both = CoGroups((groups, groups))
    for layouts in (("f f", "i"), ("i",), ("i", "ii")):
        with pytest.raises(ValueError):
            both.lists(layouts, 0, 1)
    assert both.lists(("i", "i"), 0, 5) == [(0, ([0, 0], [0, 0]))]
    with pytest.raises(ValueError):
        CoGroups(())
    with pytest.raises(ValueError):
        CoGroups((groups,) * 17)
    by_text = Groups("(si)")
    assert by_text.reserve()
    by_text.close()
    with pytest.raises(ValueError):
        CoGroups((groups, by_text))
    for wrong in ("(f)", "(fs)", "(i)", "i"):
        with pytest.raises(ValueError):
            Groups(wrong)
    program = Program(struct.pack("=4H", _end(), 0, 0, 0), {}, 2, None, 0)
    with pytest.raises(ValueError):
        program.groups(CoGroups((groups,)), 0, 2)
    with pytest.raises(ValueError):
        program.groups(both, 0, 1)
    assert program.groups(CoGroups((groups,)), 0, 1) == (0, 0, 1)
    with pytest.raises(TypeError):
        Program(struct.pack("=4H", _end(), 0, 0, 0), {}, 2, None, 0, Groups("(ii)"))
    finding = struct.pack("=8H", OPERATIONS["FIND_GROUP"], 0, 0, 0, _end(), 0, 0, 0)
    for wrong in (None, by_text):
        with pytest.raises(ValueError):
            Program(finding, {}, 2, None, 0, wrong)
    assert Program(finding, {}, 2, None, 0, groups).count(0, 1, 1) == (0, 0, 1)


def _end() -> int:
    return OPERATIONS["END"]


def test_a_log_keeps_every_row() -> None:
    log = Table(2, False, True)
    rows = [(number % 3, number) for number in range(5000)]
    assert all(log.put("(ii)", row) for row in rows)
    assert log.rows("(ii)", 0, 1 << 40) == rows
    assert log.find("(ii)", 1) is None
    assert sum(len(words) // 16 for words, _ in log.deal(3, 0, 1 << 40)) == 5000
