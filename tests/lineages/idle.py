"""An engine that nobody uses any more holds nothing."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

from checked import check_scheduler

from pyrite import SparkContext
from pyrite.blocks.names import COPIES
from pyrite.remote.protocol import is_segment

PATIENCE_S = 60.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition, and fails where it never comes true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.002)


def assert_nothing_left(sc: SparkContext) -> None:
    """After a program is gone, so is all that the engine knew of it."""
    sc._checkpoints.finish()
    gc.collect()
    assert sc.parallelize(range(4), 2).map(str).collect() == ["0", "1", "2", "3"]
    deadline = time.monotonic() + PATIENCE_S
    while left := what_is_left(sc._engine):
        assert time.monotonic() < deadline, f"left behind: {left}"
        gc.collect()
        time.sleep(0.002)
    check_scheduler(sc._engine)


def what_is_left(engine: Any) -> dict[str, Any]:
    """What the engine still knows, by where it knows it; empty when idle."""
    scheduler = engine.scheduler
    segments = dict(scheduler.storage.ledger.segments)
    known = {
        "jobs": dict(scheduler.jobs._jobs),
        "runs": dict(scheduler.stages._runs),
        "attempts": dict(scheduler.attempts._attempts),
        "shuffles": dict(scheduler.outputs._shuffles),
        "live rows": dict(scheduler.storage.kept._live),
        "kept blocks": dict(scheduler.storage.kept._blocks),
        "persisted": set(scheduler.storage.persisted),
        "moves": dict(scheduler.storage.ledger.moves),
        "waiting": list(scheduler.room._waiting),
        "kept": dict(engine.stages.kept),
        "stages": dict(engine.stages.result_stages),
        "map stages": dict(engine.stages.map_stages),
        "flags": dict(engine.stages.flags),
        "waiters": dict(engine.waiters.by_job),
        "questions": dict(engine.waiters.questions),
        "live blocks": {name: each.live for name, each in segments.items() if each.live},
        "files": stray_files(engine, segments),
    }
    return {name: each for name, each in known.items() if each}


def stray_files(engine: Any, segments: dict[str, Any]) -> list[str]:
    """Blocks and spills in the scratch folders that the ledger does not know."""
    every = [node.folders for node in list(engine.cluster.nodes.values())]
    names = [name for each in every for name in os.listdir(each.memory) + os.listdir(each.disk)]
    return [
        name
        for name in names
        if (is_segment(name.encode()) or name.startswith("spill"))
        and owner_of(name) not in segments
    ]


def owner_of(name: str) -> str:
    """The segment with which a file goes: a copy of a broadcast's block with the block's."""
    return name.removeprefix(COPIES).rpartition("-")[0] if name.startswith(COPIES) else name
