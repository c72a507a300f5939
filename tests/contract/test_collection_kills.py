"""Processes killed while groups split, replicas are copied and checkpoints are written: the right
answers all the same."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nodeprocesses import node_pid
from test_deaths import executor_pids

from pyrite import RDD, ExtendablePartitioner, HashPartitioner, SparkContext, StorageLevel
from pyrite.schedule.commands import GroupsResized, MoveSegment, WriteCheckpoints

pytestmark = pytest.mark.local_only

Start = Callable[..., SparkContext]
KEYS = 64
ROWS = 1500
LAYOUT = ExtendablePartitioner(HashPartitioner(8), 2)


class Killer:
    """Kills one process when it hears a command of a kind for the first time."""

    def __init__(self, sc: SparkContext, kind: type, victim: Callable[[SparkContext], int]) -> None:
        self.sc = sc
        self.kind = kind
        self.victim = victim
        self.killed = 0
        sc._engine.story.listeners.append(self.hear)

    def hear(self, now_s: float, event: Any, commands: list[Any]) -> None:
        if not self.killed and any(isinstance(each, self.kind) for each in commands):
            self.killed = self.victim(self.sc)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.killed, signal.SIGKILL)


def an_executor(sc: SparkContext) -> int:
    return executor_pids(sc)[-1]


def an_agent(sc: SparkContext) -> int:
    return node_pid(sc, "node-1", "agent")


def a_block_server(sc: SparkContext) -> int:
    return node_pid(sc, "node-1", "server")


VICTIMS = [an_executor, an_agent, a_block_server]


def load(sc: SparkContext, salt: int, level: StorageLevel) -> RDD[Any]:
    rows = [(number % KEYS, f"{salt} {number} ".ljust(100, "x")) for number in range(ROWS)]
    member = sc.parallelize(rows, 3).localityPartitionBy(LAYOUT, "hours").persist(level)
    assert member.count() == ROWS
    return member


def counts(grouped: RDD[Any]) -> dict[int, list[int]]:
    return dict(grouped.mapValues(lambda sides: [len(each) for each in sides]).collect())


EXPECTED = {key: [len(range(key, ROWS, KEYS))] * 2 for key in range(KEYS)}


@pytest.mark.parametrize("victim", VICTIMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", [GroupsResized, MoveSegment, WriteCheckpoints])
def test_a_process_dies(start: Start, tmp_path: Path, kind: type, victim: Any) -> None:
    sc = start(
        "local-cluster[2,2,512]",
        spark__checkpoint__dir=tmp_path,
        spark__locality__wait="0ms",
        spark__task__maxFailures="8",
        pyrite__recovery__bound="1ms",
        pyrite__collections__maxGroupBytes="40k",
        pyrite__collections__minGroupBytes="0",
    )
    killer = Killer(sc, kind, victim)
    one, two = (load(sc, salt, StorageLevel.OFF_HEAP) for salt in range(2))
    together = one.cogroup(two)
    for _ in range(3):
        assert counts(together) == EXPECTED
    sc._checkpoints.finish()
    assert counts(together) == EXPECTED
    if kind is not MoveSegment:
        assert killer.killed
    groups = sc.collections()["hours"].groups
    covered = [index for each in groups for index in range(each.first, each.last + 1)]
    assert covered == list(range(8))
