"""Rows are taken in many at a time, but few where they are large."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrite.bounded.chunks import Chunks
from pyrite.bounded.space import Space

MEBIBYTE = 1 << 20


@pytest.fixture
def space(tmp_path: Path) -> Space:
    """The process never grows: the rows lie in memory that it had."""
    return Space(16 * MEBIBYTE, str(tmp_path), measure=lambda: 0)


def counts(rows: list[Any], space: Space) -> list[int]:
    chunks = list(Chunks(iter(rows), space))
    assert [row for chunk in chunks for row in chunk] == rows
    return [len(chunk) for chunk in chunks]


def test_small_rows_come_in_large_chunks(space: Space) -> None:
    assert counts(list(range(10_000)), space) == [4096, 4096, 1808]
    assert counts([1, 2], space) == [2]
    assert counts([], space) == []


def test_large_rows_come_in_small_chunks(space: Space) -> None:
    assert counts([bytes(MEBIBYTE // 4)] * 20, space) == [7, 7, 6]
    assert counts([bytes(16 * MEBIBYTE)] * 3, space) == [1, 1, 1]


def test_rows_that_become_large_come_in_small_chunks_from_then_on(space: Space) -> None:
    small, large = 0, bytes(MEBIBYTE)
    assert counts([small] * 5000 + [large] * 4000, space) == [4096, 4096] + [1] * 808


def test_one_stream_of_rows_says_nothing_of_another(space: Space) -> None:
    large = iter(Chunks(iter([bytes(MEBIBYTE)] * 3), space))
    assert len(next(large)) == 1
    assert counts([0] * 5000, space) == [4096, 904]
    assert len(next(large)) == 1


def test_few_rows_are_made_before_it_is_known_how_large_they_are(space: Space) -> None:
    made: list[int] = []

    def rows() -> Iterator[bytes]:
        for number in range(100):
            made.append(number)
            yield bytes(MEBIBYTE)

    next(iter(Chunks(rows(), space)))
    assert made == [0]
