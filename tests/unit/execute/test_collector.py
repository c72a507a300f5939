"""The collector looks seldom where there is no garbage, and often where there is."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyrite.execute.collector import FEWEST, MOST, MOST_AT_FIRST, MOST_WITH_GARBAGE, Collector

MEBIBYTE = 1 << 20


class Level:
    """A measure of memory that the test sets."""

    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def level() -> Iterator[Level]:
    before = gc.get_threshold()
    yield Level()
    gc.set_threshold(*before)


def collected(collector: Collector, count: int) -> int:
    collector.on_collection("start", {"generation": 0, "collected": 0, "uncollectable": 0})
    collector.on_collection("stop", {"generation": 0, "collected": count, "uncollectable": 0})
    assert gc.get_threshold()[0] == collector.threshold
    return collector.threshold


def test_the_threshold_grows_while_nothing_is_found(level: Level) -> None:
    collector = Collector(1024 * MEBIBYTE, level)
    collector.start_task()
    assert collector.threshold == 64 * 1024
    assert [collected(collector, 0) for _ in range(3)] == [256 * 1024, 512 * 1024, 512 * 1024]


def test_a_small_executor_begins_low(level: Level) -> None:
    assert Collector(32 * MEBIBYTE, level).first == 2048
    assert Collector(MEBIBYTE, level).first == FEWEST
    assert Collector(1 << 40, level).first == MOST_AT_FIRST
    assert Collector(1 << 40, level).most == MOST


def test_garbage_brings_it_back(level: Level) -> None:
    collector = Collector(1024 * MEBIBYTE, level)
    collector.start_task()
    for _ in range(5):
        collected(collector, 0)
    assert collected(collector, 1) == MOST_WITH_GARBAGE


def test_so_does_the_next_task(level: Level) -> None:
    collector = Collector(1024 * MEBIBYTE, level)
    collector.start_task()
    collected(collector, 0)
    collector.start_task()
    assert collector.threshold == collector.first


def test_what_lies_between_two_collections_is_a_part_of_the_memory(level: Level) -> None:
    collector = Collector(1024 * MEBIBYTE, level)
    collector.start_task()
    for _ in range(20):
        level.now += collector.threshold * 1024
        collected(collector, 0)
    assert collector.threshold * 1024 <= 128 * MEBIBYTE
    assert collector.threshold > FEWEST


@pytest.fixture
def collections(level: Level) -> Iterator[list[int]]:
    """The levels at which all garbage was looked for; it frees nothing."""
    found: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] == 2:
            found.append(level.now // MEBIBYTE)

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def started(level: Level, kept: Callable[[], int] = lambda: 0) -> Callable[[int], None]:
    """Starts a task of an executor of 64 MiB that has so many MiB."""
    collector = Collector(64 * MEBIBYTE, level, kept)

    def start(mebibytes: int) -> None:
        level.now = mebibytes * MEBIBYTE
        collector.start_task()

    return start


def test_what_tasks_left_is_freed_where_it_is_much(level: Level, collections: list[int]) -> None:
    start = started(level)
    for mebibytes in (20, 30, 32, 33):
        start(mebibytes)
    assert collections == [33]


def test_what_could_not_be_freed_is_left_alone(level: Level, collections: list[int]) -> None:
    start = started(level)
    for mebibytes in (40, 40, 41, 47, 48, 50, 49, 55, 56):
        start(mebibytes)
    assert collections == [40, 48, 56]


def test_what_is_much_again_is_looked_at_again(level: Level, collections: list[int]) -> None:
    start = started(level)
    for mebibytes in (54, 20, 54):
        start(mebibytes)
    assert collections == [54, 54]


def test_kept_rows_are_not_left_by_a_task(level: Level, collections: list[int]) -> None:
    start = started(level, lambda: 30 * MEBIBYTE)
    for mebibytes in (40, 47, 48):
        start(mebibytes)
    assert collections == [48]
