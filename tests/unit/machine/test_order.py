"""Orders and ranges of plain keys are those of the interpreter."""

from bisect import bisect_left
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pyrite.bounded.sort import sort_rows
from pyrite.bounded.space import Space
from pyrite.machine._rows import deal_ranges, sorted_rows
from pyrite.machine.chain import Tracing
from pyrite.rdd.partitioner import ByKey, ByRange, Partitioner, RangeFunc

COUNT = 20_000
RANDOM = Random(19)


def texts(alphabet: str, longest: int, before: str = "") -> list[str]:
    sizes = (RANDOM.randrange(longest + 1) for _ in range(COUNT))
    return [before + "".join(RANDOM.choices(alphabet, k=size)) for size in sizes]


PLAIN: dict[str, list[Any]] = {
    "small ints": [RANDOM.randrange(-300, 300) for _ in range(COUNT)],
    "ints": [RANDOM.randrange(-(2**63), 2**63) for _ in range(COUNT)],
    "bounds of ints": RANDOM.choices([0, -1, 1, 2**63 - 1, -(2**63)], k=COUNT),
    "floats": [RANDOM.gauss(0, 1e3) for _ in range(COUNT)],
    "odd floats": RANDOM.choices([0.0, -0.0, float("inf"), -float("inf"), 5e-324, -1e308], k=COUNT),
    "texts": texts("ab", 20),
    "short texts": texts("ab\0", 9),
    "texts that begin alike": texts("012", 12, "a name that all have "),
    "bytes": [text.encode("latin-1") for text in texts("a\0\xff\x7f\x80", 12)],
    "equal keys": ["a long key that all rows have"] * COUNT,
}
OTHERS: dict[str, list[Any]] = {
    "texts beyond ASCII": texts("aé", 5),
    "large ints": [2**63, *PLAIN["ints"]],
    "a bool": [True, *PLAIN["small ints"]],
    "ints and floats": [1.5, *PLAIN["small ints"]],
    "tuples": [(number % 7, number) for number in PLAIN["small ints"]],
    "not a number": [1.0, float("nan"), *PLAIN["floats"][:500]],
    "no keys": [],
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", PLAIN)
def test_rows_are_in_the_order_of_sorted(name: str, reverse: bool) -> None:
    keys = PLAIN[name]
    rows = list(range(COUNT))
    assert sorted_rows(rows, keys, reverse) == sorted(rows, key=keys.__getitem__, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", [*PLAIN, *OTHERS])
def test_a_sort_is_stable_whatever_the_keys(name: str, reverse: bool, tmp_path: Path) -> None:
    keys = [*PLAIN.get(name, []), *OTHERS.get(name, [])]
    rows = [(key, number) for number, key in enumerate(keys)]
    space = Space(1 << 40, str(tmp_path))
    made = sort_rows(iter(rows), lambda row: row[0], reverse, space, Tracing("TRUE"))
    assert repr(list(made)) == repr(sorted(rows, key=lambda row: row[0], reverse=reverse))


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "no keys"])
def test_other_keys_are_refused(name: str) -> None:
    keys = OTHERS[name]
    assert sorted_rows(list(keys), keys, False) is None
    buckets: list[list[Any]] = [[], []]
    assert not deal_ranges(list(keys), keys, keys[:1], True, buckets)
    assert buckets == [[], []]


def test_a_key_is_asked_for_once(tmp_path: Path) -> None:
    asked: list[int] = []

    def key(number: int) -> Any:
        asked.append(number)
        return (number % 7,)

    rows = list(range(5000))
    space = Space(1 << 40, str(tmp_path))
    made = list(sort_rows(iter(rows), key, False, space, Tracing("TRUE")))
    assert made == sorted(rows, key=lambda number: number % 7)
    assert asked == rows


def test_a_stop_of_the_user_s_is_no_end(tmp_path: Path) -> None:
    def key(number: int) -> int:
        if number == 3000:
            raise StopIteration
        return number

    with pytest.raises(StopIteration):
        sort_rows(iter(range(5000)), key, False, Space(1 << 40, str(tmp_path)), Tracing("TRUE"))


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("name", [*PLAIN, *OTHERS])
def test_rows_fall_into_the_ranges_of_bisect(name: str, ascending: bool) -> None:
    keys = [*PLAIN.get(name, []), *OTHERS.get(name, [])]
    bounds = sorted(keys[::900])
    rows = [(key, number) for number, key in enumerate(keys)]
    wanted: list[list[Any]] = [[] for _ in range(len(bounds) + 1)]
    for row in rows:
        place = bisect_left(bounds, row[0])
        wanted[place if ascending else len(bounds) - place].append(row)
    by_range = ByRange(RangeFunc(bounds, lambda row: row[0], ascending))
    by_key = ByKey(Partitioner(len(wanted), RangeFunc(bounds, None, ascending)))
    for router in (by_range, by_key):
        buckets: list[list[Any]] = [[] for _ in wanted]
        router.deal(rows, buckets)
        assert repr(buckets) == repr(wanted)


def test_the_first_row_that_raises_is_told() -> None:
    def key(row: Any) -> Any:
        return 1 // row if row != 5 else "five"

    router = ByRange(RangeFunc([3], key, True))
    with pytest.raises(TypeError):
        router.deal([1, 2, 5, 0], [[], []])
    with pytest.raises(ZeroDivisionError):
        router.deal([1, 2, 0, 5], [[], []])


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError):
        sorted_rows([1, 2], [1], False)
    with pytest.raises(ValueError):
        deal_ranges([1], [1, 2], [1], True, [[], []])
    with pytest.raises(ValueError):
        deal_ranges([1], [1], [1], True, [[]])
    with pytest.raises(ValueError):
        deal_ranges([1], [1], [1], True, [[], ()])  # type: ignore[list-item]
