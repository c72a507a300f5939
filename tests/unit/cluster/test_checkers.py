"""Each checker bites on a story that can't be, and stays quiet on the same one told right."""

from __future__ import annotations

from typing import Any

import pytest

from pyrite import SparkConf, SparkContext
from pyrite.cluster.sim.checkers import Checker, CheckFailed
from pyrite.cluster.sim.checkers.blocks import NeededBlocks
from pyrite.cluster.sim.checkers.counting import Counting
from pyrite.cluster.sim.checkers.delivery import Delivery
from pyrite.cluster.sim.checkers.economy import Economy
from pyrite.cluster.sim.checkers.executors import Executors
from pyrite.cluster.sim.checkers.invariants import Invariants
from pyrite.cluster.sim.checkers.leaks import what_is_left
from pyrite.cluster.sim.checkers.snapshots import Snapshots
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.ids import (
    AttemptId,
    BlockRef,
    ExecutorId,
    JobId,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.plan.program import Shape
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.attempts import Attempt
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.taskinputs import Divided, Snapshot
from pyrite.schedule.timer import SpeculationCheck

NODE, OTHER = NodeId("node-0"), NodeId("node-1")
REF = BlockRef(NODE, "e0-1", 0, 10)
MOVED = BlockRef(OTHER, "e1-1", 0, 10)
SHUFFLE = ShuffleId(5)
MAPS = StageSpec(StageId(0), "maps", 2, Shape([]), {}, SHUFFLE)
RESULT = StageSpec(StageId(1), "result", 2, Shape([]), {SHUFFLE: MAPS})
SUBMITTED = ev.JobSubmitted(JobSpec(JobId(0), RESULT, (0, 1)))
NODES = ev.NodeJoined(NODE, 100), ev.NodeJoined(OTHER, 100)
JOINED = ev.ExecutorJoined(ExecutorId(0), NODE), ev.ExecutorJoined(ExecutorId(1), OTHER)
NODE_LOST = ev.NodeLost(NODE, "gone")
TICK = ev.TimerFired(SpeculationCheck())

Chapter = tuple[ev.Event, list[do.Command]]


def tell(checker: Checker, *chapters: ev.Event | Chapter) -> None:
    for each in chapters:
        # Events are tuples too, and have names.
        event, commands = each if type(each) is tuple else (each, [])
        checker.see(0.0, event, commands)


COUNT = do.CountAccumulators(JobId(0), b"updates")


def launch(attempt: int, partition: int = 0, stage: int = 0, **more: Any) -> do.LaunchTask:
    executor = ExecutorId(more.pop("executor", 0))
    return do.LaunchTask(
        AttemptId(attempt), executor, StageId(stage), (partition,), 0, JobId(0), **more
    )


def reduce_task(attempt: int, epoch: int, *refs: BlockRef) -> Chapter:
    return TICK, [launch(attempt, stage=1, inputs=(Snapshot(SHUFFLE, epoch, refs),))]


def done(attempt: int, output: BlockRef | None = None) -> ev.TaskSucceeded:
    return ev.TaskSucceeded(
        AttemptId(attempt), (ev.TaskOutput(output=output, accumulators=COUNT.updates),)
    )


def unread(attempt: int, ref: BlockRef) -> ev.FetchFailed:
    return ev.FetchFailed(AttemptId(attempt), SHUFFLE, ((0, ref),), "gone")


# Results


def deliver(partition: int) -> do.DeliverResult:
    return do.DeliverResult(JobId(0), partition, b"")


FINISH = do.FinishJob(JobId(0))


def test_delivery_is_quiet_where_each_result_comes_once() -> None:
    tell(Delivery(), SUBMITTED, (TICK, [deliver(1)]), (TICK, [deliver(0), FINISH]))
    tell(Delivery(), SUBMITTED, (TICK, [do.FinishJob(JobId(0), ValueError())]))


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ([deliver(0), deliver(0)], "came twice"),
        ([deliver(0), FINISH], r"ended well without \[1\]"),
        ([deliver(0), deliver(1), FINISH, FINISH], "ended twice"),
        ([deliver(0), deliver(1), FINISH, deliver(1)], "after its end"),
    ],
)
def test_delivery_bites(commands: list[do.Command], message: str) -> None:
    with pytest.raises(CheckFailed, match=message):
        tell(Delivery(), SUBMITTED, (TICK, commands))


# Accumulators

TWO_MAPS = TICK, [launch(0), launch(1), launch(2, 1), launch(3, stage=1)]


def test_counting_is_quiet_where_each_partition_counts_once() -> None:
    checker = Counting()
    tell(checker, SUBMITTED, TWO_MAPS, (done(0), [COUNT]), done(1), (done(2), [COUNT]))
    tell(checker, (done(3), [COUNT]))
    # A shuffle that is forgotten and made again is another one.
    tell(checker, ev.ShuffleForgotten(SHUFFLE), (done(1), [COUNT]))


def test_counting_bites_where_a_partition_counts_again() -> None:
    with pytest.raises(CheckFailed, match="counted twice"):
        tell(Counting(), SUBMITTED, TWO_MAPS, (done(0), [COUNT]), (done(1), [COUNT]))


@pytest.mark.parametrize("chapter", [(done(0), [COUNT, COUNT]), (TICK, [COUNT])])
def test_counting_bites_where_no_task_brought_the_updates(chapter: Chapter) -> None:
    with pytest.raises(CheckFailed, match="updates counted at"):
        tell(Counting(), SUBMITTED, TWO_MAPS, chapter)


GROUP = launch(0)._replace(partitions=(0, 1, 2))
OTHERS = [do.CountAccumulators(JobId(0), word) for word in (b"one", b"two")]
GROUP_DONE = ev.TaskSucceeded(
    AttemptId(0), tuple(ev.TaskOutput(None, None, each.updates) for each in (COUNT, *OTHERS))
)


def test_counting_tells_the_partitions_of_one_task_apart() -> None:
    tell(Counting(), SUBMITTED, (TICK, [GROUP]), (GROUP_DONE, [COUNT, *OTHERS]))
    checker = Counting()
    tell(checker, SUBMITTED, (TICK, [GROUP, launch(1, 1)]), (GROUP_DONE, [OTHERS[1]]))
    tell(checker, (done(1), [COUNT]))


@pytest.mark.parametrize(
    ("chapters", "message"),
    [
        ([(GROUP_DONE, [OTHERS[0], OTHERS[0]])], "updates counted at"),
        ([(GROUP_DONE, [COUNT, *OTHERS]), (done(1), [COUNT])], "counted twice"),
    ],
)
def test_counting_bites_where_a_partition_of_a_group_counts_again(
    chapters: list[Chapter], message: str
) -> None:
    with pytest.raises(CheckFailed, match=message):
        tell(Counting(), SUBMITTED, (TICK, [GROUP, launch(1, 2)]), *chapters)


def test_counting_hears_the_pieces_of_a_divided_reducer_when_they_are_merged() -> None:
    piece = launch(0, divided=Divided(0, SHUFFLE, (0, 1)))
    merge = launch(1, divided=Divided(0, SHUFFLE, None, (REF,)))
    told = ev.TaskSucceeded(AttemptId(0), (ev.TaskOutput(None, REF, COUNT.updates),))
    merged = ev.TaskSucceeded(AttemptId(1), (ev.TaskOutput(None, MOVED),))
    tell(Counting(), SUBMITTED, (TICK, [piece]), (told, [merge]), (merged, [COUNT]))
    with pytest.raises(CheckFailed, match="told not"):
        tell(Counting(), SUBMITTED, (TICK, [piece]), (told, [merge]), (merged, [COUNT, COUNT]))
    with pytest.raises(CheckFailed, match="told not"):
        tell(Counting(), SUBMITTED, (TICK, [piece, merge]), (merged, [COUNT]))


# Snapshots


def test_snapshots_are_quiet_where_all_is_there() -> None:
    checker = Snapshots()
    tell(checker, *NODES, reduce_task(0, 0, REF), unread(0, REF), reduce_task(1, 1, MOVED))
    tell(checker, (TICK, [launch(2, blocks=((Partition(RddId(4), 0), MOVED),))]))


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (NODE_LOST, "on node-0, which is lost"),
        (unread(0, REF), "where it was found lost"),
        (ev.BlockLost(Partition(RddId(4), 0), REF), "where it was found lost"),
    ],
)
def test_snapshots_bite_where_something_lost_is_promised(before: ev.Event, message: str) -> None:
    with pytest.raises(CheckFailed, match=f"map output 0 of shuffle 5 .*{message}"):
        tell(Snapshots(), *NODES, before, reduce_task(1, 0, REF))
    kept = launch(1, blocks=((Partition(RddId(4), 3), REF),))
    with pytest.raises(CheckFailed, match=f"partition 3 of RDD 4 .*{message}"):
        tell(Snapshots(), *NODES, before, (TICK, [kept]))


def test_snapshots_bite_where_an_epoch_goes_back() -> None:
    with pytest.raises(CheckFailed, match="went back to 1"):
        tell(Snapshots(), *NODES, reduce_task(0, 2, REF), reduce_task(1, 1, REF))


# Executors


@pytest.mark.parametrize(
    "ended",
    [
        done(0),
        ev.TaskRaised(AttemptId(0), ev.Failure("E", "")),
        ev.TaskCancelled(AttemptId(0)),
        unread(0, REF),
    ],
)
def test_executors_are_quiet_where_one_task_follows_another(ended: ev.Event) -> None:
    tell(Executors(), *JOINED, (TICK, [launch(0)]), ended, (TICK, [launch(1)]))


@pytest.mark.parametrize(
    "lost", [ev.ExecutorLost(ExecutorId(0), "killed"), NODE_LOST, ev.NodeJoined(NODE, 100)]
)
def test_executors_bite_where_a_lost_one_gets_a_task(lost: ev.Event) -> None:
    tell(Executors(), *JOINED, (TICK, [launch(0)]), lost, (TICK, [launch(1, executor=1)]))
    with pytest.raises(CheckFailed, match="goes to 0, who is lost"):
        tell(Executors(), *JOINED, (TICK, [launch(0)]), lost, (TICK, [launch(1)]))


def test_executors_bite_on_two_tasks_at_once_and_on_old_numbers() -> None:
    with pytest.raises(CheckFailed, match="two tasks at once"):
        tell(Executors(), *JOINED, (TICK, [launch(0)]), (TICK, [launch(1)]))
    with pytest.raises(CheckFailed, match="attempt 0 is launched again"):
        tell(Executors(), *JOINED, (TICK, [launch(0), launch(0, executor=1)]))


# NeededBlocks


def holding(**held: Any) -> Any:
    scheduler = Scheduler(Rules())
    scheduler.outputs._shuffles = held.get("shuffles", {})
    scheduler.storage.kept._blocks = held.get("blocks", {})
    scheduler.storage.ledger.segments = held.get("read", {})
    if "read" in held:
        read = ((Partition(RddId(4), 2), REF),)
        attempt = Attempt(AttemptId(9), None, (0,), ExecutorId(0), 0, 0.0, blocks=read)
        scheduler.attempts.add(attempt)
    return scheduler


def made(shuffle: int, index: int) -> ShuffleOutputs:
    """Outputs of two maps, of which one is there."""
    outputs = ShuffleOutputs(ShuffleId(shuffle), 2)
    outputs.add(index, REF, b"\1")
    return outputs


DROP: Chapter = TICK, [do.DropSegments(NODE, (REF.segment,))]


@pytest.mark.parametrize(
    ("scheduler", "what"),
    [
        (holding(shuffles={5: made(5, 1)}), "map output 1 of shuffle 5"),
        (holding(blocks={4: {2: (REF, REF)}}), "partition 2 of RDD 4"),
        (holding(read={REF.segment: None}), r"partition .*, which attempt 9 reads"),
    ],
)
def test_blocks_bite_where_a_needed_segment_goes(scheduler: Any, what: str) -> None:
    with pytest.raises(CheckFailed, match=f"e0-1 of node-0 is dropped with {what}"):
        tell(NeededBlocks(scheduler), DROP)
    with pytest.raises(CheckFailed, match=what):
        tell(NeededBlocks(scheduler), (TICK, [do.ReleaseNode(NODE)]))
    tell(NeededBlocks(scheduler), (TICK, [do.DropSegments(NODE, ("e0-2",))]))
    tell(NeededBlocks(scheduler), (TICK, [do.DropSegments(OTHER, (REF.segment,))]))
    tell(NeededBlocks(scheduler), (TICK, [do.ReleaseNode(OTHER)]))


def test_blocks_say_nothing_of_what_an_attempt_can_not_find_any_more() -> None:
    tell(NeededBlocks(holding(read={})), DROP)


@pytest.mark.parametrize(
    "held",
    [ev.BlockPut(REF), (TICK, [do.DeliverResult(JobId(0), 0, (MOVED, REF))])],
    ids=["put", "result"],
)
def test_blocks_bite_where_the_driver_s_own_go(held: ev.Event | Chapter) -> None:
    with pytest.raises(CheckFailed, match="a block of the driver's"):
        tell(NeededBlocks(holding()), held, DROP)
    with pytest.raises(CheckFailed, match="a block of the driver's"):
        tell(NeededBlocks(holding()), held, held, ev.BlocksReleased((REF,)), DROP)
    tell(NeededBlocks(holding()), held, ev.BlocksReleased((REF,)), DROP)
    tell(NeededBlocks(holding()), held, NODE_LOST, DROP)


# Economy

MADE: tuple[ev.Event | Chapter, ...] = (*JOINED, SUBMITTED, (TICK, [launch(0)]), done(0, REF))
AGAIN: Chapter = TICK, [launch(1)]


@pytest.mark.parametrize(
    "lost",
    [
        unread(9, REF),
        NODE_LOST,
        ev.NodeJoined(NODE, 100),
        ev.ShuffleForgotten(SHUFFLE),
    ],
)
def test_economy_is_quiet_where_what_was_lost_is_made_again(lost: ev.Event) -> None:
    tell(Economy(), *MADE, lost, AGAIN)


@pytest.mark.parametrize(
    "harmless",
    [TICK, unread(9, MOVED), ev.NodeLost(OTHER, "gone"), ev.ExecutorLost(ExecutorId(0), "")],
)
def test_economy_bites_where_nothing_was_lost(harmless: ev.Event) -> None:
    with pytest.raises(CheckFailed, match=r"map output 0 of shuffle 5 is made again"):
        tell(Economy(), *MADE, harmless, AGAIN)


@pytest.mark.parametrize(
    "ended",
    [(TICK, [do.CancelTask(AttemptId(0), ExecutorId(0))]), ev.ExecutorLost(ExecutorId(0), "")],
    ids=["cancelled", "lost"],
)
def test_economy_does_not_count_late_words(ended: ev.Event | Chapter) -> None:
    tell(Economy(), *JOINED, SUBMITTED, (TICK, [launch(0)]), ended, done(0, REF), AGAIN)


# The scheduler itself


def test_invariants_are_the_scheduler_s_own() -> None:
    scheduler = Scheduler(Rules())
    scheduler.handle(NODES[0], 0.0)
    scheduler.handle(JOINED[0], 0.0)
    tell(Invariants(scheduler), TICK)
    scheduler.fleet._free.clear()
    with pytest.raises(CheckFailed, match="after TimerFired"):
        tell(Invariants(scheduler), TICK)


def test_leaks_are_what_an_idle_engine_holds() -> None:
    conf = SparkConf(False).setMaster("sim[seed=1,faults=0]").setAppName("leaks")
    with SparkContext(conf=conf) as sc:
        cluster = sc._engine.cluster
        assert isinstance(cluster, SimCluster)
        rdd = sc.parallelize(range(10), 2).map(lambda x: (x % 2, x)).groupByKey().cache()
        assert rdd.count() == 2
        left = what_is_left(sc._engine.scheduler, cluster)
        assert {"shuffles", "live rows", "persisted", "blocks"} <= left.keys()
        assert left["persisted"] == [rdd.id()]
