"""Pairs with long texts are dealt, merged and given on a few megabytes at a time."""

from __future__ import annotations

from operator import add
from pathlib import Path
from typing import Any

import pytest

from pyrite.bounded.aggregate import Aggregator
from pyrite.bounded.space import Space
from pyrite.bounded.traced import combine_chain, group_chain, send_chain
from pyrite.machine.chain import Chain, Tracing
from pyrite.machine.framerows import FrameRows
from pyrite.machine.packed import PackedRows, Undealt
from pyrite.rdd.fuse import run_steps
from pyrite.shuffle.write import Dealable

MEBIBYTE = 1 << 20
ROWS = 5000
PAD = "x" * 3000


def keyed(number: int) -> tuple[str, int]:
    return str(number) + PAD, number


def wide(number: int) -> tuple[int, tuple[float, ...]]:
    x = number * 0.5
    return number, (x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x)


def late(number: int) -> tuple[str, int]:
    return (str(number) + PAD if number > 3000 else "a"), number


def chain_of(function: Any, rows: int) -> Chain:
    return Chain(iter(range(rows)), [("map", function)], run_steps, Tracing("EAGER"), True)


def size_of(packed: PackedRows) -> int:
    return len(packed.words) + len(packed.heap)


@pytest.mark.parametrize("send", [group_chain, send_chain])
@pytest.mark.parametrize(("function", "rows"), [(keyed, ROWS), (late, ROWS), (wide, 30_000)])
def test_a_deal_is_small_beside_the_memory(
    send: Any, function: Any, rows: int, tmp_path: Path
) -> None:
    pairs = send(chain_of(function, rows), Space(32 * MEBIBYTE, str(tmp_path)))
    assert isinstance(pairs, Dealable)
    found: list[Any] = []
    for dealt in pairs.deal(2, 65_536):
        assert not isinstance(dealt, Undealt)
        assert sum(map(size_of, dealt)) <= 3 * MEBIBYTE
        for part in dealt:
            found += part.rows()
    assert sorted(found) == sorted(map(function, range(rows)))


def indexed(row: tuple[str, str]) -> list[tuple[str, str]]:
    return [(word, row[0]) for word in row[1].split()]


def test_rows_with_more_text_than_a_log_are_dealt_packed(tmp_path: Path) -> None:
    text = " ".join(map(str, range(1500)))
    rows = [(str(number) + PAD, text) for number in range(25)]
    chain = Chain(iter(rows), [("flatMap", indexed)], run_steps, Tracing("EAGER"), True)
    pairs = send_chain(chain, Space(32 * MEBIBYTE, str(tmp_path)))
    assert isinstance(pairs, Dealable)
    found = 0
    for dealt in pairs.deal(2, 65_536):
        assert not isinstance(dealt, Undealt)
        found += sum(map(len, dealt))
    assert found == 25 * 1500


def test_combiners_are_given_on_in_small_frames(tmp_path: Path) -> None:
    space = Space(1 << 40, str(tmp_path))
    rows = combine_chain(chain_of(keyed, ROWS), Aggregator(int, add, add), space)
    assert isinstance(rows, FrameRows)
    for frame in rows.rest():
        assert isinstance(frame, PackedRows)
        assert size_of(frame) <= 2 * MEBIBYTE
