"""Tiny reducers are computed as one task, and nobody can tell by the results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyrite import RDD, SparkContext, TaskContext
from pyrite.errors import TaskFailed
from pyrite.schedule.commands import LaunchTask, ReducersGrouped

Start = Callable[..., SparkContext]
PARTITIONS = 200
MODES = [{}, {"pyrite.shuffle.tiny": "0"}]


class Groups:
    """Hears how reducers are launched."""

    def __init__(self, sc: SparkContext) -> None:
        self.told: list[ReducersGrouped] = []
        self.most = 0
        sc._engine.story.listeners.append(lambda _, event, commands: self.receive(commands))

    def receive(self, commands: list[Any]) -> None:
        for each in commands:
            if isinstance(each, ReducersGrouped):
                self.told.append(each)
            elif isinstance(each, LaunchTask):
                self.most = max(self.most, len(each.partitions))


def pairs(sc: SparkContext) -> RDD[Any]:
    return sc.parallelize([(i % 701, i) for i in range(2000)], 2)


def where(index: int, rows: Any) -> Any:
    """Says for each row which partition the task thinks that it is."""
    context = TaskContext.get()
    assert context is not None
    for row in rows:
        yield index, context.partitionId(), context.attemptNumber(), row


def numbered(rows: Any, seen: list[Any]) -> Any:
    """Changes what it captured: the next partition must not see that."""
    for row in rows:
        seen.append(row)
        yield len(seen), row


def count_in_groups(rdd: RDD[Any]) -> Any:
    seen: list[Any] = []
    return rdd.groupByKey(PARTITIONS).mapPartitions(lambda rows: numbered(rows, seen)).glom()


PROGRAMS: dict[str, Callable[[RDD[Any]], Any]] = {
    "reduceByKey": lambda rdd: rdd.reduceByKey(lambda a, b: a + b, PARTITIONS).glom().collect(),
    "groupByKey": lambda rdd: rdd.groupByKey(PARTITIONS).mapValues(list).glom().collect(),
    "sortByKey": lambda rdd: rdd.sortByKey(numPartitions=PARTITIONS).glom().collect(),
    "join": lambda rdd: rdd.join(rdd.mapValues(str), PARTITIONS).glom().collect(),
    "cogroup": lambda rdd: (
        rdd.cogroup(rdd.mapValues(str), PARTITIONS)
        .mapValues(lambda sides: [list(each) for each in sides])
        .glom()
        .collect()
    ),
    "repartition": lambda rdd: rdd.repartition(PARTITIONS).glom().collect(),
    "a second shuffle": lambda rdd: (
        rdd.reduceByKey(lambda a, b: a + b, PARTITIONS)
        .map(lambda pair: (pair[1] % 13, pair[0]))
        .groupByKey(7)
        .mapValues(list)
        .glom()
        .collect()
    ),
    "the context": lambda rdd: (
        rdd.groupByKey(PARTITIONS).mapValues(len).mapPartitionsWithIndex(where).collect()
    ),
    "captured state": lambda rdd: (
        count_in_groups(rdd.mapValues(str)).map(lambda rows: [n for n, _ in rows]).collect()
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_results_are_the_same(start: Start, program: Callable[[RDD[Any]], Any]) -> None:
    answers, heard = [], []
    for mode in MODES:
        sc = start(**mode)
        heard.append(Groups(sc))
        answers.append(program(pairs(sc)))
        sc.stop()
    assert answers[0] == answers[1]
    assert heard[0].told and heard[0].most > 1
    assert not heard[1].told and heard[1].most == 1


def test_accumulators_count_each_partition_once(start: Start) -> None:
    sc = start()
    groups = Groups(sc)
    rows, parts = sc.accumulator(0), sc.accumulator(0)

    def count(each: Any) -> Any:
        parts.add(1)
        for row in each:
            rows.add(1)
            yield row

    # Once in the stage that writes a second shuffle, and once in that of the result.
    counted = pairs(sc).groupByKey(PARTITIONS).mapPartitions(count)
    assert counted.groupByKey(3).count() == 701
    assert (rows.value, parts.value) == (701, PARTITIONS)
    assert counted.count() == 701
    assert (rows.value, parts.value) == (2 * 701, 2 * PARTITIONS)
    assert len(groups.told) == 2


def test_files_are_the_same(start: Start, tmp_path: Path) -> None:
    found = []
    for number, mode in enumerate(MODES):
        sc = start(**mode)
        groups = Groups(sc)
        folder = tmp_path / str(number)
        pairs(sc).reduceByKey(lambda a, b: a + b, PARTITIONS).saveAsTextFile(str(folder))
        found.append({each.name: each.read_text() for each in folder.iterdir() if each.is_file()})
        assert bool(groups.told) is not bool(mode)
        sc.stop()
    assert found[0] == found[1] and len(found[0]) == PARTITIONS + 1


def test_an_error_names_the_partition_that_raised(start: Start) -> None:
    def fail(index: int, rows: Any) -> Any:
        if index == 150:
            raise ValueError("not this one")
        return rows

    told = []
    for mode in MODES:
        sc = start(**mode)
        groups = Groups(sc)
        with pytest.raises(TaskFailed) as caught:
            pairs(sc).groupByKey(PARTITIONS).mapPartitionsWithIndex(fail).count()
        error = caught.value
        assert (error.partition, error.attempts) == (150, 1)
        assert bool(groups.told) is not bool(mode)
        told.append(re.sub(r"executor \d+|stage \d+", "", str(error)))
        assert pairs(sc).reduceByKey(max, PARTITIONS).count() == 701, "the context goes on"
        sc.stop()
    assert told[0] == told[1] and "partition 150 of 200 failed once" in told[0]


def test_an_executor_that_dies_with_several_is_held_against_one(start: Start) -> None:
    sc = start()
    groups = Groups(sc)

    def die(index: int, rows: Any) -> Any:
        if index == 150:
            import os

            os._exit(3)
        return rows

    with pytest.raises(Exception, match="partition 150"):
        pairs(sc).groupByKey(PARTITIONS).mapPartitionsWithIndex(die).count()
    assert groups.told
