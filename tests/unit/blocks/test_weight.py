"""Rows are taken in many at a time, but few where they are large."""

from collections.abc import Iterator
from typing import Any

import pytest

from pyrite.blocks.weight import WeighedRows, deep_size

MEBIBYTE = 1 << 20
MOST_BYTES = 2 * MEBIBYTE
# A chunk is to take an eighth of the limit: four of them still leave half of it.


def chunks(rows: list[Any], most_bytes: int = MOST_BYTES) -> list[list[Any]]:
    found = list(WeighedRows(rows, most_bytes).chunks(4096))
    assert [row for chunk in found for row in chunk] == rows
    return found


def counts(rows: list[Any]) -> list[int]:
    return [len(chunk) for chunk in chunks(rows)]


def heaviest(rows: list[Any], most_bytes: int = MOST_BYTES) -> int:
    return max(sum(map(deep_size, chunk)) for chunk in chunks(rows, most_bytes))


def test_small_rows_come_in_large_chunks() -> None:
    assert counts(list(range(10_000))) == [4096, 4096, 1808]
    assert counts([1, 2]) == [2]
    assert counts([]) == []


def test_large_rows_come_in_small_chunks() -> None:
    assert counts([bytes(MEBIBYTE // 4)] * 20) == [8, 8, 4]
    assert counts([bytes(16 * MEBIBYTE)] * 3) == [1, 1, 1]


def test_few_rows_are_made_before_it_is_known_how_large_they_are() -> None:
    made: list[int] = []

    def rows() -> Iterator[bytes]:
        for number in range(100):
            made.append(number)
            yield bytes(4 * MEBIBYTE)

    assert len(WeighedRows(rows(), MOST_BYTES).take(4096)) == 1
    assert made == [0]


@pytest.mark.parametrize("most_bytes", [MEBIBYTE, 6 * MEBIBYTE, 100 * MEBIBYTE])
def test_large_rows_after_many_tiny_ones_are_noticed_at_once(most_bytes: int) -> None:
    large = [bytes(MEBIBYTE // 2)] * 300
    assert heaviest([b"x"] * 20_000 + large, most_bytes) <= 4 * most_bytes


@pytest.mark.parametrize("period", [2, 3, 4, 8, 12, 16, 32, 64])
def test_large_rows_between_tiny_ones_are_noticed(period: int) -> None:
    tiny, large = b"x", bytes(MEBIBYTE)
    rows = [large if number % period == 0 else tiny for number in range(4096)]
    assert heaviest(rows, 32 * MEBIBYTE) <= 4 * 32 * MEBIBYTE


def test_the_rows_of_one_chunk_tell_how_many_like_them_fit() -> None:
    weighed = WeighedRows([bytes(MEBIBYTE // 4)] * 20, MOST_BYTES)
    weighed.take(4096)
    assert weighed.fitting_rows == 7
    weighed = WeighedRows(["word"] * 5000, MOST_BYTES)
    weighed.take(4096)
    assert 10_000 < weighed.fitting_rows < MOST_BYTES


def test_taking_goes_on_where_it_stopped() -> None:
    weighed = WeighedRows(range(10), MOST_BYTES)
    assert weighed.take(3) == [0, 1, 2]
    assert list(weighed.rows) == [3, 4, 5, 6, 7, 8, 9]
    assert weighed.take(3) == []


def test_rows_before_one_that_raises_come_first() -> None:
    weighed = WeighedRows((10 // (3000 - number) for number in range(5000)), MOST_BYTES)
    taken: list[int] = []
    with pytest.raises(ZeroDivisionError):
        while some := weighed.take(4096):
            taken += some
    assert len(taken) == 3000
    with pytest.raises(ZeroDivisionError):
        next(WeighedRows((1 // number for number in range(3)), MOST_BYTES).chunks(2))
