"""Deliberate bugs in what goes by keys are found by random walks, so the invariants do bite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_random_walks import Walk, run_walk

from pyrite.blocks.ledger import Ledger
from pyrite.blocks.pool import Pool
from pyrite.schedule.cachedinputs import CachedInputs
from pyrite.schedule.keyranges import KeyRanges
from pyrite.schedule.rangedtasks import RangedTasks

MOST_SEEDS = 60


def nothing(*_: Any, **__: Any) -> None:
    pass


def nobody(*_: Any) -> tuple[()]:
    return ()


BUGS: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "blocks that have gone are told": (CachedInputs, "forget", nothing),
    "a lost node keeps its blocks": (CachedInputs, "forget_node", nothing),
    "blocks go under their readers": (Pool, "begin_reading", nothing),
    "cached input never gives way": (Ledger, "evict_input", lambda *_: False),
    "a task that runs is still listed": (RangedTasks, "discard", nothing),
    "ranges do not follow the fleet": (KeyRanges, "_serve", nothing),
    "no executor has a range": (KeyRanges, "executors", nobody),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_found_by_walks(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, instead = BUGS[bug]
    monkeypatch.setattr(where, name, instead)
    for seed in range(MOST_SEEDS):
        try:
            run_walk(seed, Walk(seed))
        except (AssertionError, KeyError, ValueError, IndexError):
            return
    pytest.fail(f"{MOST_SEEDS} walks are right although {bug}")
