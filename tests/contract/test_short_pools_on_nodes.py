"""A shuffle between real nodes whose pools are too small for it and for what is fetched ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from zlib import crc32

import pytest
from test_deaths import wait_for_executors

from pyrite import SparkContext
from pyrite.schedule.events import SegmentMoved, TaskSucceeded

Start = Callable[..., SparkContext]

NODES = 3
MAPS, REDUCERS = 24, 12
ROWS, ROW_BYTES = 250, 8000
# 16 MB a node of 48 MB in all.
SHUFFLE_BYTES = MAPS * ROWS * ROW_BYTES


def rows_of(index: int) -> list[tuple[int, bytes]]:
    random = Random(index)
    return [(random.randrange(1 << 30), random.randbytes(ROW_BYTES)) for _ in range(ROWS)]


def make(index: int, _: Iterator[int]) -> Iterator[tuple[int, bytes]]:
    # A map takes some time, in which others' outputs travel.
    for _ in range(12):
        Random(index).randbytes(1 << 22)
    return iter(rows_of(index))


def told(rows: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, int]]:
    return ((key, crc32(value)) for key, value in rows)


class Watched:
    """Counts what the scheduler is told."""

    def __init__(self, sc: SparkContext) -> None:
        self.flushed = self.maps_done = 0
        scheduler = sc._engine.scheduler
        handle = scheduler.handle

        def watch(event: Any, now_s: float) -> Any:
            if isinstance(event, SegmentMoved) and scheduler.flush.has_begun(event.move):
                self.flushed += 1
            self.maps_done += isinstance(event, TaskSucceeded) and bool(event.made[0].output)
            return handle(event, now_s)

        scheduler.handle = watch  # type: ignore[method-assign]


# What is fetched depends on how fast the disk and the maps are measured to be: others may have kept
# the disk busy just then.
TRIES = 3


@pytest.mark.alone
@pytest.mark.parametrize("pool_over_shuffle", [0.6, 1.1, 3.0])
def test_answers_are_right_and_no_output_is_made_twice(
    start: Start, pool_over_shuffle: float
) -> None:
    assert any(is_fetched(start, pool_over_shuffle) for _ in range(TRIES))


def is_fetched(start: Start, pool_over_shuffle: float) -> bool:
    """Shuffles, and says whether input was fetched ahead, and outputs left memory for it only where
    it is short."""
    sc = start(
        f"local-cluster[{NODES},1,512m]",
        pyrite__pool__memory=f"{int(pool_over_shuffle * SHUFFLE_BYTES / NODES)}b",
        pyrite__network__bytesPerSecond="20m",
        pyrite__shuffle__inFlight="4m",
    )
    wait_for_executors(sc)
    watched = Watched(sc)
    pairs = sc.parallelize(range(MAPS), MAPS).mapPartitionsWithIndex(make)
    found = pairs.partitionBy(REDUCERS).mapPartitions(told).collect()
    expected = [(key, crc32(value)) for index in range(MAPS) for key, value in rows_of(index)]
    assert sorted(found) == sorted(expected)
    assert watched.maps_done == MAPS
    fetched_bytes = sc.memory().fetched_bytes
    sc.stop()
    is_short = pool_over_shuffle < 2
    return fetched_bytes > 0.3 * SHUFFLE_BYTES and bool(watched.flushed) == is_short
