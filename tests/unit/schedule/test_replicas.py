"""Replicas of collection partitions: made where tasks had to run, dropped when idle, never the
last one."""

from __future__ import annotations

from dataclasses import replace

from conversation import launched, of_type
from test_collection_groups import HOURS, NODES, Cluster, member

from pyrite.ids import BlockRef, ExecutorId, NodeId, Partition, RddId, StageId
from pyrite.plan.stages import StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import CollectionRule
from pyrite.schedule.timer import ReplicaCheck

P = Partition(RddId(10), 0)
RULE = CollectionRule(least_group_bytes=0, replica_idle_s=60.0)


def hot(blocks: bool = False) -> tuple[Cluster, int, int]:
    """A partition that is kept at one executor, and by a second job elsewhere too; gives both."""
    talk = Cluster(partitions=4, groups=4, collections=RULE, locality_wait_s=0.5)
    talk.persist(1)
    talk.submit(member(1, 4), partitions=(0,))
    [attempt] = talk.running
    first = talk.running[attempt].executor
    where = NODES[first]
    if blocks:
        talk.tell(ev.SpaceWanted(where, ExecutorId(first), "kept-1", 100, False, RddId(10)))
    refs = (BlockRef(where, "kept-1", 0, 100),) if blocks else ()
    talk.succeed(attempt, kept=news(*refs))
    talk.submit(member(1, 4), id=1, partitions=(0,))
    talk.submit(other_stage(), id=2, partitions=(0,))
    timers = [each for each in of_type(talk.log, do.SetTimer) if "Locality" in repr(each.timer)]
    answer = talk.tell(ev.TimerFired(timers[-1].timer), at_s=timers[-1].at_s)
    [(_, _, second)] = launched(answer)
    assert second != first
    return talk, first, second


def other_stage() -> StageSpec:
    """Another stage that reads the same RDD."""
    return replace(member(1, 4), id=StageId(5))


def news(*refs: BlockRef) -> ev.KeptNews:
    return ev.KeptNews((ev.Stored(P, refs, 100),))


def finish_jobs(talk: Cluster, second: int, kept: ev.KeptNews) -> None:
    for attempt, launch in list(talk.running.items()):
        talk.succeed(attempt, kept=kept if launch.executor == second else ev.KeptNews())


def test_rows_computed_elsewhere_are_a_replica_that_goes_when_idle() -> None:
    talk, first, second = hot()
    finish_jobs(talk, second, news())
    assert talk.scheduler.storage.kept.executors(P) == [first, second]
    [made] = of_type(talk.log, do.ReplicaMade)
    assert made == do.ReplicaMade(P, ExecutorId(second), 2, 1)
    rated = of_type(talk.log, do.RateRows)
    assert {(each.executor, each.is_replica) for each in rated} == {(second, True)}
    # Reading one of them keeps it.
    used_s = talk.now_s + 30
    talk.tell(ev.MemoryAsked(0), at_s=used_s)
    talk.submit(member(1, 4), id=3, partitions=(0,))
    [(_, _, reader)] = launched(talk.log)[-1:]
    talk.succeed(next(iter(talk.running)))
    idle = second if reader == first else first
    answer = talk.tell(ev.TimerFired(ReplicaCheck()), at_s=used_s + 40)
    assert of_type(answer, do.DropRows) == [do.DropRows(ExecutorId(idle), P)]
    [dropped] = of_type(answer, do.ReplicaDropped)
    assert dropped.copies == 1 and dropped.idle_s >= 60
    assert talk.scheduler.storage.kept.executors(P) == [reader]
    told = [do.RateRows(ExecutorId(reader), P, False)] if reader == second else []
    assert of_type(answer, do.RateRows) == told
    # The last copy stays, however long nobody reads it.
    talk.tell(ev.TimerFired(ReplicaCheck()), at_s=used_s + 4000)
    assert talk.scheduler.storage.kept.executors(P) == [reader]


def test_blocks_are_copied_by_block_servers() -> None:
    talk, first, second = hot(blocks=True)
    [move] = of_type(talk.log, do.MoveSegment)
    assert (move.node, move.target, move.bytes) == (NODES[first], NODES[second], 100)
    finish_jobs(talk, second, ev.KeptNews())
    talk.tell(ev.SegmentMoved(move.move))
    kept = talk.scheduler.storage.kept
    assert kept.block_nodes(P) == [NODES[first], NODES[second]]
    [made] = of_type(talk.log, do.ReplicaMade)
    assert made.place == NODES[second] and made.copies == 2
    # Tasks read the copy of their own node.
    talk.submit(member(1, 4), id=3, partitions=(0,))
    talk.submit(other_stage(), id=4, partitions=(0,))
    assert {each.executor: each.blocks[0][1].node for each in talk.running.values()} == {
        first: NODES[first],
        second: NODES[second],
    }
    for attempt in list(talk.running):
        talk.succeed(attempt)
    answer = talk.tell(ev.TimerFired(ReplicaCheck()), at_s=talk.now_s + 100)
    assert of_type(answer, do.DropSegments) == [do.DropSegments(NODES[second], (move.new_segment,))]
    assert kept.block_nodes(P) == [NODES[first]]
    assert of_type(talk.tell(ev.TimerFired(ReplicaCheck()), at_s=9999.0), do.DropSegments) == []


def copied() -> tuple[Cluster, NodeId, NodeId, do.MoveSegment]:
    talk, first, second = hot(blocks=True)
    [move] = of_type(talk.log, do.MoveSegment)
    finish_jobs(talk, second, ev.KeptNews())
    talk.tell(ev.SegmentMoved(move.move))
    return talk, NODES[first], NODES[second], move


def test_a_replica_takes_the_place_of_what_is_lost() -> None:
    talk, first, second, _ = copied()
    talk.tell(ev.NodeLost(first, "gone"))
    kept = talk.scheduler.storage.kept
    assert kept.block_nodes(P) == [second] and not kept.replicas()
    assert kept.blocks(P)[0].node == second


def test_a_spoilt_replica_is_forgotten_alone() -> None:
    talk, first, second, _ = copied()
    kept = talk.scheduler.storage.kept
    talk.tell(ev.BlockLost(P, kept.blocks_near(P, second)[0]))
    assert kept.block_nodes(P) == [first]
    talk, first, second, _ = copied()
    kept = talk.scheduler.storage.kept
    talk.tell(ev.BlockLost(P, kept.blocks(P)[0]))
    assert kept.block_nodes(P) == [second]


def test_a_replica_gives_way_to_a_writer() -> None:
    talk, first, second, move = copied()
    kept = talk.scheduler.storage.kept
    executor = ExecutorId(NODES.index(second))
    wanted = ev.SpaceWanted(second, executor, "new", 1 << 30, False, RddId(99))
    answer = talk.tell(wanted)
    assert of_type(answer, do.DropSegments) == [do.DropSegments(second, (move.new_segment,))]
    assert of_type(answer, do.GrantSpace)[0].place == second
    assert kept.block_nodes(P) == [first]


def test_unpersist_drops_all_copies() -> None:
    talk, first, second, _ = copied()
    dropped = of_type(talk.tell(ev.RddForgotten(RddId(10))), do.DropSegments)
    assert {each.node for each in dropped} == {first, second}
    assert not talk.scheduler.storage.kept.replicas()


def test_a_copy_that_fails_leaves_nothing() -> None:
    for lost in (False, True):
        talk, first, second = hot(blocks=True)
        [move] = of_type(talk.log, do.MoveSegment)
        if lost:
            talk.running.clear()
            talk.tell(ev.NodeLost(NODES[first], "gone"))
        else:
            finish_jobs(talk, second, ev.KeptNews())
            talk.tell(ev.SegmentNotMoved(move.move, "no room"))
        assert move.new_segment not in talk.scheduler.storage.ledger.segments
        assert not talk.scheduler.storage.ledger.moves


def test_a_dropped_namespace_ends_the_watch_of_live_rows() -> None:
    talk, first, second = hot()
    finish_jobs(talk, second, news())
    answer = talk.tell(ev.NamespaceDropped(HOURS))
    assert of_type(answer, do.RateRows) == [do.RateRows(ExecutorId(second), P, False)]
    assert not talk.scheduler.replicas.watched()
    answer = talk.tell(ev.TimerFired(ReplicaCheck()), at_s=9999.0)
    assert of_type(answer, do.DropRows) == []
    assert talk.scheduler.storage.kept.executors(P) == [first, second]


def test_contention_counts_copies_of_blocks_for_all_executors_of_their_node() -> None:
    talk, first, second, _ = copied()
    counts = talk.scheduler.collections.counts()
    assert counts == {each: int(NODES[each] in (first, second)) for each in range(4)}
    talk.tell(ev.ExecutorJoined(ExecutorId(9), second))
    assert talk.scheduler.collections.counts()[ExecutorId(9)] == 1
    talk.tell(ev.NodeLost(first, "gone"))
    counts = talk.scheduler.collections.counts()
    assert sum(counts.values()) == 2 and counts[ExecutorId(9)] == 1
    talk.tell(ev.NamespaceDropped(HOURS))
    assert not any(talk.scheduler.collections.counts().values())
