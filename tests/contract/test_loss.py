"""Bytes that get lost, corrupted or refused: only the lost pieces are made again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from marks import Marks
from programs import run_program
from test_deaths import kill_executors

from pyrite import SparkContext, StorageLevel
from pyrite.errors import PyriteError, StageAborted, TaskFailed
from pyrite.ids import BlockRef, RddId
from pyrite.rdd.sources import Slices
from pyrite.remote.protocol import is_segment

MAPS = 4


def map_outputs(sc: SparkContext) -> list[BlockRef]:
    """Where the map outputs of the latest shuffle lie."""
    shuffles = sc._engine.scheduler.outputs._shuffles
    return [ref for ref in shuffles[max(shuffles)].refs if ref is not None]


def kept_blocks(sc: SparkContext, rdd: Any) -> dict[int, BlockRef]:
    """Where the partitions lie, none of which is so large that it has several blocks."""
    kept = sc._engine.scheduler.storage.kept._blocks[RddId(rdd.id())]
    return {index: ref for index, (ref,) in kept.items()}


def corrupt(sc: SparkContext, ref: BlockRef) -> None:
    """Changes a byte in the middle of a block."""
    with open(sc._engine.cluster.folders.path(ref.segment, ref.medium), "r+b") as file:
        file.seek(ref.offset + ref.length * 3 // 4)
        [byte] = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0xFF]))


def erase(sc: SparkContext, ref: BlockRef) -> None:
    """Overwrites a whole block."""
    with open(sc._engine.cluster.folders.path(ref.segment, ref.medium), "r+b") as file:
        file.seek(ref.offset)
        file.write(bytes(ref.length))


def marked(sc: SparkContext, marks: Marks, rows: int = 400, parts: int = MAPS) -> Any:
    """Pairs whose partitions leave a mark when they are computed."""

    def compute(index: int, source: Any) -> Iterator[tuple[int, int]]:
        marks.add(index)
        return ((x % 10, x) for x in source)

    return sc.parallelize(range(rows), parts).mapPartitionsWithIndex(compute)


EXPECTED = {k: sum(range(k, 400, 10)) for k in range(10)}
ONCE = {str(i): 1 for i in range(MAPS)}


class TestMapOutputs:
    def test_a_corrupt_one_is_made_again_alone(self, sc: SparkContext, marks: Marks) -> None:
        rdd = marked(sc, marks).reduceByKey(lambda a, b: a + b, 3)
        assert dict(rdd.collect()) == EXPECTED
        corrupt(sc, map_outputs(sc)[2])
        assert dict(rdd.collect()) == EXPECTED
        assert marks.counts() == {**ONCE, "2": 2}

    def test_several_corrupt_ones(self, sc: SparkContext, marks: Marks) -> None:
        rdd = marked(sc, marks).reduceByKey(lambda a, b: a + b, 3)
        assert dict(rdd.collect()) == EXPECTED
        outputs = map_outputs(sc)
        for index in (0, 3):
            corrupt(sc, outputs[index])
        assert dict(rdd.collect()) == EXPECTED
        assert marks.counts() == {**ONCE, "0": 2, "3": 2}

    def test_all_of_them(self, sc: SparkContext, marks: Marks) -> None:
        """More than a stage may fail in a row: each is a loss of its own."""
        rdd = marked(sc, marks, parts=8).reduceByKey(lambda a, b: a + b, 3)
        assert dict(rdd.collect()) == EXPECTED
        for ref in map_outputs(sc):
            erase(sc, ref)
        assert dict(rdd.collect()) == EXPECTED
        assert marks.counts() == {str(i): 2 for i in range(8)}

    def test_a_deleted_segment(self, sc: SparkContext, marks: Marks) -> None:
        rdd = marked(sc, marks).reduceByKey(lambda a, b: a + b, 3)
        assert dict(rdd.collect()) == EXPECTED
        # Those that have mapped the segment would not notice.
        kill_executors(sc)
        outputs = map_outputs(sc)
        gone = outputs[1]
        lost = {str(i) for i, ref in enumerate(outputs) if ref.segment == gone.segment}
        os.unlink(sc._engine.cluster.folders.path(gone.segment, gone.medium))
        assert dict(rdd.collect()) == EXPECTED
        assert marks.counts() == {i: 1 + (i in lost) for i in ONCE}

    def test_a_truncated_segment(self, sc: SparkContext, marks: Marks) -> None:
        rdd = marked(sc, marks).reduceByKey(lambda a, b: a + b, 3)
        assert dict(rdd.collect()) == EXPECTED
        kill_executors(sc)
        cut = map_outputs(sc)[1]
        os.truncate(sc._engine.cluster.folders.path(cut.segment, cut.medium), 10)
        assert dict(rdd.collect()) == EXPECTED

    def test_lost_behind_two_shuffles(self, sc: SparkContext, marks: Marks) -> None:
        first = marked(sc, marks).partitionBy(3)
        rdd = first.map(lambda kv: (kv[0] % 2, kv[1])).reduceByKey(lambda a, b: a + b, 2)
        expected = dict(rdd.collect())
        outputs = sc._engine.scheduler.outputs._shuffles
        early, late = sorted(outputs)[-2:]
        for shuffle in (early, late):
            ref = outputs[shuffle].refs[1]
            assert ref is not None
            erase(sc, ref)
        assert dict(rdd.collect()) == expected
        assert marks.counts() == {**ONCE, "1": 2}

    def test_accumulators_do_not_count_again(self, sc: SparkContext) -> None:
        seen = sc.accumulator(0)

        def pair(x: int) -> tuple[int, int]:
            seen.add(1)
            return x % 10, x

        rdd = sc.parallelize(range(400), MAPS).map(pair).reduceByKey(lambda a, b: a + b, 3)
        assert dict(rdd.collect()) == EXPECTED
        corrupt(sc, map_outputs(sc)[2])
        assert dict(rdd.collect()) == EXPECTED
        assert seen.value == 400

    def test_lost_again_and_again_ends_the_job(self, sc: SparkContext, tmp_path: Path) -> None:
        folder = sc._engine.cluster.folders.memory

        def spoil(index: int, rows: Any) -> Any:
            """Overwrites every map output as soon as a reducer has started."""
            for name in os.listdir(folder):
                if name.startswith("e"):
                    path = os.path.join(folder, name)
                    with open(path, "r+b") as file:
                        file.write(bytes(1 << 20))
            return rows

        rdd = sc.parallelize(range(400), MAPS).keyBy(lambda x: x % 10)
        placed = rdd.partitionBy(3)
        spoiling = placed.mapPartitionsWithIndex(spoil)
        with pytest.raises(StageAborted, match="lost its input 4 times"):
            spoiling.collect()


class TestCached:
    LEVELS = pytest.mark.parametrize(
        "level",
        [StorageLevel.OFF_HEAP, StorageLevel.DISK_ONLY, StorageLevel.DISK_ONLY_2],
        ids=str,
    )

    @LEVELS
    def test_a_corrupt_block_is_computed_again(
        self, sc: SparkContext, marks: Marks, level: StorageLevel
    ) -> None:
        rdd = marked(sc, marks).persist(level)
        assert rdd.values().sum() == sum(range(400))
        assert marks.counts() == ONCE
        corrupt(sc, kept_blocks(sc, rdd)[1])
        for _ in range(2):
            assert rdd.values().sum() == sum(range(400))
        assert marks.counts() == {**ONCE, "1": 2}

    @LEVELS
    def test_a_deleted_block_is_computed_again(
        self, sc: SparkContext, marks: Marks, level: StorageLevel
    ) -> None:
        rdd = marked(sc, marks).persist(level)
        assert rdd.values().sum() == sum(range(400))
        kill_executors(sc)
        ref = kept_blocks(sc, rdd)[1]
        os.unlink(sc._engine.cluster.folders.path(ref.segment, ref.medium))
        lost = {str(i) for i, each in kept_blocks(sc, rdd).items() if each.segment == ref.segment}
        for _ in range(2):
            assert rdd.values().sum() == sum(range(400))
        assert marks.counts() == {i: 1 + (i in lost) for i in ONCE}

    def test_rows_of_many_frames(self, sc: SparkContext, marks: Marks) -> None:
        """The loss is found after rows of the block have been handed out."""
        rdd = marked(sc, marks, rows=80_000).persist(StorageLevel.OFF_HEAP)
        assert rdd.values().sum() == sum(range(80_000))
        corrupt(sc, kept_blocks(sc, rdd)[1])
        assert rdd.values().sum() == sum(range(80_000))

    def test_a_shuffle_behind_a_lost_block_is_read_again(
        self, sc: SparkContext, marks: Marks
    ) -> None:
        rdd = marked(sc, marks).reduceByKey(lambda a, b: a + b, 3).persist(StorageLevel.OFF_HEAP)
        assert dict(rdd.collect()) == EXPECTED
        corrupt(sc, kept_blocks(sc, rdd)[0])
        assert dict(rdd.collect()) == EXPECTED
        assert marks.counts() == ONCE

    def test_a_forgotten_shuffle_behind_a_lost_block_is_made_again(
        self, sc: SparkContext, marks: Marks
    ) -> None:
        rdd = marked(sc, marks).reduceByKey(lambda a, b: a + b, 3).persist(StorageLevel.OFF_HEAP)
        assert dict(rdd.collect()) == EXPECTED
        rdd.cleanShuffleDependencies()
        corrupt(sc, kept_blocks(sc, rdd)[0])
        assert dict(rdd.collect()) == EXPECTED
        assert marks.counts() == dict.fromkeys(ONCE, 2)


class TestDriversBlocks:
    """Values that only the driver had: nothing can make them again, so say so."""

    def test_a_missing_broadcast_is_named(self, sc: SparkContext) -> None:
        held = sc.broadcast(list(range(1000)))
        corrupt(sc, held._ref)
        with pytest.raises(PyriteError, match="broadcast") as caught:
            sc.parallelize([1], 1).map(lambda x: len(held.value)).collect()
        assert "Traceback" not in str(caught.value).splitlines()[0]

    def test_missing_parallelized_rows_are_named(self, sc: SparkContext) -> None:
        rdd = sc.parallelize([str(x) for x in range(100_000)], 2)
        assert rdd.count() == 100_000
        assert isinstance(rdd.op, Slices)
        [ref] = rdd.op.slices[0]
        assert isinstance(ref, BlockRef)
        corrupt(sc, ref)
        with pytest.raises(PyriteError, match="parallelize"):
            rdd.map(len).sum()


class TestFullPool:
    @pytest.mark.parametrize("size", ["0", "1m"])
    def test_everything_goes_to_disk(self, start: Any, size: str, tmp_path: Path) -> None:
        sc: SparkContext = start(pyrite__pool__memory=size, spark__local__dir=tmp_path)
        rdd = sc.parallelize(range(4000), 4).map(lambda x: (x % 10, x))
        assert dict(rdd.reduceByKey(lambda a, b: a + b).collect())[3] == sum(range(3, 4000, 10))
        kept = rdd.persist(StorageLevel.OFF_HEAP)
        assert kept.count() == kept.count() == 4000
        table = sc.broadcast({x: str(x) for x in range(1000)})
        assert sc.parallelize([7, 8]).map(lambda x: table.value[x]).collect() == ["7", "8"]
        large = sc.parallelize([1, 2], 2).map(lambda x: bytes(1 << 20)).collect()
        assert [len(each) for each in large] == [1 << 20] * 2
        folders = sc._engine.cluster.folders
        assert not [name for name in os.listdir(folders.memory) if is_segment(name.encode())]
        assert [name for name in os.listdir(folders.disk) if is_segment(name.encode())]

    def test_of_several_segments(self, start: Any, tmp_path: Path) -> None:
        sc: SparkContext = start(pyrite__pool__memory="40m", spark__local__dir=tmp_path)
        rdd = sc.parallelize(range(60), 20).map(lambda x: (x % 7, bytes([x]) * (1 << 20)))
        grouped = rdd.groupByKey(5).mapValues(lambda parts: sorted(part[0] for part in parts))
        assert dict(grouped.collect()) == {k: list(range(k, 60, 7)) for k in range(7)}
        folders = sc._engine.cluster.folders
        assert [name for name in os.listdir(folders.disk) if is_segment(name.encode())]
        used = sum(
            os.stat(f"{folders.memory}/{name}").st_blocks * 512
            for name in os.listdir(folders.memory)
        )
        assert 0 < used <= 41 << 20


FULL_DISK = """
import os, resource
import pyrite
from marks import wait_until
from pyrite import SparkConf, SparkContext, StorageLevel
conf = SparkConf().setMaster("local[2]").set("spark.local.dir", {folder!r})
conf.set("pyrite.pool.memory", "0").set("spark.executor.memory", "64m")
# No file may grow beyond this: what a full disk does, without one.
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sc = SparkContext(conf=conf)
try:
    {action}
except pyrite.errors.PyriteError as error:
    print(error)
else:
    print("no error")
print("usable:", sc.parallelize(range(4), 2).map(lambda x: x).sum())
# Tasks that were cancelled take a moment to clean up.
wait_until(lambda: os.listdir(sc._engine.cluster.folders.disk) == ["lock"], "an empty folder")
"""

FULL_DISK_ACTIONS = {
    "map output": "sc.parallelize(range(9), 3).map(lambda x: (x, bytes(1 << 20))).partitionBy(2)"
    ".count()",
    "cached block": "sc.parallelize(range(9), 3).map(lambda x: bytes(1 << 20))"
    ".persist(StorageLevel.DISK_ONLY).count()",
    "result": "sc.parallelize(range(2), 2).map(lambda x: bytes(3 << 20)).collect()",
    "sort": "sc.parallelize(range(1 << 21), 2).map(lambda x: (x * 7919 % 1000003, 'x' * 20))"
    ".sortByKey(numPartitions=1).count()",
}


@pytest.mark.parametrize("what", FULL_DISK_ACTIONS)
def test_a_full_disk_is_named_with_its_setting(tmp_path: Path, what: str) -> None:
    program = FULL_DISK.format(folder=str(tmp_path), limit=2 << 20, action=FULL_DISK_ACTIONS[what])
    result = run_program(program)
    assert result.returncode == 0, result.stderr
    assert str(tmp_path) in result.stdout, result.stdout
    assert "spark.local.dir" in result.stdout, result.stdout
    assert "usable: 6" in result.stdout


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 4 MiB, where this user may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "pyrite-test", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("this user can't mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)


def test_a_disk_without_space(start: Any, small_disk: Path) -> None:
    sc: SparkContext = start(spark__local__dir=small_disk, pyrite__pool__memory=0)
    rdd = sc.parallelize(range(9), 3).map(lambda x: (x, bytes(1 << 20)))
    with pytest.raises(PyriteError, match="No space left") as caught:
        rdd.partitionBy(2).count()
    assert str(small_disk) in str(caught.value)
    assert "spark.local.dir" in str(caught.value)
    assert sc.parallelize(range(4), 2).map(lambda x: x).sum() == 6


class TestSaves:
    SAVES = pytest.mark.parametrize(
        "save",
        [lambda rdd, path: rdd.saveAsTextFile(path), lambda rdd, path: rdd.saveAsPickleFile(path)],
        ids=["text", "pickle"],
    )

    @SAVES
    def test_a_failed_save_leaves_nothing(
        self, sc: SparkContext, tmp_path: Path, save: Callable[[Any, str], None]
    ) -> None:
        def fail(x: int) -> int:
            if x == 7:
                raise ValueError("row 7")
            return x

        target = tmp_path / "deep" / "output"
        with pytest.raises(TaskFailed, match="row 7"):
            save(sc.parallelize(range(10), 5).map(fail), str(target))
        assert list(tmp_path.iterdir()) == []

    @SAVES
    def test_an_existing_folder_is_refused_before_any_task(
        self, sc: SparkContext, tmp_path: Path, marks: Marks, save: Callable[[Any, str], None]
    ) -> None:
        target = tmp_path / "output"
        target.mkdir()
        rdd = sc.parallelize(range(10), 5).map(lambda x: marks.add("ran"))
        with pytest.raises(PyriteError, match="already exists"):
            save(rdd, str(target))
        assert marks.counts() == {}
        assert list(target.iterdir()) == []

    def test_an_executor_that_dies_while_it_saves(
        self, sc: SparkContext, tmp_path: Path, marks: Marks
    ) -> None:
        def die_once(x: int) -> int:
            if x == 7 and marks.first("death"):
                os._exit(1)
            return x

        target = tmp_path / "output"
        sc.parallelize(range(10), 5).map(die_once).saveAsTextFile(str(target))
        assert sc.textFile(str(target)).map(int).collect() == list(range(10))
        names = sorted(each.name for each in target.iterdir())
        assert names == ["_SUCCESS", *(f"part-0000{i}" for i in range(5))]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["marks", "output"]

    def test_missing_input_is_named_before_any_task(
        self, sc: SparkContext, tmp_path: Path, marks: Marks
    ) -> None:
        rdd = sc.textFile(str(tmp_path / "missing")).map(lambda x: marks.add("ran"))
        with pytest.raises(PyriteError, match="missing"):
            rdd.count()
        assert marks.counts() == {}

    @pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
    def test_unreadable_input_is_named_before_any_task(
        self, sc: SparkContext, tmp_path: Path, marks: Marks
    ) -> None:
        secret = tmp_path / "secret"
        secret.touch(0o000)
        rdd = sc.textFile(str(secret)).map(lambda x: marks.add("ran"))
        with pytest.raises(PyriteError, match="secret"):
            rdd.count()
        assert marks.counts() == {}
