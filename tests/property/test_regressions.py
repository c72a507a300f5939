"""Programs that once failed."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import Any

import pytest
from idle import wait_until
from lineage import Ask, Program, Source, Step
from row_functions import hungry, larger
from sabotage import Faults, Loss, kill, lose
from trials import Start, run

from pyrite import SparkContext, StorageLevel
from pyrite.errors import StageAborted, TaskFailed
from pyrite.ids import AttemptId, BlockRef, ExecutorId, JobId, NodeId, RddId, ShuffleId, StageId
from pyrite.plan.program import PlanStep as PlanStep
from pyrite.plan.program import Shape, ShuffleInput
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

NODE = NodeId("node-0")


def spoil_first_output(sc: SparkContext) -> None:
    lose(sc._engine, Loss(0, 0))


def test_a_map_output_is_lost_after_its_source_was_checkpointed_locally(
    start: Start, tmp_path: Path
) -> None:
    """The shuffle's stage had been cut before, and went on reading the rows' first blocks."""
    program = Program(
        sources=(Source("fat", 100, 2),),
        steps=(
            Step("checkpoint", (0,), (True,)),
            Step("distinct", (0,), (2,)),
        ),
        threads=((Ask("collect", 2), Ask("collect", 2)),),
    )
    # Without a pool each block is a file, which goes as soon as the block does.
    run(program, Faults(losses=(Loss(0, 1),)), start({"pyrite.pool.memory": "0"}), tmp_path)


def test_map_outputs_are_lost_in_front_of_and_behind_a_checkpoint(
    start: Start, tmp_path: Path
) -> None:
    """The stage behind the checkpoint asked for a shuffle that had gone with the lineage."""
    sc = start({})
    first = sc.parallelize(range(40), 3).map(lambda x: (x % 7, x)).reduceByKey(max, 3)
    first.checkpoint()
    second = first.map(lambda pair: (pair[1] % 3, pair[0])).reduceByKey(max, 2)
    expected = sorted(second.collect())
    assert first.isCheckpointed()
    for _ in range(3):
        spoil_first_output(sc)
        assert sorted(second.collect()) == expected


def test_a_killed_executor_leaves_no_files(start: Start) -> None:
    """What it was writing was never reported, so nobody dropped it before the context ended."""
    sc = start({})
    sc.parallelize(range(4), 2).count()
    folders: Any = sc._engine.cluster.folders
    [first, *_] = list(sc._engine.cluster.by_id.values())
    strays = [
        Path(folders.disk, f"e{first.id}-1001"),
        Path(folders.memory, f"e{first.id}-1000"),
        Path(folders.disk, f"spill-{first.pid}-0123456789abcdef"),
    ]
    for each in strays:
        each.write_bytes(os.urandom(16))
    kill(sc._engine, 0)
    wait_until(lambda: not any(each.exists() for each in strays), "the files to go")
    assert sc.parallelize(range(4), 2).count() == 4


def test_nothing_is_repartitioned_and_sorted(start: Start, tmp_path: Path) -> None:
    """An RDD without partitions has no default for the number of them either."""
    program = Program(
        sources=(Source("textFile", [], 1),),
        steps=(Step("repartitionAndSortWithinPartitions", (0,), (None,)),),
        threads=((Ask("collect", 1),),),
    )
    run(program, Faults(), start({}), tmp_path)


def test_a_result_too_large_for_its_executor_is_not_called_unsendable(start: Start) -> None:
    with pytest.raises(TaskFailed, match=r"raise spark\.executor\.memory"):
        start({}).parallelize([1], 1).map(hungry).collect()


def test_a_lost_map_output_of_repartition_never_gives_wrong_rows(start: Start) -> None:
    sc = start({"spark.master": "local[1]", "spark.executor.memory": "36m"})
    rows = [(number % 3000, f"{number} ".ljust(3000, "x")) for number in range(4000)]
    keys = sc.parallelize(rows, 1).reduceByKey(larger, 1).keys()
    spread = keys.repartition(3).persist(StorageLevel.OFF_HEAP)
    keys.count()
    sc.runJob(spread, list, [0])

    def take_memory(rows: Any) -> Any:
        builtins.taken = bytearray(20_000_000)  # type: ignore[attr-defined]
        return rows

    sc.parallelize([1], 1).mapPartitions(take_memory).count()
    shuffles = sc._engine.scheduler.outputs._shuffles
    lose(sc._engine, Loss(0, sum(len(each.refs) for each in shuffles.values()) - 1))
    for _ in range(2):
        # It would be dealt out in another order, as its task spills this time.
        with pytest.raises(StageAborted, match="checkpoint"):
            spread.collect()
    assert sorted(keys.repartition(3).collect()) == list(range(3000))


def stage(id: int, parents: dict[ShuffleId, StageSpec], writes: ShuffleId | None) -> StageSpec:
    nodes = [PlanStep(RddId(id), tuple(map(ShuffleInput, parents)), 1)]
    return StageSpec(StageId(id), f"stage {id}", 1, Shape(nodes), parents, writes)


def test_one_shuffle_made_by_two_stages_at_once() -> None:
    """After a checkpoint a shuffle is cut anew, while a job of another thread makes the old one."""
    shuffle = ShuffleId(0)
    scheduler = Scheduler(Rules())
    commands: list[do.Command] = []

    def tell(event: ev.Event) -> None:
        commands.extend(scheduler.handle(event, now_s=0.0))
        scheduler.check()

    tell(ev.NodeJoined(NODE, 0))
    for id in (0, 1):
        tell(ev.ExecutorJoined(ExecutorId(id), NODE))
        last = stage(10 + id, {shuffle: stage(id, {}, shuffle)}, None)
        tell(ev.JobSubmitted(JobSpec(JobId(id), last, (0,))))
    for attempt in (0, 1):
        output = BlockRef(NODE, f"made-{attempt}", 0, 8, "disk")
        tell(ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(None, output),)))
    for attempt in (2, 3):
        tell(ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(b""),)))
    assert [each.job for each in commands if isinstance(each, do.FinishJob)] == [0, 1]
    assert do.DropSegments(NODE, ("made-1",)) in commands
