"""A partition of three times its executor's memory: every storage level, operator and action comes
to its answer, no task fails, and the executor stays within its memory."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from adapters import make_context

from pyrite import RDD, SparkContext, StorageLevel
from pyrite.schedule.events import TaskRaised

MIB = 1 << 20
EXECUTOR_BYTES = 64 * MIB
TIMES = 3
# The bound is for memory that is the process's own: not shared, and in no file.
MOST_BYTES = EXECUTOR_BYTES * 11 // 10

CLUSTER = "local-cluster[2,1,64m,1x64m]"
MASTERS = ["local[1]", pytest.param(CLUSTER, marks=pytest.mark.long)]
LEVELS = sorted(name for name in vars(StorageLevel) if name.isupper() and name != "NONE")


class Size(NamedTuple):
    """Rows of a size, so many that their bytes are three times the memory."""

    row_bytes: int

    @property
    def rows(self) -> int:
        return TIMES * EXECUTOR_BYTES // self.row_bytes

    def row(self, number: int) -> bytes:
        return b"%08d" % number + bytes([number % 251]) * (self.row_bytes - 41)

    def make(self, sc: SparkContext) -> RDD[bytes]:
        row, count = self.row, self.rows
        return sc.parallelize([0], 1).flatMap(lambda _: map(row, range(count)))

    def pairs(self, sc: SparkContext) -> RDD[tuple[int, bytes]]:
        row, count = self.row, self.rows
        return sc.parallelize([0], 1).flatMap(lambda _: ((x, row(x)) for x in range(count)))

    @property
    def total(self) -> int:
        return sum(range(self.rows))


MIDDLE = Size(2000)
LARGE = Size(MIB)


def number(row: bytes) -> int:
    return int(row[:8])


class AnonymousPeak:
    """The most anonymous memory that a process of the context had while this was open.

    Other tests of this process may have left processes of their own: a Ray, for example.
    """

    def __init__(self, others: frozenset[int]) -> None:
        self.bytes = 0
        self._others = others
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> AnonymousPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        this = psutil.Process()
        while True:
            own = [child for child in this.children() if child.pid not in self._others]
            pids = [each.pid for child in own for each in (child, *descendants_of(child))]
            for _ in range(40):
                self.bytes = max([self.bytes, *map(anonymous_bytes, pids)])
                if self._ended.wait(0.004):
                    return


def descendants_of(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def anonymous_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) << 10
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


@pytest.fixture(scope="module")
def others() -> frozenset[int]:
    """The children that this process had before."""
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    return frozenset(child.pid for child in psutil.Process().children())


@pytest.fixture(scope="module", params=MASTERS)
def small(request: pytest.FixtureRequest, others: frozenset[int]) -> Iterator[SparkContext]:
    settings = {
        "spark.master": request.param,
        "spark.executor.memory": "64m",
        "pyrite.pool.memory": "24m",
        "spark.driver.maxResultSize": "0",
    }
    context = make_context("local", settings)
    yield context
    context.stop()


@pytest.fixture
def bounded(small: SparkContext, others: frozenset[int]) -> Iterator[SparkContext]:
    raised: list[TaskRaised] = []

    def listen(now_s: float, event: object, commands: object) -> None:
        if isinstance(event, TaskRaised):
            raised.append(event)

    small._engine.story.listeners.append(listen)
    with AnonymousPeak(others) as peak:
        yield small
    small._engine.story.listeners.remove(listen)
    assert raised == []
    assert peak.bytes <= MOST_BYTES, f"{peak.bytes / EXECUTOR_BYTES:.2f} times the memory"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [MIDDLE, LARGE], ids=["middle", "large"])
def test_levels(bounded: SparkContext, level: str, size: Size) -> None:
    rows = size.make(bounded).persist(getattr(StorageLevel, level))
    assert [rows.map(number).sum() for _ in range(2)] == [size.total] * 2
    rows.unpersist()


def test_without_live_rows_and_disk_a_partition_is_given_up(small: SparkContext) -> None:
    """Its first blocks are in the pools when it turns out that the rest has no room."""
    rows = MIDDLE.make(small).persist(StorageLevel(False, True, True, False))
    assert [rows.map(number).sum() for _ in range(2)] == [MIDDLE.total] * 2
    assert sum(sum(node.rdds.values()) for node in small.memory().nodes) == 0
    rows.unpersist()


def test_a_partition_goes_on_where_there_is_room(small: SparkContext) -> None:
    rows = MIDDLE.make(small).persist(StorageLevel.OFF_HEAP)
    assert rows.map(number).sum() == MIDDLE.total
    memory = small.memory()
    in_pools = [sum(node.rdds.values()) for node in memory.nodes if node.rdds]
    assert len(in_pools) == (1 if small.master == "local[1]" else 3)
    assert sum(in_pools) + memory.spilled_bytes >= MIDDLE.rows * 1900
    rows.unpersist()


def as_rows(found: list[bytes]) -> int:
    return sum(map(number, found))


Action = Callable[[SparkContext, Size], int]

ACTIONS: dict[str, Action] = {
    "collect": lambda sc, size: as_rows(size.make(sc).collect()),
    "toLocalIterator": lambda sc, size: sum(map(number, size.make(sc).toLocalIterator())),
    "take": lambda sc, size: as_rows(size.make(sc).take(size.rows)),
    "takeSample": lambda sc, size: as_rows(size.make(sc).takeSample(False, size.rows)),
    "runJob": lambda sc, size: as_rows(sc.runJob(size.make(sc), lambda rows: rows)),
    "collectAsMap": lambda sc, size: as_rows([*size.pairs(sc).collectAsMap().values()]),
    "lookup": lambda sc, size: as_rows(size.pairs(sc).map(lambda pair: (0, pair[1])).lookup(0)),
    "aggregate": lambda sc, size: size.make(sc).aggregate(
        0, lambda total, row: total + number(row), lambda one, other: one + other
    ),
    "fold": lambda sc, size: size.make(sc).map(number).fold(0, lambda one, other: one + other),
    "reduce": lambda sc, size: size.total - size.rows + 1 + number(size.make(sc).reduce(max)),
    "countByValue": lambda sc, size: as_rows([*size.make(sc).countByValue()]),
    "countByKey": lambda sc, size: as_rows([*size.make(sc).map(lambda row: (row, 1)).countByKey()]),
    "reduceByKeyLocally": lambda sc, size: as_rows(
        [*size.pairs(sc).reduceByKeyLocally(max).values()]
    ),
    "top": lambda sc, size: as_rows(size.make(sc).top(size.rows, number)),
    "takeOrdered": lambda sc, size: as_rows(size.make(sc).takeOrdered(size.rows, number)),
    "treeAggregate": lambda sc, size: size.make(sc).treeAggregate(
        0, lambda total, row: total + number(row), lambda one, other: one + other
    ),
}


@pytest.mark.parametrize("size", [MIDDLE, LARGE], ids=["middle", "large"])
@pytest.mark.parametrize("name", ACTIONS)
def test_actions(bounded: SparkContext, name: str, size: Size) -> None:
    assert ACTIONS[name](bounded, size) == size.total


def local_checkpoint(rows: RDD[bytes], folder: Path) -> RDD[Any]:
    rows.localCheckpoint()
    rows.count()
    return rows


def checkpoint(rows: RDD[bytes], folder: Path) -> RDD[Any]:
    rows.context.setCheckpointDir(str(folder))
    rows.checkpoint()
    rows.count()
    return rows


def pickle_file(rows: RDD[bytes], folder: Path) -> RDD[Any]:
    rows.saveAsPickleFile(str(folder / "rows"))
    return rows.context.pickleFile(str(folder / "rows"), 1)


def text_file(rows: RDD[bytes], folder: Path) -> RDD[Any]:
    rows.map(bytes.hex).saveAsTextFile(str(folder / "lines"))
    return rows.context.textFile(str(folder / "lines"), 1).map(bytes.fromhex)


def keyed(rows: RDD[bytes]) -> RDD[Any]:
    return rows.map(lambda row: (number(row), row))


def first_value(row: Any) -> bytes:
    value: bytes = next(iter(row[1]))
    return value


Way = Callable[[RDD[bytes], Path], RDD[Any]]

# Each gives the same rows again.
WAYS: dict[str, Way] = {
    "localCheckpoint": local_checkpoint,
    "checkpoint": checkpoint,
    "pickle file": pickle_file,
    "text file": text_file,
    "repartition": lambda rows, _: rows.repartition(1),
    "sortBy": lambda rows, _: rows.sortBy(number, False, 1),
    "distinct": lambda rows, _: rows.distinct(1),
    "groupByKey": lambda rows, _: keyed(rows).groupByKey(1).map(first_value),
    "reduceByKey": lambda rows, _: keyed(rows).reduceByKey(max, 1).values(),
    "combineByKey": lambda rows, _: (
        keyed(rows)
        .combineByKey(lambda row: [row], lambda a, row: [*a, row], lambda a, b: a + b, 1)
        .map(first_value)
    ),
    "join": lambda rows, _: keyed(rows).join(keyed(rows), 1).map(first_value),
    "leftOuterJoin": lambda rows, _: keyed(rows).leftOuterJoin(keyed(rows), 1).map(first_value),
    "fullOuterJoin": lambda rows, _: keyed(rows).fullOuterJoin(keyed(rows), 1).map(first_value),
    "cogroup": lambda rows, _: (
        keyed(rows).cogroup(keyed(rows), 1).map(lambda row: first_value((0, row[1][0])))
    ),
    "subtractByKey": lambda rows, _: (
        keyed(rows).subtractByKey(keyed(rows).mapValues(len).map(lambda row: (-1, row)), 1).values()
    ),
    "intersection": lambda rows, _: rows.intersection(rows),
    "cartesian": lambda rows, _: rows.cartesian(rows.context.parallelize([0], 1)).keys(),
    "zip": lambda rows, _: rows.zip(rows).keys(),
    "coalesce": lambda rows, _: rows.union(rows.filter(lambda row: False)).coalesce(1),
    "sortByKey": lambda rows, _: keyed(rows).sortByKey(False, 1).values(),
    "sort in partitions": lambda rows, _: (
        keyed(rows).repartitionAndSortWithinPartitions(1).values()
    ),
    "partitionBy": lambda rows, _: keyed(rows).partitionBy(1).values(),
    "groupBy": lambda rows, _: rows.groupBy(number, 1).map(first_value),
    "groupWith": lambda rows, _: (
        keyed(rows).groupWith(keyed(rows)).map(lambda row: first_value((0, row[1][0])))
    ),
    "aggregateByKey": lambda rows, _: keyed(rows).aggregateByKey(b"", max, max, 1).values(),
    "foldByKey": lambda rows, _: keyed(rows).foldByKey(b"", max, 1).values(),
    "rightOuterJoin": lambda rows, _: keyed(rows).rightOuterJoin(keyed(rows), 1).map(first_value),
    "subtract": lambda rows, _: rows.subtract(rows.map(lambda row: row + b"."), 1),
    "union": lambda rows, _: rows.union(rows.context.parallelize([], 1)),
    "mapPartitions": lambda rows, _: rows.mapPartitions(lambda found: found),
    "mapPartitionsWithIndex": lambda rows, _: rows.mapPartitionsWithIndex(lambda _, found: found),
    "flatMapValues": lambda rows, _: keyed(rows).flatMapValues(lambda row: [row]).values(),
    "zipWithIndex": lambda rows, _: rows.zipWithIndex().keys(),
    "zipWithUniqueId": lambda rows, _: rows.zipWithUniqueId().keys(),
    "sample": lambda rows, _: rows.sample(False, 1.0, 3),
    "sampleByKey": lambda rows, _: (
        rows.map(lambda row: (0, row)).sampleByKey(False, {0: 1.0}, 3).values()
    ),
    "randomSplit": lambda rows, _: rows.context.union(rows.randomSplit([1, 2], 3)),
    "keyBy": lambda rows, _: rows.keyBy(number).values(),
    "pipe": lambda rows, _: rows.map(bytes.hex).pipe("cat").map(bytes.fromhex),
}


@pytest.mark.parametrize("name", WAYS)
def test_operators(bounded: SparkContext, name: str, tmp_path: Path) -> None:
    assert WAYS[name](MIDDLE.make(bounded), tmp_path).map(number).sum() == MIDDLE.total


def sets(sc: SparkContext) -> RDD[frozenset[int]]:
    """Rows that can't be pickled without a memo."""
    rows = TIMES * EXECUTOR_BYTES // sys.getsizeof(frozenset((0, 1)))
    return sc.parallelize([0], 1).flatMap(lambda _: (frozenset((x, -x)) for x in range(rows)))


SETS: dict[str, Callable[[RDD[Any]], RDD[Any]]] = {
    "sortBy": lambda rows: rows.sortBy(max, False, 1),
    "MEMORY_AND_DISK": lambda rows: rows.persist(StorageLevel.MEMORY_AND_DISK),
}


@pytest.mark.parametrize("name", SETS)
def test_frozensets(bounded: SparkContext, name: str) -> None:
    rows = sets(bounded)
    assert SETS[name](rows).count() == rows.count()


def test_whole_files(bounded: SparkContext, tmp_path: Path) -> None:
    for name in range(LARGE.rows):
        (tmp_path / f"{name:04d}").write_bytes(LARGE.row(name))
    files = bounded.binaryFiles(str(tmp_path), 1)
    assert files.values().map(number).sum() == LARGE.total


def test_both_sides_of_a_cartesian(bounded: SparkContext) -> None:
    rows = LARGE.make(bounded)
    found = rows.cartesian(rows).map(lambda pair: number(pair[0]) * number(pair[1])).sum()
    assert found == LARGE.total**2


def tiny_then_large(_: Any) -> Iterator[tuple[int, bytes]]:
    for x in range(20_000):
        yield x % 7, b"x"
    for x in range(300):
        yield x % 50, bytes([x % 251]) * (256 << 10)


TURNING: dict[str, Callable[[RDD[Any]], RDD[Any]]] = {
    "groupByKey": lambda rows: rows.groupByKey(3).flatMapValues(lambda values: values),
    "partitionBy": lambda rows: rows.partitionBy(3),
    "sortBy": lambda rows: rows.sortBy(lambda row: len(row[1]), numPartitions=2),
    "OFF_HEAP": lambda rows: rows.persist(StorageLevel.OFF_HEAP),
    "MEMORY_AND_DISK": lambda rows: rows.persist(StorageLevel.MEMORY_AND_DISK),
}


@pytest.mark.parametrize("name", TURNING)
def test_rows_that_turn_from_tiny_to_large(bounded: SparkContext, name: str) -> None:
    rows = TURNING[name](bounded.parallelize([0], 1).flatMap(tiny_then_large))
    assert rows.map(lambda row: len(row[1])).sum() == 20_000 + 300 * (256 << 10)


def test_rows_that_turn_large_are_collected(bounded: SparkContext) -> None:
    found = bounded.parallelize([0], 1).flatMap(tiny_then_large).collect()
    assert sum(len(value) for _, value in found) == 20_000 + 300 * (256 << 10)


def test_pages_that_nobody_touched_count_too(bounded: SparkContext) -> None:
    """`bytes(n)` takes no memory before it is read, but counts for the executor's hard limit."""
    rows = bounded.parallelize([0], 1).flatMap(
        lambda _: ((x % 100, bytes(256 << 10)) for x in range(TIMES * 256))
    )
    assert rows.groupByKey(2).mapValues(len).values().sum() == TIMES * 256


def test_the_driver_holds_one_batch_of_a_local_iterator(small: SparkContext) -> None:
    held: list[int] = []
    for place, _ in enumerate(MIDDLE.make(small).toLocalIterator()):
        if place % 1000 == 0:
            held.append(anonymous_bytes(os.getpid()))
    assert max(held) - held[0] < TIMES * EXECUTOR_BYTES // 4
