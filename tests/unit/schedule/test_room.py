"""Room in the pools: who waits for it, what makes way, and which nodes may go."""

from __future__ import annotations

from typing import Any

from conversation import NODE, Talk, launched, of_type, result_stage, stored

from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId, Partition, RddId, StageId
from pyrite.memory import Hits, NodeMemory
from pyrite.plan.program import NarrowInput, PlanStep, Shape
from pyrite.plan.stages import StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.timer import SpeculationCheck

OTHER, STORE, SPARE = NodeId("node-1"), NodeId("storage-0"), NodeId("storage-1")
# The RDDs of stage 1: tasks keep partitions of the first.
KEPT, LATER = RddId(10), RddId(11)
LENT = BlockRef(NODE, "e1-1", 0, 60)


class Rooms(Talk):
    """Executor 0 has a pool of 100 bytes; executor 1 has none, and lays 60 bytes into it."""

    def __init__(self, pool_bytes: int = 100, to_disk: bool = True) -> None:
        super().__init__(executors=1, pool_bytes=pool_bytes, reserve=False)
        self.tell(ev.NodeJoined(OTHER, 0))
        self.tell(ev.ExecutorJoined(ExecutorId(1), OTHER))
        for rdd in (KEPT, LATER):
            self.tell(ev.RddPersisted(rdd))
        assert launched(self.submit(result_stage(1, 2))) == [(1, 0, 0), (1, 1, 1)]
        self.to_disk = to_disk

    def lend(self) -> None:
        """Executor 1 ends its task with a partition that it laid into the other's pool."""
        assert self.want(1, "e1-1", 60) == [NODE]
        self.succeed(1, kept=stored(KEPT, 1, LENT))

    def want(self, executor: int, segment: str, size: int, rdd: RddId | None = KEPT) -> list[Any]:
        """Asks for room for a block of its own; gives the answers, none where it has to wait."""
        node = (NODE, OTHER)[executor]
        wanted = ev.SpaceWanted(node, ExecutorId(executor), segment, size, False, rdd, self.to_disk)
        return places(self.tell(wanted))

    def join_store(self, size: int = 100, node: NodeId = STORE) -> None:
        self.tell(ev.NodeJoined(node, size, storage_only=True))

    def wait_for_room(self, store_bytes: int = 100) -> do.MoveSegment:
        """Executor 0 wants 80 bytes, and what executor 1 has laid there moves to the storage."""
        self.lend()
        self.join_store(store_bytes)
        answer = self.tell(ev.SpaceWanted(NODE, ExecutorId(0), "e0-1", 80, False, LATER))
        [move] = of_type(answer, do.MoveSegment)
        assert answer == [move]
        assert move[1:] == (NODE, "e1-1", STORE, "moved-1", 60, "memory")
        return move

    def read_lent(self, job: int = 1) -> tuple[tuple[Partition, BlockRef], ...]:
        """Executor 1 runs another job over the lent partition; gives what it is told to read."""
        answer = self.submit(over_kept(job + 1), id=job, partitions=(1,))
        [launch] = of_type(answer, do.LaunchTask)
        assert launch.executor == 1
        return tuple(launch.blocks)

    @property
    def promised(self) -> int:
        return sum(pool.promised_bytes for pool in self.scheduler.storage.ledger.pools.values())


def over_kept(id: int) -> StageSpec:
    """A stage that reads what the tasks of stage 1 have kept."""
    nodes = PlanStep(KEPT, (), 2), PlanStep(RddId(10 * id), (NarrowInput(0, SAME),), 2)
    return StageSpec(StageId(id), f"stage {id}", 2, Shape(list(nodes)), {}, None, False)


def places(answer: list[do.Command]) -> list[NodeId | None]:
    return [each.place for each in of_type(answer, do.GrantSpace)]


MOVED = (Partition(KEPT, 1), BlockRef(STORE, "moved-1", 0, 60))


class TestWaiting:
    """A writer waits until what lay there is elsewhere."""

    def test_room_is_granted_when_the_move_has_arrived(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        assert places(talk.tell(ev.TimerFired(SpeculationCheck()))) == []
        answer = talk.tell(ev.SegmentMoved(move.move))
        assert answer == [
            do.DropSegments(NODE, ("e1-1",)),
            do.GrantSpace(ExecutorId(0), "e0-1", NODE),
        ]
        assert talk.promised == 0

    def test_the_next_task_is_told_where_the_block_lies_now(self) -> None:
        talk = Rooms()
        talk.tell(ev.SegmentMoved(talk.wait_for_room().move))
        assert talk.read_lent() == (MOVED,)

    def test_who_was_told_of_the_old_place_finds_it_until_its_end(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room(store_bytes=200)
        assert talk.read_lent() == ((Partition(KEPT, 1), LENT),)
        answer = talk.tell(ev.SegmentMoved(move.move))
        assert answer == [do.GrantSpace(ExecutorId(0), "e0-1", STORE)], "there is no room here yet"
        assert of_type(talk.succeed(2), do.DropSegments) == [do.DropSegments(NODE, ("e1-1",))]
        assert talk.read_lent(job=2) == (MOVED,)

    def test_no_one_else_gets_the_room_that_is_waited_for(self) -> None:
        talk = Rooms()
        talk.wait_for_room()
        assert talk.tell(ev.ExecutorJoined(ExecutorId(2), NODE)) == []
        wanted = ev.SpaceWanted(NODE, ExecutorId(2), "e2-1", 30)
        assert places(talk.tell(wanted)) == [None], "of the 40 that are left, 20 are promised"
        assert places(talk.tell(wanted._replace(segment="e2-2", bytes=20))) == [NODE]

    def test_a_move_that_fails_is_tried_again_and_then_given_up(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        for tried in (1, 2):
            answer = talk.tell(ev.SegmentNotMoved(move.move, "no space"))
            assert do.DropSegments(STORE, (f"moved-{tried}",)) in answer
            [move] = of_type(answer, do.MoveSegment)
            assert places(answer) == [] and move.new_segment == f"moved-{tried + 1}"
        answer = talk.tell(ev.SegmentNotMoved(move.move, "no space"))
        assert (places(answer), of_type(answer, do.MoveSegment)) == ([None], [])
        assert talk.read_lent() == ((Partition(KEPT, 1), LENT),), "it is still where it was"

    def test_where_the_target_is_lost_it_moves_to_its_owners_disk(self) -> None:
        talk = Rooms()
        first = talk.wait_for_room()
        [move] = of_type(talk.tell(ev.NodeLost(STORE, "crash")), do.MoveSegment)
        assert move[1:] == (NODE, "e1-1", OTHER, "moved-2", 60, "disk")
        assert talk.tell(ev.SegmentMoved(first.move)) == [], "words that are late"
        assert places(talk.tell(ev.SegmentMoved(move.move))) == [NODE]
        assert talk.read_lent() == (
            (Partition(KEPT, 1), BlockRef(OTHER, "moved-2", 0, 60, "disk")),
        )

    def test_what_may_not_go_to_disk_is_given_up(self) -> None:
        talk = Rooms(to_disk=False)
        talk.lend()
        answer = talk.tell(ev.SpaceWanted(NODE, ExecutorId(0), "e0-1", 80, False, LATER))
        assert answer == [
            do.DropSegments(NODE, ("e1-1",)),
            do.GrantSpace(ExecutorId(0), "e0-1", NODE),
        ]
        assert talk.read_lent() == ()

    def test_a_writer_that_dies_gets_nothing(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        talk.lose(0)
        assert talk.promised == 0
        assert places(talk.tell(ev.SegmentMoved(move.move))) == []
        talk.succeed_all()
        assert talk.read_lent() == (MOVED,)

    def test_a_task_that_is_cancelled_gets_nothing(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        talk.tell(ev.CancelRequested("why not"))
        assert places(talk.tell(ev.TaskCancelled(AttemptId(0)))) == []
        assert talk.promised == 0
        assert places(talk.tell(ev.SegmentMoved(move.move))) == []

    def test_the_node_of_a_writer_that_waits_may_be_lost(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        answer = talk.tell(ev.NodeLost(NODE, "crash"))
        assert do.DropSegments(STORE, ("moved-1",)) in answer and places(answer) == []
        assert talk.scheduler.room._waiting == []
        assert talk.tell(ev.SegmentMoved(move.move)) == []

    def test_a_pool_that_is_waited_for_may_be_lost(self) -> None:
        talk = Rooms(pool_bytes=0)
        talk.join_store()
        assert talk.want(1, "e1-1", 100) == [STORE]
        talk.succeed(1, kept=stored(KEPT, 1, BlockRef(STORE, "e1-1", 0, 100)))
        answer = talk.tell(ev.SpaceWanted(NODE, ExecutorId(0), "e0-1", 50, False, LATER))
        [move] = of_type(answer, do.MoveSegment)
        assert (move.target, places(answer)) == (OTHER, []), "executor 1 has most"
        assert places(talk.tell(ev.NodeLost(STORE, "crash"))) == [None]

    def test_an_rdd_may_be_forgotten_while_it_moves(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        assert of_type(talk.tell(ev.RddForgotten(KEPT)), do.DropSegments) == []
        answer = talk.tell(ev.SegmentMoved(move.move))
        assert of_type(answer, do.DropSegments) == [
            do.DropSegments(NODE, ("e1-1",)),
            do.DropSegments(STORE, ("moved-1",)),
        ]
        assert places(answer) == [NODE]

    def test_room_that_becomes_free_otherwise_is_granted_at_once(self) -> None:
        talk = Rooms()
        talk.tell(ev.ExecutorJoined(ExecutorId(2), NODE))
        assert places(talk.tell(ev.SpaceWanted(NODE, ExecutorId(2), "e2-1", 30))) == [NODE]
        talk.lend()
        talk.join_store()
        assert talk.want(0, "e0-1", 40, LATER) == [], "60 and 30 are used of 100"
        assert places(talk.lose(2)) == [NODE]
        assert talk.promised == 0

    def test_two_that_wait_are_served_one_after_the_other(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        talk.tell(ev.ExecutorJoined(ExecutorId(2), NODE))
        wanted = ev.SpaceWanted(NODE, ExecutorId(2), "e2-1", 20, False, LATER)
        assert places(talk.tell(wanted)) == [NODE], "there are 20 that nobody waits for"
        assert places(talk.tell(ev.SegmentMoved(move.move))) == [NODE]

    def test_map_outputs_wait_too(self) -> None:
        talk = Rooms()
        talk.lend()
        talk.join_store()
        answer = talk.tell(ev.SpaceWanted(NODE, ExecutorId(0), "e0-1", 80))
        [move] = of_type(answer, do.MoveSegment)
        assert places(talk.tell(ev.SegmentMoved(move.move))) == [NODE]
        assert not talk.scheduler.storage.ledger.segments["e0-1"].kept

    def test_the_late_words_of_one_that_is_lost_are_answered(self) -> None:
        talk = Rooms()
        talk.lose(0)
        assert talk.want(0, "e0-1", 10) == [None]


class TestLeaving:
    """A storage-only node goes when nothing lies there any more that anybody needs."""

    def leave(self, talk: Rooms, size: int = 100) -> list[do.Command]:
        """A storage that executor 1 has laid a partition into is asked to leave."""
        talk.join_store(size)
        assert talk.want(1, "e1-1", 60) == [STORE]
        talk.succeed(1, kept=stored(KEPT, 1, BlockRef(STORE, "e1-1", 0, 60)))
        return talk.tell(ev.NodeLeaves(STORE))

    def test_an_empty_node_goes_at_once(self) -> None:
        talk = Rooms()
        talk.join_store()
        assert talk.tell(ev.NodeLeaves(STORE)) == [do.ReleaseNode(STORE)]
        assert talk.tell(ev.NodeLeaves(STORE)) == []

    def test_blocks_move_before_the_node_goes(self) -> None:
        talk = Rooms(pool_bytes=50)
        talk.join_store(80, SPARE)
        [move] = self.leave(talk)
        assert move[1:] == (STORE, "e1-1", SPARE, "moved-1", 60, "memory")
        assert talk.tell(ev.TimerFired(SpeculationCheck())) == []
        answer = talk.tell(ev.SegmentMoved(move.move))
        assert answer == [do.DropSegments(STORE, ("e1-1",)), do.ReleaseNode(STORE)]
        assert talk.read_lent() == ((Partition(KEPT, 1), BlockRef(SPARE, "moved-1", 0, 60)),)

    def test_without_room_they_go_to_their_owners_disk(self) -> None:
        [move] = self.leave(Rooms(pool_bytes=50))
        assert move[1:] == (STORE, "e1-1", OTHER, "moved-1", 60, "disk")

    def test_what_may_not_go_to_disk_is_given_up(self) -> None:
        answer = self.leave(Rooms(pool_bytes=50, to_disk=False))
        assert answer == [do.DropSegments(STORE, ("e1-1",)), do.ReleaseNode(STORE)]

    def test_readers_delay_it(self) -> None:
        talk = Rooms(pool_bytes=50)
        talk.join_store()
        assert talk.want(1, "e1-1", 60) == [STORE]
        talk.succeed(1, kept=stored(KEPT, 1, BlockRef(STORE, "e1-1", 0, 60)))
        talk.read_lent()
        assert talk.tell(ev.NodeLeaves(STORE)) == []
        [move] = of_type(talk.succeed(2), do.MoveSegment)
        talk.read_lent(job=2)
        assert of_type(talk.tell(ev.SegmentMoved(move.move)), do.ReleaseNode) == []
        assert of_type(talk.succeed(3), do.ReleaseNode) == [do.ReleaseNode(STORE)]

    def test_writers_delay_it(self) -> None:
        talk = Rooms(pool_bytes=50)
        talk.join_store()
        assert talk.want(1, "e1-1", 60) == [STORE]
        assert talk.tell(ev.NodeLeaves(STORE)) == []
        assert talk.want(1, "e1-2", 20) == [NODE], "nothing more goes there"
        answer = talk.succeed(1, kept=stored(KEPT, 1, BlockRef(STORE, "e1-1", 0, 60)))
        assert [move.segment for move in of_type(answer, do.MoveSegment)] == ["e1-1"]

    def test_what_cannot_be_moved_is_given_up(self) -> None:
        talk = Rooms(pool_bytes=50)
        [move] = self.leave(talk)
        answer = talk.tell(ev.SegmentNotMoved(move.move, "no space"))
        assert do.ReleaseNode(STORE) in answer
        assert talk.read_lent() == ()

    def test_a_node_that_is_lost_meanwhile_is_not_released(self) -> None:
        talk = Rooms(pool_bytes=50)
        [move] = self.leave(talk)
        assert of_type(talk.tell(ev.NodeLost(STORE, "crash")), do.ReleaseNode) == []
        assert talk.tell(ev.SegmentMoved(move.move)) == []
        talk.join_store()
        assert talk.want(0, "e0-1", 60) == [STORE], "it is back and takes blocks again"

    def test_an_rdd_that_is_forgotten_lets_it_go(self) -> None:
        talk = Rooms(pool_bytes=50)
        [move] = self.leave(talk)
        talk.tell(ev.RddForgotten(KEPT))
        answer = talk.tell(ev.SegmentMoved(move.move))
        assert do.ReleaseNode(STORE) in answer
        assert do.DropSegments(OTHER, ("moved-1",)) in answer

    def test_who_waits_for_room_there_gets_another(self) -> None:
        talk = Rooms(pool_bytes=0)
        talk.join_store()
        assert talk.want(1, "e1-1", 100) == [STORE]
        talk.succeed(1, kept=stored(KEPT, 1, BlockRef(STORE, "e1-1", 0, 100)))
        assert talk.want(0, "e0-1", 50, LATER) == []
        talk.join_store(80, SPARE)
        assert places(talk.tell(ev.NodeLeaves(STORE))) == [SPARE]

    def test_an_unknown_node_does_not_leave(self) -> None:
        talk = Rooms()
        assert talk.tell(ev.NodeLeaves(NodeId("nowhere"))) == []
        assert talk.want(0, "e0-1", 60) == [NODE]

    def test_a_pack_that_an_idle_executor_keeps_open_does_not_hold_it(self) -> None:
        talk = Rooms(pool_bytes=50)
        talk.join_store()
        wanted = ev.SpaceWanted(OTHER, ExecutorId(1), "e1-1", 60, True, KEPT)
        assert places(talk.tell(wanted)) == [STORE]
        talk.succeed(1, kept=stored(KEPT, 1, BlockRef(STORE, "e1-1", 0, 10)))
        [move] = of_type(talk.tell(ev.NodeLeaves(STORE)), do.MoveSegment)
        answer = talk.tell(ev.SegmentMoved(move.move))
        assert do.ReleaseNode(STORE) in answer


class TestReport:
    """What the user is told of the pools."""

    def report(self, talk: Talk) -> Any:
        [told] = of_type(talk.tell(ev.MemoryAsked(5)), do.TellMemory)
        assert told.question == 5
        return told.report

    def test_nodes_say_what_they_lend_and_borrow(self) -> None:
        talk = Rooms()
        talk.lend()
        assert talk.want(0, "e0-1", 30, rdd=None) == [NODE]
        talk.join_store()
        assert self.report(talk).nodes == (
            NodeMemory(NODE, False, 100, 90, 60, 0, {10: 60}),
            NodeMemory(OTHER, False, 0, 0, 0, 60, {}),
            NodeMemory(STORE, True, 100, 0, 0, 0, {}),
        )

    def test_moved_spilled_and_dropped_bytes_are_counted(self) -> None:
        talk = Rooms()
        move = talk.wait_for_room()
        talk.tell(ev.SegmentMoved(move.move))
        assert self.report(talk)[1:4] == (60, 0, 0)
        talk.tell(ev.NodeLeaves(STORE))
        talk.tell(ev.SegmentMoved(move.move + 1))
        assert self.report(talk)[1:4] == (60, 60, 0)
        [attempt] = talk.running
        spilled = ev.KeptNews(spilled_bytes=200)
        talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),), spilled))
        assert self.report(talk)[1:4] == (60, 260, 0)

    def test_what_is_given_up_is_counted(self) -> None:
        talk = Rooms(to_disk=False)
        talk.lend()
        talk.want(0, "e0-1", 80, LATER)
        assert self.report(talk)[1:4] == (0, 0, 60)

    def test_hits_are_counted_by_level(self) -> None:
        talk = Rooms()
        first = Partition(KEPT, 0)
        talk.succeed(0, kept=ev.KeptNews(found=(1, 2, 3, 4), computed=(first,)))
        assert self.report(talk).hits == Hits(1, 2, 3, 4, 0), "computed for the first time"
        again = ev.KeptNews(found=(1, 0, 0, 0), computed=(first, Partition(KEPT, 1)))
        talk.succeed(1, kept=again)
        assert self.report(talk).hits == Hits(2, 2, 3, 4, 1)

    def test_an_rdd_that_is_forgotten_is_computed_anew(self) -> None:
        talk = Rooms()
        news = ev.KeptNews(computed=(Partition(KEPT, 0),))
        talk.succeed(0, kept=news)
        talk.tell(ev.RddForgotten(KEPT))
        talk.succeed(1, kept=news)
        assert self.report(talk).hits == Hits()
