"""Rows that take long, or much memory: they can be cancelled, and leave nothing in the way."""

from __future__ import annotations

import signal
import struct
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from typed_functions import compiled

from pyrite.bounded.processmemory import private_bytes
from pyrite.bounded.space import Space
from pyrite.bounded.vectors import group_packed
from pyrite.machine import take
from pyrite.machine.chain import Chain, Tracing
from pyrite.machine.feed import End, Feed, Run
from pyrite.machine.packed import PackedRows
from pyrite.rdd.fuse import run_steps

MEBIBYTE = 1 << 20
LARGEST = "return sum([max([a ^ b for b in row[1]]) for a in row[1]])"
DIFFERENT = "return sum([len({a ^ b for b in row[1]}) for a in row[1]])"


def groups_of(function: str, largest: int, folder: Path) -> Chain:
    """Behind some groups of one value there is one of many."""
    pairs = [(key, key) for key in range(100)] + [(100, value) for value in range(largest)]
    frame = PackedRows("(ii)", b"".join(struct.pack("<qq", *pair) for pair in pairs))
    groups = group_packed(iter([frame]), Space(1 << 40, str(folder)))
    steps = [("map", compiled([function], 1))]
    return Chain(groups, steps, run_steps, Tracing("EAGER"), True)


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupting() -> Iterator[None]:
    """Raises once the process has computed for a while."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1.0)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    signal.signal(signal.SIGVTALRM, before)


def test_a_row_of_many_rounds_is_traced(tmp_path: Path) -> None:
    chain = groups_of(LARGEST, 500, tmp_path)
    assert take.sum_rows(chain) == (sum(max(a ^ b for b in range(500)) for a in range(500)),)
    assert ": in C" in chain.tracing.said[-1]


@pytest.mark.usefixtures("interrupting")
def test_a_row_of_many_rounds_can_be_cancelled(tmp_path: Path) -> None:
    """It would take minutes."""
    with pytest.raises(Interrupted):
        take.sum_rows(groups_of(LARGEST, 1_000_000, tmp_path))


def test_a_row_that_is_given_back_holds_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[tuple[End, int]] = []
    advance = Feed.advance

    def noting(self: Feed, program: Any, most: int) -> Run:
        run = advance(self, program, most)
        held.append((run.end, private_bytes()))
        return run

    monkeypatch.setattr(Feed, "advance", noting)
    chain = groups_of(DIFFERENT, 2000, tmp_path)
    before = private_bytes()
    assert take.sum_rows(chain) == (
        100 + sum(len({a ^ b for b in range(2000)}) for a in range(2000)),
    )
    assert ": in C" in chain.tracing.said[-1]
    [after] = [size for end, size in held if end == End.GIVEN_BACK]
    assert after - before < 64 * MEBIBYTE
