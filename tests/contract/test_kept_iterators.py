"""Rows that hold what is consumed by reading are kept all the same, and read as often as wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from marks import Marks
from test_storage import LEVELS

from pyrite import SparkContext, StorageLevel
from pyrite.errors import TaskFailed

Start = Callable[..., SparkContext]

MANY = 5_000
# Kept as objects, if rows allow it.
LIVE = [name for name in LEVELS if name.startswith("MEMORY")]


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


def late(index: int, rows: Iterator[int]) -> Iterator[Any]:
    """Plain rows at first, and iterators behind more rows than are looked at in one go."""
    for row in rows:
        yield row, map(str, [row, row]) if row % MANY == MANY - 1 else row


def read(row: Any) -> Any:
    key, value = row
    return key, list(value) if isinstance(value, map) else value


class TestIterators:
    @pytest.mark.parametrize("level", LEVELS)
    def test_groups_of_iterators_are_full_whenever_they_are_read(
        self, sc: SparkContext, marks: Marks, level: str
    ) -> None:
        def strings(values: Any) -> Any:
            marks.add("computed")
            return map(str, values)

        groups = sc.parallelize([(1, 2), (1, 3)], 1).groupByKey().mapValues(strings)
        groups.persist(LEVELS[level])
        for _ in range(3):
            assert groups.mapValues(list).collect() == [(1, ["2", "3"])]
        assert marks.counts() == {"computed": 1}

    @pytest.mark.parametrize("level", LIVE)
    def test_a_late_row_with_an_iterator(self, sc: SparkContext, level: str) -> None:
        rdd = sc.range(2 * MANY, numSlices=2).mapPartitionsWithIndex(late).persist(LEVELS[level])
        expected = [(i, [str(i)] * 2) if i % MANY == MANY - 1 else (i, i) for i in range(2 * MANY)]
        for _ in range(3):
            assert rdd.map(read).collect() == expected

    def test_kept_parents_of_kept_children(self, sc: SparkContext) -> None:
        """A child that reads the rows of its parent while these are stored."""
        parent = sc.parallelize(range(6), 2).map(lambda x: Holder(iter([x]))).cache()
        child = parent.map(lambda holder: (list(holder.held), zip("a", "b", strict=True))).cache()
        for _ in range(2):
            assert child.map(lambda pair: (pair[0], list(pair[1]))).collect() == [
                ([x], [("a", "b")]) for x in range(6)
            ]
            assert parent.map(lambda holder: list(holder.held)).collect() == [[x] for x in range(6)]

    def test_cogroups_of_iterators(self, sc: SparkContext) -> None:
        left = sc.parallelize([(1, "a"), (2, "b")], 2)
        rdd = left.cogroup(left).mapValues(lambda groups: tuple(map(iter, groups))).cache()
        for _ in range(2):
            found = rdd.mapValues(lambda groups: [list(each) for each in groups]).collect()
            assert sorted(found) == [(1, [["a"], ["a"]]), (2, [["b"], ["b"]])]

    def test_local_checkpoints(self, sc: SparkContext) -> None:
        rdd = sc.parallelize([1, 2], 1).map(lambda x: map(str, [x]))
        rdd.localCheckpoint()
        for _ in range(3):
            assert rdd.map(list).collect() == [["1"], ["2"]]

    def test_a_generator_is_refused_by_name_with_a_cure(self, sc: SparkContext) -> None:
        rdd = sc.parallelize([1], 1).map(lambda x: (x, (each for each in [x]))).cache()
        with pytest.raises(TaskFailed, match=r"generator.*make a list"):
            rdd.count()
        assert sc.parallelize([1], 1).map(lambda x: (x, [x])).cache().collect() == [(1, [1])]


class TestSharing:
    def test_what_a_row_holds_twice_stays_one(self, sc: SparkContext) -> None:
        grid = sc.parallelize([0], 1).map(lambda _: [[0] * 2] * 2).first()
        grid[0][0] = 9
        assert grid == [[9, 0], [9, 0]]

    def test_through_a_shuffle_and_kept(self, sc: SparkContext) -> None:
        def change(grid: Any) -> Any:
            grid[0][0] = 9
            return grid

        rows = sc.parallelize(range(3 * MANY), 2).map(lambda x: (x % 7, [[x] * 2] * 2))
        for each in (rows, rows.partitionBy(3), rows.persist(StorageLevel.OFF_HEAP)):
            changed = each.mapValues(change).values()
            assert changed.filter(lambda grid: grid[0] != grid[1]).isEmpty()

    def test_neighbours_share_a_long_string(self, start: Start) -> None:
        """A line beside each of its words: 20 MB where it is written each time."""
        sc = start(spark__driver__maxResultSize="4m")
        lines = sc.parallelize([" ".join(map(str, range(2000)))], 1)
        pairs = lines.flatMap(lambda line: [(word, line) for word in line.split()])
        found = pairs.collect()
        assert len(found) == 2000
        assert found[0][1] == found[-1][1]

    @pytest.mark.parametrize("count", [48, 49, 200, MANY])
    def test_frozensets(self, sc: SparkContext, count: int) -> None:
        sets = sc.parallelize(range(count), 2).map(lambda i: frozenset([i]))
        assert sets.distinct().count() == count
        assert sets.collect() == [frozenset([i]) for i in range(count)]


class TestArrays:
    """Frames look into large arrays, and whoever made these may change them."""

    def test_one_array_filled_anew_for_each_row(self, start: Start) -> None:
        np = pytest.importorskip("numpy")

        def filled(rows: Iterator[int]) -> Iterator[Any]:
            array = np.zeros(1000)
            for row in rows:
                array[:] = row
                yield row, array

        sc = start(spark__executor__memory="64m")
        rows = sc.range(10_000, numSlices=1).mapPartitions(filled)
        assert rows.partitionBy(2).mapValues(lambda array: array.size).values().sum() == 10_000_000
        kept = rows.persist(StorageLevel.OFF_HEAP)
        assert kept.count() == kept.count() == 10_000
        again = sc.range(10_000, numSlices=1).mapPartitions(filled)
        again.localCheckpoint()
        assert again.count() == again.count() == 10_000

    def test_a_reader_that_changes_arrays_does_not_change_what_is_kept(
        self, sc: SparkContext, marks: Marks
    ) -> None:
        np = pytest.importorskip("numpy")

        def made(x: int) -> Any:
            marks.add("made")
            return np.full(1000, float(x))

        def change(array: Any) -> float:
            array += 1
            return float(array[0])

        rdd = sc.parallelize([1, 2], 1).map(made).persist(StorageLevel.OFF_HEAP)
        assert rdd.map(change).collect() == [2.0, 3.0]
        assert rdd.map(lambda array: float(array[0])).collect() == [1.0, 2.0]
        assert marks.counts() == {"made": 2}
        with pytest.raises(TaskFailed, match=r"read-only.*change a copy"):
            rdd.map(change).collect()

    def test_arrays_from_disk_can_be_changed(self, start: Start, tmp_path: Any) -> None:
        """Where rows spilled, and where they come from files, as where neither is so."""
        np = pytest.importorskip("numpy")

        def change(array: Any) -> int:
            array += 1
            return int(array[0])

        sc = start(spark__executor__memory="64m")
        rows = sc.range(20_000, numSlices=2).map(lambda x: (x % 1000, np.full(1000, x)))
        for each in (
            rows.sortByKey(numPartitions=2),
            rows.groupByKey(2).flatMapValues(lambda values: values),
            rows.persist(StorageLevel.DISK_ONLY),
        ):
            assert each.mapValues(change).values().sum() == sum(range(20_001))
        sc.range(10, numSlices=1).map(lambda x: np.full(1000, x)).saveAsPickleFile(
            str(tmp_path / "rows")
        )
        assert sc.pickleFile(str(tmp_path / "rows")).map(change).sum() == 55
