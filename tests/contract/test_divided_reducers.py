"""A heavy reducer that is divided gives the rows that it gives as a whole, in the same order."""

from collections.abc import Callable, Iterator
from operator import add
from random import Random
from typing import Any

import pytest
from test_deaths import wait_for_executors

from pyrite import RDD, SparkContext
from pyrite.errors import TaskFailed
from pyrite.schedule.commands import ReducerDivided

Start = Callable[..., SparkContext]

HOT = 7


@pytest.fixture
def start(start: Start) -> Start:
    """Starts contexts whose executors are all there: among these a reducer is divided."""

    def start_whole(master: str, **settings: object) -> SparkContext:
        sc = start(master, **settings)
        wait_for_executors(sc)
        return sc

    return start_whole


def skewed(number: int) -> Iterator[tuple[int, bytes]]:
    """Rows of which most have one key."""
    dice = Random(number)
    for _ in range(12_000):
        yield HOT if dice.random() < 0.8 else dice.randrange(500), dice.randbytes(120)


def heavy_pairs(sc: SparkContext) -> RDD[Any]:
    return sc.parallelize(range(4), 4).flatMap(skewed)


def few(sc: SparkContext) -> RDD[Any]:
    return sc.parallelize([(key, str(key)) for key in range(400)], 2)


def by_first_byte(value: bytes) -> int:
    return 0 if value[0] < 200 else value[0]


OPERATORS: dict[str, Callable[[SparkContext], RDD[Any]]] = {
    "join": lambda sc: heavy_pairs(sc).join(few(sc), 4),
    "join and map": lambda sc: heavy_pairs(sc).join(few(sc), 4).mapValues(lambda v: v[1]),
    "leftOuterJoin": lambda sc: heavy_pairs(sc).leftOuterJoin(few(sc), 4),
    "rightOuterJoin": lambda sc: few(sc).rightOuterJoin(heavy_pairs(sc), 4),
    "subtractByKey": lambda sc: heavy_pairs(sc).subtractByKey(few(sc).filter(lambda p: p[0] > 9)),
    "sortByKey": lambda sc: heavy_pairs(sc).sortByKey(numPartitions=4),
    "sortBy, descending": lambda sc: heavy_pairs(sc).sortBy(lambda p: p[0], False, 4),
    "reduceByKey": lambda sc: (
        heavy_pairs(sc).map(lambda p: (p[1][:40], 1)).reduceByKey(add, 4, by_first_byte)
    ),
}


def note_divisions(sc: SparkContext) -> list[ReducerDivided]:
    """A list that each reducer which is divided from now on comes into."""
    divided: list[ReducerDivided] = []
    sc._engine.story.listeners.append(
        lambda now_s, event, commands: divided.extend(
            each for each in commands if isinstance(each, ReducerDivided)
        )
    )
    return divided


def rows_and_divisions(sc: SparkContext, operators: list[str]) -> tuple[dict[str, Any], list[int]]:
    """Each operator's rows by partition, and how many reducers were divided for them."""
    divided = note_divisions(sc)
    rows, counts = {}, []
    for name in operators:
        before = len(divided)
        rows[name] = OPERATORS[name](sc).glom().collect()
        counts.append(len(divided) - before)
    sc.stop()
    return rows, counts


@pytest.mark.parametrize(
    ("master", "operators"),
    [
        ("local-cluster[2,1,512m]", list(OPERATORS)),
        # Of map outputs on the only node just large ones tell the sizes of their parts.
        ("local[2]", ["join and map", "sortByKey"]),
    ],
)
def test_the_rows_are_the_same(start: Start, master: str, operators: list[str]) -> None:
    whole, none = rows_and_divisions(start(master, pyrite__shuffle__divide="0"), operators)
    assert not any(none)
    divided, some = rows_and_divisions(start(master, pyrite__shuffle__divide="100k"), operators)
    assert all(some), some
    for name in operators:
        assert divided[name] == whole[name], name


def test_what_the_pieces_add_is_counted_once(start: Start) -> None:
    sc = start("local-cluster[2,1,512m]", pyrite__shuffle__divide="100k")
    merges = sc.accumulator(0)

    def merge(left: int, right: int) -> int:
        merges.add(1)
        return left + right

    ones = heavy_pairs(sc).map(lambda p: (p[1][:1], 1))
    counts = ones.combineByKey(lambda v: v, lambda c, v: c + v, merge, 4, lambda key: 0)
    assert sum(counts.values().collect()) == 4 * 12_000
    # 256 keys in each of 4 map outputs: three merges a key, however they are divided.
    assert merges.value == 256 * 3


@pytest.mark.parametrize("lies_so", [True, False])
def test_the_other_side_of_a_join_is_computed_once(start: Start, lies_so: bool) -> None:
    sc = start("local-cluster[2,1,512m]", pyrite__shuffle__divide="100k")
    divided = note_divisions(sc)
    looked_at = sc.accumulator(0)

    def look_at(value: str) -> str:
        looked_at.add(1)
        return value

    # Its rows come to the join by functions of the same stage, or through a shuffle.
    other = (few(sc).partitionBy(4) if lies_so else few(sc)).mapValues(look_at)
    joined = heavy_pairs(sc).join(other, 4)
    hot = joined.filter(lambda row: row[0] == HOT).count()
    assert hot > 4 * 12_000 * 0.75
    assert looked_at.value == 400
    assert bool(divided) is not lies_so


def test_a_users_error_names_the_partition(start: Start) -> None:
    sc = start("local-cluster[2,1,512m]", pyrite__shuffle__divide="100k")

    def merge(left: int, right: int) -> int:
        raise ValueError("can't merge")

    ones = heavy_pairs(sc).map(lambda p: (p[1][:1] * 4000, 1))
    merged = ones.combineByKey(lambda v: v, lambda c, v: c + v, merge, 4, lambda key: 2)
    with pytest.raises(TaskFailed, match=r"can't merge(?s:.)*partition 2 of 4 failed once"):
        merged.count()
