"""Processes killed while groups split, replicas are copied and checkpoints are written: the right
answers all the same."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from marks import Marks
from nodeprocesses import node_pid
from test_deaths import executor_pids

from pyrite import RDD, ExtendablePartitioner, HashPartitioner, SparkContext, StorageLevel
from pyrite.schedule.commands import GroupsResized, MoveSegment, WriteCheckpoints

Start = Callable[..., SparkContext]
Victim = Callable[[SparkContext], int]
KEYS = 64
ROWS = 1500
# Of large rows a partition has a segment of its own, which may be copied as soon as it is written.
SMALL, LARGE = 100, 8000
PARTITIONS = 8
LAYOUT = ExtendablePartitioner(HashPartitioner(PARTITIONS), 2)
# More than a node has executors.
READERS = 5


class Killer:
    """Kills one process when it hears a command of a kind for the first time."""

    def __init__(self, sc: SparkContext, kind: type, victim: Victim, marks: Marks) -> None:
        self.sc = sc
        self.kind = kind
        self.victim = victim
        self.marks = marks
        self.killed = 0
        sc._engine.story.listeners.append(self.hear)

    def hear(self, now_s: float, event: Any, commands: list[Any]) -> None:
        if not self.killed and any(isinstance(each, self.kind) for each in commands):
            self.killed = self.victim(self.sc)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.killed, signal.SIGKILL)
            self.marks.add("killed")


def an_executor(sc: SparkContext) -> int:
    return executor_pids(sc)[-1]


def an_agent(sc: SparkContext) -> int:
    return node_pid(sc, "node-1", "agent")


def a_block_server(sc: SparkContext) -> int:
    return node_pid(sc, "node-1", "server")


VICTIMS = [an_executor, an_agent, a_block_server]


def load(sc: SparkContext, salt: int, size: int) -> RDD[Any]:
    def row(number: int) -> tuple[int, str]:
        return number % KEYS, f"{salt} {number} ".ljust(size, "x")

    rows = sc.range(ROWS, numSlices=3).map(row)
    member = rows.localityPartitionBy(LAYOUT, "hours").persist(StorageLevel.OFF_HEAP)
    assert member.count() == ROWS
    return member


def read_at_once(member: RDD[Any], marks: Marks) -> None:
    """Several jobs read a partition, more than can run where it is, until a process was killed."""

    def read(rows: Any) -> list[int]:
        marks.wait("killed")
        return [sum(1 for _ in rows)]

    def run(_: int) -> list[int]:
        return member.context.runJob(member, read, [0])

    with ThreadPoolExecutor(READERS) as threads:
        found = list(threads.map(run, range(READERS)))
    whole = sum(len(range(key, ROWS, KEYS)) for key in range(0, KEYS, PARTITIONS))
    assert found == [[whole]] * READERS


def counts(grouped: RDD[Any]) -> dict[int, list[int]]:
    return dict(grouped.mapValues(lambda sides: [len(each) for each in sides]).collect())


EXPECTED = {key: [len(range(key, ROWS, KEYS))] * 2 for key in range(KEYS)}


@pytest.mark.parametrize("victim", VICTIMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", [GroupsResized, MoveSegment, WriteCheckpoints])
def test_a_process_dies(
    start: Start, tmp_path: Path, marks: Marks, kind: type, victim: Victim
) -> None:
    sc = start(
        "local-cluster[2,2,512]",
        spark__checkpoint__dir=tmp_path,
        spark__locality__wait="0ms",
        spark__task__maxFailures="8",
        pyrite__recovery__bound="1ms",
        pyrite__collections__maxGroupBytes="40k",
        pyrite__collections__minGroupBytes="0",
    )
    killer = Killer(sc, kind, victim, marks)
    size = LARGE if kind is MoveSegment else SMALL
    one, two = (load(sc, salt, size) for salt in range(2))
    if kind is MoveSegment:
        read_at_once(one, marks)
    together = one.cogroup(two)
    for _ in range(3):
        assert counts(together) == EXPECTED
    sc._checkpoints.finish()
    assert counts(together) == EXPECTED
    assert killer.killed
    groups = sc.collections()["hours"].groups
    covered = [index for each in groups for index in range(each.first, each.last + 1)]
    assert covered == list(range(PARTITIONS))
