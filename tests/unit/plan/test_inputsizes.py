"""What the maps of a shuffle read: files, rows of the driver's, kept partitions, shuffles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyrite import SparkContext
from pyrite.ids import RddId, ShuffleId
from pyrite.plan.inputsizes import MOST_POSITIONS, input_sizes
from pyrite.plan.program import NarrowInput, PlanStep, ShuffleInput
from pyrite.plan.stages import StageSpec
from pyrite.rdd.dependency import SAME, Groups, UnionIndex, UnionSlice
from pyrite.rdd.functions import gather

UNLIKE = (10, 200, 3_000)


@pytest.fixture(scope="module")
def sc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkContext]:
    with SparkContext("local[1]", "sizes") as context:
        context.setCheckpointDir(str(tmp_path_factory.mktemp("checkpoints")))
        yield context


def maps_of(rdd: Any) -> StageSpec:
    """The stage of maps that deal out the RDD's rows."""
    engine = rdd.ctx._engine
    dealt = rdd.map(lambda row: (row, 1)).reduceByKey(lambda a, b: a + b, 2)
    last, _ = engine.cutter.result_stage(dealt, engine.freezer.copy(dealt, gather))
    assert last.sources == {}
    (stage,) = last.parents.values()
    return stage


def nothing_kept(rdd: RddId, partitions: int) -> Mapping[int, int] | None:
    return None


def sizes_of(rdd: Any) -> list[int] | None:
    stage = maps_of(rdd)
    found = input_sizes(stage.shape.steps, stage.sources, nothing_kept, {})
    return None if found is None else list(found)


def files(folder: Path) -> str:
    for number, size in enumerate(UNLIKE):
        (folder / f"{number}.txt").write_text("x" * (size - 1) + "\n")
    return str(folder)


def test_unlike_files(sc: SparkContext, tmp_path: Path) -> None:
    text = sc.textFile(files(tmp_path), 1)
    assert sizes_of(text) == list(UNLIKE)
    assert sizes_of(text.filter(bool).mapPartitions(list)) == list(UNLIKE)
    assert sizes_of(sc.wholeTextFiles(str(tmp_path), 1)) == [sum(UNLIKE)]


def test_a_large_file_is_cut(sc: SparkContext, tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"x" * 1000)
    sizes = sizes_of(sc.textFile(str(tmp_path / "rows"), 4))
    assert sizes == [250] * 4


def test_rows_of_the_driver(sc: SparkContext) -> None:
    sizes = sizes_of(sc.parallelize(["x" * 4_000] + ["x"] * 5, 2))
    assert sizes is not None and sizes[0] > 10 * sizes[1] > 0
    assert sizes_of(sc.parallelize(range(6), 4)) == [8, 16, 8, 16]
    large = sc.parallelize([bytes([n % 251]) * 1000 for n in range(2_000)], 2)
    sizes = sizes_of(large)
    assert sizes is not None and all(1_000_000 <= size < 1_100_000 for size in sizes)


@pytest.mark.parametrize("local", [True, False])
def test_checkpoints(sc: SparkContext, local: bool) -> None:
    rdd = sc.parallelize(["x" * 4_000] + ["x"] * 5, 2).map(lambda row: row)
    (rdd.localCheckpoint if local else rdd.checkpoint)()
    rdd.count()
    sizes = sizes_of(rdd)
    assert sizes is not None and sizes[0] > 3 * sizes[1] > 0


def test_unions_and_runs_of_partitions(sc: SparkContext, tmp_path: Path) -> None:
    text = sc.textFile(files(tmp_path), 1)
    small, middle, large = UNLIKE
    assert sizes_of(text.union(text.map(str.upper))) == list(UNLIKE + UNLIKE)
    assert sizes_of(text.coalesce(2)) == [small, middle + large]
    assert sizes_of(text.zip(text)) == [2 * size for size in UNLIKE]


def source(rdd: int, partitions: int) -> PlanStep:
    return PlanStep(RddId(rdd), (), partitions)


def test_what_is_unknown_of_one_parent_is_unknown() -> None:
    union = PlanStep(
        None,
        (NarrowInput(0, UnionSlice(0, 2)), NarrowInput(1, UnionSlice(2, 1))),
        3,
        union=UnionIndex([2, 1]),
    )
    steps = [source(1, 2), source(2, 1), union]
    assert input_sizes(steps, {0: (5, 6)}, nothing_kept, {}) is None
    assert input_sizes(steps, {0: (5, 6), 1: (7,)}, nothing_kept, {}) == [5, 6, 7]


def test_kept_partitions_stand_for_what_is_behind_them() -> None:
    steps = [source(1, 2), PlanStep(RddId(2), (NarrowInput(0, SAME),), 2)]
    kept = {RddId(2): {0: 70, 1: 9}}

    def sizes(rdd: RddId, partitions: int) -> Mapping[int, int] | None:
        return kept.get(rdd)

    assert input_sizes(steps, {}, sizes, {}) == [70, 9]
    assert input_sizes(steps, {0: (1, 2)}, sizes, {}) == [70, 9]
    assert input_sizes(steps, {0: (1, 2)}, nothing_kept, {}) == (1, 2)


def test_parts_of_shuffles_count_beside_other_input() -> None:
    three = ShuffleId(3)
    reads = PlanStep(RddId(1), (ShuffleInput(three),), 3)
    runs = PlanStep(RddId(2), (NarrowInput(0, Groups([0, 1, 3])),), 2)
    assert input_sizes([reads, runs], {}, nothing_kept, {three: (4, 5)}) == [4, 5]
    assert input_sizes([reads, runs], {}, nothing_kept, {}) is None
    beside = PlanStep(RddId(4), (NarrowInput(0, SAME), ShuffleInput(three)), 2)
    found = input_sizes([source(5, 2), beside], {0: (10, 20)}, nothing_kept, {three: (4, 5)})
    assert found == [14, 25]


def test_too_many_partitions_are_not_added_up() -> None:
    many = MOST_POSITIONS + 1
    assert input_sizes([source(1, many)], {0: range(many)}, nothing_kept, {}) is None
