"""A partition of large rows, several times larger than its executor's memory: it passes through
wherever rows are not all held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from large_rows import load

from conftest import make_context
from pyrite import RDD, SparkContext, StorageLevel
from pyrite.schedule.events import TaskRaised

ROWS = 200
ROW_BYTES = 512 << 10

Way = Callable[[RDD[bytes], Path], RDD[Any]]


@pytest.fixture(scope="module")
def small() -> Iterator[SparkContext]:
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    settings = {
        "spark.master": "local[1]",
        "spark.executor.memory": "32m",
        "pyrite.pool.memory": "2m",
    }
    context = make_context("local", settings)
    yield context
    context.stop()


def saved(rows: RDD[bytes], folder: Path) -> RDD[Any]:
    path = str(folder / "rows")
    rows.saveAsPickleFile(path)
    return rows.context.pickleFile(path)


def as_text(rows: RDD[bytes], folder: Path) -> RDD[Any]:
    path = str(folder / "lines")
    rows.map(bytes.hex).saveAsTextFile(path)
    return rows.context.textFile(path).map(bytes.fromhex)


def checkpointed(rows: RDD[bytes], folder: Path) -> RDD[Any]:
    rows.context.setCheckpointDir(str(folder))
    rows.checkpoint()
    rows.count()
    return rows


def kept(level: StorageLevel) -> Way:
    def keep(rows: RDD[bytes], folder: Path) -> RDD[Any]:
        rows.persist(level).count()
        return rows

    return keep


WAYS: dict[str, Way] = {
    "repartition": lambda rows, folder: rows.repartition(3),
    "sortBy": lambda rows, folder: rows.sortBy(lambda row: row[:8], numPartitions=3),
    "cartesian": lambda rows, folder: rows.cartesian(rows.context.parallelize([1], 1)).keys(),
    "saveAsPickleFile": saved,
    "saveAsTextFile": as_text,
    "checkpoint": checkpointed,
    "DISK_ONLY": kept(StorageLevel.DISK_ONLY),
    "MEMORY_AND_DISK": kept(StorageLevel.MEMORY_AND_DISK),
    "MEMORY_ONLY": kept(StorageLevel.MEMORY_ONLY),
}


@pytest.mark.parametrize("way", WAYS)
def test_they_pass_through(small: SparkContext, tmp_path: Path, way: str) -> None:
    failures: list[TaskRaised] = []

    def listen(now_s: float, event: Any, commands: list[Any]) -> None:
        if isinstance(event, TaskRaised):
            failures.append(event)

    small._engine.story.listeners.append(listen)
    made = small.range(ROWS, numSlices=1).map(lambda number: load(number, ROW_BYTES))
    rows = WAYS[way](made, tmp_path)

    def look(row: bytes) -> int:
        number = int.from_bytes(row[:8], "big")
        return number if row == load(number, ROW_BYTES) else -1

    assert sorted(rows.map(look).collect()) == list(range(ROWS))
    assert not failures
