"""Other threads run while the machine does."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest
from typed_functions import compiled

from pyrite.machine import take
from pyrite.machine.chain import Chain, Tracing
from pyrite.machine.feed import Feed
from pyrite.rdd.fuse import run_steps


def run_until_seen(rows: Callable[[list[None]], Iterator[Any]], steps: list[Any]) -> None:
    """Runs a chain whose rows end when another thread has found this one in a program."""
    seen: list[None] = []
    runner = threading.get_ident()

    def watch() -> None:
        while not seen:
            time.sleep(0.001)
            frame = sys._current_frames()[runner]
            if frame.f_code is Feed.advance.__code__:
                seen.append(None)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    chain = Chain(rows(seen), steps, run_steps, Tracing("EAGER"), True)
    assert take.sum_rows(chain) is not None
    assert ": in C" in chain.tracing.said[-1]
    thread.join()


@pytest.mark.parametrize("lines", [["return row + 1"], ["return sum([row, row])"]])
def test_another_thread_runs_between_rows(lines: list[str]) -> None:
    # Nothing here is Python code, in which other threads would have their turns.
    run_until_seen(lambda seen: iter(seen.__len__, 1), [("map", compiled(lines, 1))])


def test_a_list_of_a_row_may_be_changed_by_another_thread() -> None:
    row: list[Any] = [1.5] * 100
    stop: list[None] = []

    def change() -> None:
        while not stop:
            row[:] = [0.5] * 3
            row[:] = [1.5] * 100

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    steps = [("map", compiled(["return sum([x * 2.0 for x in row]) * 0.0"], 1))]
    chain = Chain(repeat(row, 200_000), steps, run_steps, Tracing("EAGER"), True)
    taken = take.sum_rows(chain)
    stop.append(None)
    thread.join()
    assert taken == (0.0,)
