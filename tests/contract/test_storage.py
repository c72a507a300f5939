"""Kept rows: levels, eviction, memory limits, spills, checkpoints, and that all of it goes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from marks import Marks, wait_until
from test_deaths import kill_executors

from pyrite import SparkContext, StorageLevel
from pyrite.errors import PyriteError
from pyrite.remote.protocol import is_segment

Start = Callable[..., SparkContext]

LEVELS = {
    name: getattr(StorageLevel, name)
    for name in [
        "MEMORY_ONLY",
        "MEMORY_ONLY_2",
        "MEMORY_AND_DISK",
        "MEMORY_AND_DISK_2",
        "MEMORY_AND_DISK_DESER",
        "DISK_ONLY",
        "DISK_ONLY_2",
        "DISK_ONLY_3",
        "OFF_HEAP",
    ]
}


class Compute:
    """Marks each computation of a partition."""

    def __init__(self, marks: Marks, name: str = "", rows: int = 0) -> None:
        self.marks = marks
        self.name = name
        self.rows = rows

    def __call__(self, index: int, source: Any) -> Iterator[Any]:
        self.marks.add(f"{self.name}{index}")
        if not self.rows:
            return iter(source)
        return ((index, x, "x" * 50) for x in range(self.rows))


def marked(sc: SparkContext, marks: Marks, parts: int = 4, name: str = "", rows: int = 0) -> Any:
    compute = Compute(marks, name, rows)
    return sc.parallelize(range(100), parts).mapPartitionsWithIndex(compute)


def segments(sc: SparkContext) -> list[str]:
    """The files of blocks that exist."""
    return segments_in(sc._engine.cluster.folders.memory) + disk_segments(sc)


def disk_segments(sc: SparkContext) -> list[str]:
    return segments_in(sc._engine.cluster.folders.disk)


def segments_in(folder: str) -> list[str]:
    return [name for name in os.listdir(folder) if is_segment(name.encode())]


class TestLevels:
    @pytest.mark.parametrize("level", LEVELS)
    def test_same_rows_without_computing_again(
        self, sc: SparkContext, marks: Marks, level: str
    ) -> None:
        rdd = marked(sc, marks).map(lambda x: {"row": x}).persist(LEVELS[level])
        expected = [{"row": x} for x in range(100)]
        for _ in range(3):
            assert rdd.collect() == expected
        assert rdd.map(lambda row: row["row"]).sum() == sum(range(100))
        assert marks.counts() == {str(i): 1 for i in range(4)}

    def test_without_live_rows(self, start: Start, marks: Marks) -> None:
        sc = start(pyrite__cache__liveRows="false")
        rdd = marked(sc, marks).cache()
        assert rdd.sum() == rdd.sum() == sum(range(100))
        assert marks.counts() == {str(i): 1 for i in range(4)}

    @pytest.mark.parametrize("level", LEVELS)
    def test_unpersist_computes_again_and_frees(
        self, start: Start, marks: Marks, level: str
    ) -> None:
        sc = start()
        rdd = marked(sc, marks).persist(LEVELS[level])
        rdd.count()
        rdd.unpersist()
        assert rdd.sum() == sum(range(100))
        assert marks.counts() == {str(i): 2 for i in range(4)}
        wait_until(lambda: not disk_segments(sc), "no disk blocks")
        assert not sc._engine.scheduler.storage.kept

    def test_what_a_failing_job_kept_is_used(self, sc: SparkContext, marks: Marks) -> None:
        rdd = marked(sc, marks, 1).cache()
        with pytest.raises(PyriteError):
            rdd.map(lambda x: 1 // (50 - x)).count()
        assert rdd.count() == 100
        assert marks.counts() == {"0": 1}

    def test_half_read_partitions_are_kept_whole(self, sc: SparkContext, marks: Marks) -> None:
        rdd = marked(sc, marks, 2).cache()
        assert rdd.take(3) == [0, 1, 2]
        assert rdd.count() == 100
        assert rdd.collect() == list(range(100))
        assert marks.counts() == {"0": 1, "1": 1}

    def test_changing_the_level_needs_unpersist(self, sc: SparkContext) -> None:
        rdd = sc.parallelize([1]).cache()
        with pytest.raises(PyriteError, match="unpersist"):
            rdd.persist(StorageLevel.DISK_ONLY)

    def test_replicas_survive_a_death(self, sc: SparkContext, marks: Marks) -> None:
        for name in ("MEMORY_ONLY_2", "MEMORY_AND_DISK_2", "DISK_ONLY", "OFF_HEAP"):
            marks.clear()
            rdd = marked(sc, marks).persist(LEVELS[name])
            assert rdd.sum() == sum(range(100))
            kill_executors(sc)
            assert rdd.sum() == sum(range(100))
            assert marks.counts() == {str(i): 1 for i in range(4)}, name


MEMORY = "96m"
# Some of these fit into the memory above, eight don't.
ROWS = 100_000


class TestPartlyRead:
    """What a task reads only in part is kept whole all the same."""

    @pytest.mark.parametrize("level", [StorageLevel.OFF_HEAP, StorageLevel.DISK_ONLY], ids=str)
    def test_a_kept_child_of_kept_parents(self, sc: SparkContext, level: StorageLevel) -> None:
        # More rows than are encoded at a time.
        parent = sc.range(10_000, numSlices=1).map(lambda x: x).persist(level)
        pairs = parent.zip(parent.map(lambda x: -x)).persist(level)
        assert pairs.take(1) == [(0, 0)]
        assert pairs.count() == 10_000
        assert pairs.filter(lambda pair: pair[0] != -pair[1]).isEmpty()


class TestEviction:
    """One executor with room for some of the RDDs."""

    @pytest.fixture
    def small(self, start: Start) -> SparkContext:
        return start("local[1]", spark__executor__memory=MEMORY)

    def test_least_recently_used_rdd_goes_first(self, small: SparkContext, marks: Marks) -> None:
        rdds = {name: marked(small, marks, 2, name, ROWS // 2).cache() for name in "abcdefgh"}
        for rdd in rdds.values():
            assert rdd.count() == rdds["a"].count() == ROWS
        # Always in use, so never a victim; the others went in the order in which they came.
        assert (marks.count("a0"), marks.count("a1")) == (1, 1)
        marks.clear()
        assert rdds["h"].count() == ROWS
        assert marks.counts() == {}
        assert rdds["b"].count() == ROWS
        assert marks.counts() == {"b0": 1, "b1": 1}

    def test_an_rdd_never_evicts_itself(self, small: SparkContext, marks: Marks) -> None:
        """A scan that does not fit keeps its first partitions instead of chasing its own tail."""
        rdd = marked(small, marks, 8, "", ROWS).cache()
        for _ in range(3):
            assert rdd.count() == 8 * ROWS
        counts = marks.counts()
        assert sum(count == 1 for count in counts.values()) >= 1
        assert sum(count == 3 for count in counts.values()) >= 1
        assert set(counts.values()) == {1, 3}

    def test_priority_is_honoured(self, small: SparkContext, marks: Marks) -> None:
        precious = marked(small, marks, 2, "precious", ROWS // 2).persist(priority=1)
        assert precious.count() == ROWS
        others = [marked(small, marks, 2, f"other{i}:", ROWS // 2).cache() for i in range(7)]
        for other in others:
            assert other.count() == ROWS
        marks.clear()
        assert precious.count() == ROWS
        assert marks.counts() == {}
        assert others[0].count() == ROWS
        assert marks.counts() == {"other0:0": 1, "other0:1": 1}

    def test_memory_and_disk_is_read_back(self, small: SparkContext, marks: Marks) -> None:
        rdd = marked(small, marks, 8, "", ROWS).persist(StorageLevel.MEMORY_AND_DISK)
        for _ in range(2):
            assert rdd.count() == 8 * ROWS
        assert marks.counts() == {str(i): 1 for i in range(8)}
        assert disk_segments(small)

    def test_evicted_rows_of_memory_and_disk_are_read_back(
        self, small: SparkContext, marks: Marks
    ) -> None:
        rdds = [
            marked(small, marks, 2, f"{name}:", ROWS // 2).persist(StorageLevel.MEMORY_AND_DISK)
            for name in "abcd"
        ]
        for _ in range(2):
            for rdd in rdds:
                assert rdd.map(lambda row: row[1]).max() == ROWS // 2 - 1
        assert set(marks.counts().values()) == {1}


def private_mib(_: Any = None) -> float:
    """The memory of this process that it shares with nobody."""
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_")) / 1024


@pytest.mark.parametrize("level", ["OFF_HEAP", "DISK_ONLY", "MEMORY_ONLY"])
def test_a_task_that_comes_upon_a_partition_again_finds_it(sc: SparkContext, level: str) -> None:
    computed = sc.accumulator(0)
    right = sc.parallelize(range(6), 2).map(lambda x: computed.add(1) or x)
    kept = right.persist(getattr(StorageLevel, level))
    # For each row on the left, the same task reads the same partition on the right.
    assert sc.parallelize(range(5), 1).cartesian(kept).count() == 30
    assert computed.value == 6


class TestBounds:
    """Work larger than spark.executor.memory gives the right answers and stays within bounds."""

    LIMIT_MIB = 48
    # The interpreter, what it measures late, and what malloc keeps.
    MARGIN_MIB = 64

    @pytest.fixture
    def small(self, start: Start, tmp_path: Path) -> SparkContext:
        return start(spark__executor__memory=f"{self.LIMIT_MIB}m", spark__local__dir=tmp_path)

    @pytest.fixture
    def spills(self, small: SparkContext) -> Any:
        """Counts the looks at a task that found its rows on disk."""
        counter = small.accumulator(0)
        yield counter
        assert counter.value > 0, "nothing spilled: the test proves nothing"

    def check(self, sc: SparkContext) -> None:
        used = sc.parallelize(range(2), 2).map(private_mib).collect()
        assert max(used) < self.LIMIT_MIB + self.MARGIN_MIB

    def watched(self, rdd: Any, spills: Any) -> Any:
        """Fails a task whose process grows too large, and counts those that spilled."""
        limit = self.LIMIT_MIB + self.MARGIN_MIB
        folder = rdd.ctx._engine.cluster.folders.disk

        def watch(rows: Any) -> Iterator[Any]:
            for number, row in enumerate(rows):
                yield row
                if number % 20_000 == 0:
                    used = private_mib()
                    assert used < limit, f"{used:.0f} MiB"
                    own = f"spill-{os.getpid()}-"
                    spills.add(any(name.startswith(own) for name in os.listdir(folder)))

        return rdd.mapPartitions(watch)

    N = 400_000

    def test_aggregation(self, small: SparkContext, spills: Any) -> None:
        rdd = small.parallelize(range(self.N), 2).map(lambda x: (f"key {x:020d} {x}", 1))
        doubled = rdd.union(rdd).reduceByKey(lambda a, b: a + b, 2)
        assert self.watched(doubled, spills).map(lambda kv: kv[1]).countByValue() == {2: self.N}
        self.check(small)

    def test_grouping(self, small: SparkContext, spills: Any) -> None:
        rdd = small.parallelize(range(2 * self.N), 2).map(lambda x: (x % 5000, f"value {x:030d}"))
        grouped = self.watched(rdd.groupByKey(2), spills).mapValues(lambda values: len(set(values)))
        assert grouped.values().sum() == 2 * self.N
        assert grouped.count() == 5000
        self.check(small)

    def test_one_group_larger_than_memory(self, small: SparkContext) -> None:
        count = 4800
        rdd = small.parallelize(range(count), 48).map(lambda x: ("all", bytes([x % 256]) * 20_000))

        def total(values: Any) -> tuple[int, int]:
            return len(values), sum(value[0] for value in values)

        [(key, found)] = rdd.groupByKey(1).mapValues(total).collect()
        assert (key, found) == ("all", (count, sum(x % 256 for x in range(count))))
        self.check(small)

    def test_sort(self, small: SparkContext, spills: Any) -> None:
        rdd = small.parallelize(range(2 * self.N), 4)
        rows = rdd.map(lambda x: (x * 7919 % 1000003, "x" * 40))
        ordered = (
            self.watched(rows.sortByKey(numPartitions=2), spills).keys().mapPartitions(sorted_facts)
        )
        facts = ordered.collect()
        assert sum(count for count, _, _, _ in facts) == 2 * self.N
        assert all(is_sorted for _, is_sorted, _, _ in facts)
        assert facts[0][3] <= facts[1][2]
        self.check(small)

    def test_join(self, small: SparkContext, spills: Any) -> None:
        left = small.parallelize(range(self.N), 2).map(lambda x: (x, f"left {x:040d}"))
        right = small.parallelize(range(0, self.N, 2), 2).map(lambda x: (x, f"right {x:040d}"))
        joined = self.watched(left.join(right, 2), spills)
        good = joined.filter(lambda kv: int(kv[1][0][5:]) == int(kv[1][1][6:]) == kv[0])
        assert good.count() == self.N // 2
        self.check(small)

    def test_cogroup(self, small: SparkContext, spills: Any) -> None:
        left = small.parallelize(range(self.N), 2).map(lambda x: (x % 50_000, f"left {x:040d}"))
        right = small.parallelize(range(self.N), 2).map(lambda x: (x % 50_000, x))
        grouped = self.watched(left.cogroup(right, numPartitions=2), spills)
        sizes = grouped.map(lambda kv: tuple(len(side) for side in kv[1])).countByValue()
        assert sizes == {(8, 8): 50_000}
        self.check(small)

    def test_distinct(self, small: SparkContext) -> None:
        rdd = small.parallelize(range(2 * self.N), 2).map(lambda x: f"row {x % self.N:050d}")
        assert rdd.distinct(2).count() == self.N
        self.check(small)

    def test_cache(self, small: SparkContext) -> None:
        rdd = small.parallelize(range(self.N), 8).map(lambda x: (x, f"row {x:050d}")).cache()
        for _ in range(2):
            assert rdd.keys().sum() == sum(range(self.N))
        self.check(small)

    def test_nothing_is_left_on_disk(self, small: SparkContext) -> None:
        rdd = small.parallelize(range(self.N), 2).map(lambda x: (f"key {x:020d}", x))
        assert rdd.sortByKey(numPartitions=1).map(lambda kv: kv[1]).take(2) == [0, 1]
        folder = small._engine.cluster.folders.disk
        wait_until(lambda: not [n for n in os.listdir(folder) if n.startswith("spill")])


def sorted_facts(rows: Any) -> Iterator[tuple[int, bool, int, int]]:
    first = last = next(rows)
    count, is_sorted = 1, True
    for row in rows:
        is_sorted = is_sorted and last <= row
        last = row
        count += 1
    yield count, is_sorted, first, last


class TestCheckpoints:
    def test_cut_the_lineage_and_are_read(
        self, sc: SparkContext, marks: Marks, tmp_path: Path
    ) -> None:
        sc.setCheckpointDir(str(tmp_path / "checkpoints"))
        rdd = marked(sc, marks).map(lambda x: x * 2)
        rdd.checkpoint()
        assert not rdd.isCheckpointed()
        assert rdd.sum() == 2 * sum(range(100))
        assert rdd.isCheckpointed()
        assert rdd.dependencies == ()
        folder = rdd.getCheckpointFile()
        assert folder is not None and str(tmp_path / "checkpoints") in folder
        marks.clear()
        kill_executors(sc)
        assert rdd.sum() == rdd.map(lambda x: x).sum() == 2 * sum(range(100))
        assert marks.counts() == {}

    def test_of_a_cached_rdd_computes_once(
        self, sc: SparkContext, marks: Marks, tmp_path: Path
    ) -> None:
        sc.setCheckpointDir(str(tmp_path / "checkpoints"))
        rdd = marked(sc, marks).cache()
        rdd.checkpoint()
        assert rdd.count() == 100
        assert rdd.isCheckpointed()
        assert marks.counts() == {str(i): 1 for i in range(4)}

    def test_are_written_in_the_background(
        self, sc: SparkContext, marks: Marks, tmp_path: Path
    ) -> None:
        sc.setCheckpointDir(str(tmp_path / "checkpoints"))

        def slow(x: int) -> int:
            # The second time is the checkpoint's own job.
            if not marks.first(x):
                marks.add("writing")
                marks.wait("go")
            return x

        rdd = sc.parallelize(range(4), 1).map(slow)
        rdd.checkpoint()
        assert rdd.collect() == [0, 1, 2, 3]
        marks.wait("writing")
        # The user's thread is free, and so is the other executor.
        assert sc.parallelize(range(4), 1).sum() == 6
        marks.add("go")
        assert rdd.isCheckpointed()
        assert rdd.collect() == [0, 1, 2, 3]

    def test_a_lost_one_is_named(self, sc: SparkContext, tmp_path: Path) -> None:
        import shutil

        sc.setCheckpointDir(str(tmp_path / "checkpoints"))
        rdd = sc.parallelize(range(10), 2).map(str)
        rdd.checkpoint()
        rdd.count()
        assert rdd.isCheckpointed()
        shutil.rmtree(tmp_path / "checkpoints")
        with pytest.raises(PyriteError, match="part-0000"):
            rdd.collect()

    def test_need_a_folder(self, start: Start) -> None:
        sc = start()
        with pytest.raises(PyriteError, match="setCheckpointDir"):
            sc.parallelize([1]).checkpoint()

    def test_local_ones_cut_the_lineage_and_survive_deaths(
        self, sc: SparkContext, marks: Marks
    ) -> None:
        rdd = marked(sc, marks).map(lambda x: x * 2)
        rdd.localCheckpoint()
        assert rdd.sum() == 2 * sum(range(100))
        assert rdd.isCheckpointed() and rdd.isLocallyCheckpointed()
        assert rdd.dependencies == ()
        marks.clear()
        kill_executors(sc)
        assert rdd.sum() == 2 * sum(range(100))
        assert marks.counts() == {}

    def test_behind_a_shuffle_are_written_too(self, sc: SparkContext, tmp_path: Path) -> None:
        sc.setCheckpointDir(str(tmp_path / "checkpoints"))
        rdd = sc.parallelize(range(10), 2).keyBy(lambda x: x % 2)
        rdd.checkpoint()
        assert rdd.reduceByKey(max).count() == 2
        assert rdd.isCheckpointed()
        assert sorted(rdd.values().collect()) == list(range(10))


def look_up(held: Any, row: tuple[int, int]) -> int:
    return held.value[row[1]]


class TestTraces:
    """What is not needed any more goes."""

    def test_pool_is_empty_when_rdds_are_gone(self, start: Start) -> None:
        sc = start()
        for _ in range(3):
            rdd = sc.parallelize(range(1000), 4).keyBy(lambda x: x % 7)
            cached = rdd.reduceByKey(max).persist(StorageLevel.OFF_HEAP)
            held = sc.broadcast(list(range(1000)))
            assert cached.map(partial(look_up, held)).count() == 7
            large = sc.parallelize(range(4), 4).map(lambda x: bytes(1 << 20)).collect()
            assert len(large) == 4
            checkpointed = sc.parallelize(range(100), 2).map(str)
            checkpointed.localCheckpoint()
            assert checkpointed.count() == 100
        assert segments(sc)
        del rdd, cached, held, checkpointed
        gc.collect()
        ledger = sc._engine.scheduler.storage.ledger

        def has_live_block() -> bool:
            return any(each.live for each in list(ledger.segments.values()))

        wait_until(lambda: not has_live_block(), "no live block")
        # A writer's last segment stays open, to be filled further, and an executor's for kept
        # partitions too.
        assert len(ledger.segments) <= 5
        wait_until(lambda: set(segments(sc)) == set(ledger.segments), "files as in the ledger")
        assert not sc._engine.scheduler.storage.kept
        assert not sc._engine.scheduler.outputs._shuffles
        assert not sc._engine.scheduler.storage.persisted
        assert not sc._engine.stages.kept

    def test_destroyed_broadcasts_free_their_bytes(self, start: Start) -> None:
        sc = start()
        held = sc.broadcast(bytes(20 << 20))
        assert sc.parallelize([1], 1).map(lambda x: len(held.value)).collect() == [20 << 20]
        held.destroy()
        # The next one seals the driver's segment.
        other = sc.broadcast(bytes(20 << 20))
        wait_until(lambda: len(sc._engine.scheduler.storage.ledger.segments) == 1, "one segment")
        assert len(other.value) == 20 << 20
