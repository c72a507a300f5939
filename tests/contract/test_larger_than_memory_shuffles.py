"""Shuffles several times larger than all memory there is: every operator comes to its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from adapters import make_context
from large_rows import (
    EXECUTOR_BYTES,
    HALF,
    HOT_WORD,
    KEYS,
    MEMORY_BYTES,
    MIB,
    PIECE_BYTES,
    PIECES,
    POOL_BYTES,
    REDUCERS,
    ROWS,
    TIMES,
    cold_words,
    hot_pairs,
    hot_words,
    largest,
    left,
    list_of,
    load,
    look_at_all_hot_groups,
    look_at_both,
    look_at_group,
    look_at_hot_group,
    look_at_hot_groups,
    look_at_joined,
    look_at_largest,
    look_at_left,
    look_at_row,
    look_at_rows,
    look_at_value,
    look_at_word_group,
    only_of_partition,
    pairs,
    right,
    tally,
    values,
    with_more,
    with_one_more,
)

from pyrite import RDD, SparkContext, StorageLevel
from pyrite.errors import TaskFailed
from pyrite.ids import BlockRef
from pyrite.schedule.events import TaskRaised, TaskSucceeded

# On several nodes the same takes a minute more.
MASTERS = ["local[2]", pytest.param("local-cluster[2,1,64m]", marks=pytest.mark.long)]


class Case(NamedTuple):
    """An operator over large rows: what it gives, what each row must be, and what all are."""

    make: Callable[[SparkContext], RDD[Any]]
    # The number of a row, and whether the row is as it should be.
    look: Callable[[Any], tuple[int, bool]]
    numbers: Callable[[], Sequence[int]]
    # Whether its reducers hold rows, and so have to spill them.
    holds: bool | None = True
    # Whether the numbers of a partition's rows must fall.
    in_order: bool = False


def all_rows() -> range:
    return range(ROWS)


def all_keys() -> range:
    return range(KEYS)


def kept(rdd: RDD[Any]) -> RDD[Any]:
    """The RDD, read for the second time."""
    assert rdd.cache().mapValues(len).values().sum() == ROWS
    return rdd


CASES = {
    "reduceByKey": Case(
        lambda sc: pairs(sc).reduceByKey(largest, REDUCERS), look_at_largest, all_keys
    ),
    "aggregateByKey": Case(
        lambda sc: pairs(sc).aggregateByKey(b"", largest, largest, REDUCERS),
        look_at_largest,
        all_keys,
    ),
    "combineByKey": Case(
        lambda sc: pairs(sc).combineByKey(bytes, largest, largest, REDUCERS),
        look_at_largest,
        all_keys,
    ),
    "foldByKey": Case(
        lambda sc: pairs(sc).foldByKey(b"", largest, REDUCERS), look_at_largest, all_keys
    ),
    "groupByKey": Case(lambda sc: pairs(sc).groupByKey(REDUCERS), look_at_group, all_keys),
    "groupBy": Case(
        lambda sc: pairs(sc).groupBy(lambda row: row[0], REDUCERS), look_at_rows, all_keys
    ),
    "distinct": Case(
        lambda sc: values(sc, 0, ROWS, KEYS).distinct(REDUCERS), look_at_value, all_keys
    ),
    "partitionBy": Case(
        lambda sc: pairs(sc).partitionBy(REDUCERS).mapPartitionsWithIndex(only_of_partition),
        look_at_row,
        all_rows,
        holds=False,
    ),
    "repartition": Case(
        lambda sc: pairs(sc).repartition(REDUCERS), look_at_row, all_rows, holds=False
    ),
    "coalesce": Case(
        lambda sc: pairs(sc).coalesce(REDUCERS, shuffle=True), look_at_row, all_rows, holds=False
    ),
    "sortBy": Case(
        lambda sc: pairs(sc).sortBy(lambda row: row[1], ascending=False, numPartitions=REDUCERS),
        look_at_row,
        all_rows,
        in_order=True,
    ),
    "sortByKey": Case(
        lambda sc: pairs(sc, keys=ROWS).sortByKey(ascending=False, numPartitions=REDUCERS),
        lambda row: (row[0], row[1] == load(row[0])),
        all_rows,
        in_order=True,
    ),
    "repartitionAndSortWithinPartitions": Case(
        lambda sc: pairs(sc, keys=ROWS).repartitionAndSortWithinPartitions(
            REDUCERS, lambda key: key * REDUCERS // ROWS, ascending=False
        ),
        lambda row: (row[0], row[1] == load(row[0])),
        all_rows,
        in_order=True,
    ),
    "join": Case(
        lambda sc: left(sc).join(right(sc), REDUCERS), look_at_joined, lambda: range(HALF, KEYS)
    ),
    "leftOuterJoin": Case(
        lambda sc: left(sc).leftOuterJoin(right(sc), REDUCERS), look_at_joined, all_keys
    ),
    "rightOuterJoin": Case(
        lambda sc: left(sc).rightOuterJoin(right(sc), REDUCERS),
        look_at_joined,
        lambda: range(HALF, HALF + KEYS),
    ),
    "fullOuterJoin": Case(
        lambda sc: left(sc).fullOuterJoin(right(sc), REDUCERS),
        look_at_joined,
        lambda: range(HALF + KEYS),
    ),
    "cogroup": Case(
        lambda sc: left(sc).cogroup(right(sc), REDUCERS), look_at_both, lambda: range(HALF + KEYS)
    ),
    "groupWith": Case(
        lambda sc: left(sc).groupWith(right(sc)), look_at_both, lambda: range(HALF + KEYS)
    ),
    "subtractByKey": Case(
        lambda sc: left(sc).subtractByKey(right(sc), REDUCERS), look_at_left, lambda: range(HALF)
    ),
    "subtract": Case(
        lambda sc: values(sc, 0, KEYS, ROWS).subtract(
            values(sc, HALF, HALF + KEYS, ROWS), REDUCERS
        ),
        look_at_value,
        lambda: range(HALF),
    ),
    "intersection": Case(
        lambda sc: values(sc, 0, KEYS, ROWS).intersection(values(sc, HALF, HALF + KEYS, ROWS)),
        look_at_value,
        lambda: range(HALF, KEYS),
    ),
    "groupByKey of one key": Case(
        lambda sc: pairs(sc, keys=1).groupByKey(REDUCERS), look_at_hot_group, lambda: range(1)
    ),
    "cogroup of one key": Case(
        lambda sc: pairs(sc, keys=1).cogroup(sc.parallelize([(0, 7)], 1), numPartitions=REDUCERS),
        look_at_hot_groups,
        lambda: range(1),
    ),
    "groupByKey of one key in few maps": Case(
        lambda sc: hot_pairs(sc).groupByKey(REDUCERS), look_at_hot_group, lambda: range(1)
    ),
    "groupBy of one key in few maps": Case(
        lambda sc: hot_pairs(sc).values().groupBy(lambda value: 0, 1),
        look_at_hot_group,
        lambda: range(1),
    ),
    "groupByKey of one key, kept": Case(
        lambda sc: kept(hot_pairs(sc).groupByKey(REDUCERS)),
        look_at_hot_group,
        lambda: range(1),
        # Whether the group is still kept, or had to give way, depends on what else is kept.
        holds=None,
    ),
    "groupByKey of one key among many": Case(
        lambda sc: hot_words(sc).groupByKey(1),
        look_at_word_group,
        lambda: sorted([HOT_WORD, *cold_words()]),
    ),
    "groupWith of one key": Case(
        lambda sc: hot_pairs(sc).groupWith(hot_pairs(sc)),
        look_at_all_hot_groups,
        lambda: range(1),
    ),
    "subtractByKey of one key": Case(
        lambda sc: hot_pairs(sc).subtractByKey(sc.parallelize([(1, 1)], 1), REDUCERS).values(),
        look_at_value,
        all_rows,
        holds=False,
    ),
    "repartition into one": Case(
        lambda sc: hot_pairs(sc).values().repartition(1), look_at_value, all_rows, holds=False
    ),
    "sortByKey of one key": Case(
        # Divided: the pieces are sorted and spill, who merges them holds none.
        lambda sc: pairs(sc, keys=1).sortByKey(numPartitions=REDUCERS).values(),
        look_at_value,
        all_rows,
        holds=False,
    ),
}


class MapOutputs:
    """What a story tells of the map outputs: their bytes, in memory and on disk; and which tasks
    failed on the way."""

    def __init__(self, sc: SparkContext) -> None:
        self.all_bytes = 0
        self.disk_bytes = 0
        self.failures: list[TaskRaised] = []
        sc._engine.story.listeners.append(self.listen)

    def listen(self, now_s: float, event: Any, commands: list[Any]) -> None:
        match event:
            case TaskSucceeded():
                self.add(*(made.output for made in event.made if made.output is not None))
            case TaskRaised():
                self.failures.append(event)

    def add(self, *refs: BlockRef) -> None:
        self.all_bytes += sum(ref.length for ref in refs)
        self.disk_bytes += sum(ref.length for ref in refs if ref.medium == "disk")

    def check(self) -> None:
        """They were larger than all memory, and lay on disk but for what the pools hold; no task
        had to be tried twice."""
        assert self.all_bytes > TIMES * MEMORY_BYTES
        assert self.disk_bytes >= self.all_bytes - 3 * POOL_BYTES
        assert not self.failures


@pytest.fixture(scope="module", params=MASTERS)
def small(request: pytest.FixtureRequest) -> Iterator[SparkContext]:
    """A context with hardly any memory, for all operators."""
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    settings = {
        "spark.master": request.param,
        "spark.executor.memory": f"{EXECUTOR_BYTES // MIB}m",
        "pyrite.pool.memory": f"{POOL_BYTES // MIB}m",
        "spark.default.parallelism": str(REDUCERS),
    }
    context = make_context("local", settings)
    yield context
    context.stop()


def disks(sc: SparkContext) -> list[str]:
    cluster: Any = sc._engine.cluster
    return [node.folders.disk for node in cluster.nodes.values()]


@pytest.mark.parametrize("operator", CASES)
def test_the_operator_completes(small: SparkContext, operator: str) -> None:
    check(small, CASES[operator])


def check(small: SparkContext, case: Case) -> None:
    """The answer is right, and it was found on disk."""
    outputs = MapOutputs(small)
    look, in_order, folders = case.look, case.in_order, disks(small)
    rdd = case.make(small).mapPartitions(lambda rows: tally(rows, look, folders, in_order))
    found = rdd.collect()
    expected = case.numbers()
    assert sum(part.rows for part in found) == len(expected)
    assert sum(part.numbers for part in found) == sum(expected)
    assert sum(part.wrong for part in found) == 0
    outputs.check()
    spilled = any(part.spilled_bytes for part in found)
    assert case.holds is None or spilled == case.holds


@pytest.mark.parametrize("operator", ["treeReduce", "treeAggregate"])
def test_large_pieces_are_merged_as_a_tree(small: SparkContext, operator: str) -> None:
    outputs = MapOutputs(small)
    rdd = small.range(PIECES, numSlices=PIECES).map(lambda x: load(x, PIECE_BYTES))
    if operator == "treeReduce":
        found = rdd.treeReduce(largest)
    else:
        found = rdd.treeAggregate(b"", largest, largest)
    assert found == load(PIECES - 1, PIECE_BYTES)
    outputs.check()


def test_a_key_with_all_rows_on_one_side_of_a_join(small: SparkContext) -> None:
    """They need not be held."""
    check(
        small,
        Case(
            lambda sc: (
                pairs(sc, keys=1).join(sc.parallelize([(0, 7)], 1), REDUCERS).values().keys()
            ),
            look_at_value,
            all_rows,
            holds=False,
        ),
    )


def test_one_key_on_both_sides_of_a_join(small: SparkContext) -> None:
    """The pairs come one after another: neither side has to fit in memory."""
    joined = hot_pairs(small).join(hot_pairs(small), 1)
    found = joined.map(lambda row: look_at_value(row[1][0]) + look_at_value(row[1][1])).take(3)
    assert [each[1::2] for each in found] == [(True, True)] * 3


def test_a_group_that_is_sent_on_must_fit_in_memory(small: SparkContext) -> None:
    groups = hot_pairs(small).groupByKey(REDUCERS)
    told = rf"MemoryError: the group of key 0 has {ROWS:,} values .*flatMapValues.*executor.memory"
    for use in (groups.collect, groups.repartition(2).count):
        with pytest.raises(TaskFailed, match=told):
            use()


def test_a_combiner_must_fit_in_memory(small: SparkContext) -> None:
    lists = hot_pairs(small).combineByKey(list_of, with_one_more, with_more, REDUCERS)
    told = r"MemoryError: the row of key 0 takes about \d.* by itself.*groupByKey"
    with pytest.raises(TaskFailed, match=told):
        lists.mapValues(len).collect()


def test_a_kept_group_that_has_to_give_way_is_computed_again(small: SparkContext) -> None:
    groups = hot_pairs(small).groupByKey(1).persist(StorageLevel.MEMORY_AND_DISK)
    assert groups.mapValues(len).values().collect() == [ROWS]
    # Larger than what may be kept, so that whatever else was kept goes.
    others = small.range(64, numSlices=2).map(lambda x: load(x, MIB)).cache()
    assert others.count() == 64
    assert groups.map(look_at_hot_group).collect() == [(0, True)]
    groups.unpersist()
    others.unpersist()
