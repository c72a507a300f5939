"""What the stages under way will read, in which order, and what they are about to store."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import NODE, Talk, map_stage, of_type, stored

from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId, ShuffleId, StageId
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.plan.stages import StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.lookahead import Lookahead

OTHER = NodeId("node-1")


def chain(id: int, *rdds: int, parent: StageSpec | None = None, partitions: int = 3) -> StageSpec:
    """A stage in which each of the RDDs is computed from the one before."""
    parents = {} if parent is None else {ShuffleId(parent.id): parent}
    nodes = [PlanStep(RddId(rdds[0]), tuple(map(ShuffleInput, parents)), partitions)]
    for place, rdd in enumerate(rdds[1:]):
        nodes.append(PlanStep(RddId(rdd), (NarrowInput(place, SAME),), partitions))
    return StageSpec(StageId(id), f"stage {id}", partitions, Shape(nodes), parents, None, False)


class Planner(Talk):
    """One executor, busy with job 0, and kept partitions of the RDDs 1 and 2."""

    def __init__(self, **rules: Any) -> None:
        super().__init__(executors=1, **rules)
        for rdd in (1, 2):
            self.tell(ev.RddPersisted(RddId(rdd)))
        self.submit(chain(0, 99, partitions=1), id=0)

    def keep(self, rdd: int, index: int, segment: str | None = None, offset: int = 0) -> str:
        """A partition of an RDD is kept in a segment from now on."""
        name = segment or f"kept{rdd}-{index}"
        ref = BlockRef(NODE, name, offset, 10, "disk")
        [attempt] = self.running
        [launch] = self.running.values()
        self.tell(ev.TaskCancelled(attempt, stored(rdd, index, ref)))
        del self.running[attempt]
        assert [each.job for each in self.running.values()] == [launch.job], "it runs again"
        return name

    def lookahead(self) -> Lookahead:
        state = self.scheduler
        return Lookahead(state.stages, state.storage, state.fleet)

    def turn(self, segment: str) -> tuple[int, int] | None:
        return self.lookahead().next_use(Segment(segment, NODE, NODE, 10))


def test_what_no_stage_reads_has_no_turn() -> None:
    talk = Planner()
    assert talk.turn(talk.keep(1, 0)) is None
    assert talk.turn("unknown-1") is None


def test_partitions_are_read_in_the_order_of_the_tasks() -> None:
    talk = Planner()
    segments = [talk.keep(1, index) for index in range(3)]
    talk.submit(chain(7, 1, 70), id=1)
    assert [talk.turn(each) for each in segments] == [(1, 0), (1, 1), (1, 2)]


def test_partitions_that_a_job_leaves_out_are_not_read() -> None:
    talk = Planner()
    segments = [talk.keep(1, index) for index in range(3)]
    talk.submit(chain(7, 1, 70), id=1, partitions=(1,))
    assert [talk.turn(each) for each in segments] == [None, (1, 1), None]


def test_earlier_jobs_read_first() -> None:
    talk = Planner()
    late, soon = talk.keep(1, 0), talk.keep(2, 0)
    talk.submit(chain(9, 2, 70), id=1)
    talk.submit(chain(8, 1, 80), id=2)
    assert (talk.turn(soon), talk.turn(late)) == ((1, 0), (2, 0))


def test_of_several_reads_the_first_counts() -> None:
    talk = Planner()
    segment = talk.keep(1, 2)
    talk.submit(chain(7, 1, 70), id=1)
    talk.submit(chain(8, 1, 80), id=2)
    assert talk.turn(segment) == (1, 2)


def test_a_segment_counts_as_soon_as_the_first_of_its_partitions() -> None:
    talk = Planner()
    for number, index in enumerate((2, 1)):
        talk.keep(1, index, segment="both", offset=64 * number)
    talk.submit(chain(7, 1, 70), id=1)
    assert talk.turn("both") == (1, 1)


def test_a_stage_that_waits_for_its_shuffle_is_seen() -> None:
    talk = Planner()
    segment = talk.keep(1, 1)
    # RDD 3 reads a shuffle, and the kept one stands beside it.
    maps = map_stage(5, 1)
    nodes = [
        PlanStep(RddId(3), (ShuffleInput(ShuffleId(5)),), 3),
        PlanStep(RddId(1), (), 3),
        PlanStep(RddId(4), (NarrowInput(0, SAME), NarrowInput(1, SAME)), 3),
    ]
    parents = {ShuffleId(5): maps}
    talk.submit(StageSpec(StageId(6), "zip", 3, Shape(nodes), parents, None, False), id=1)
    assert talk.scheduler.stages._runs[StageId(6)].tasks is None
    assert talk.turn(segment) == (2, 1), "after job 0 and the stage that makes the shuffle"


def test_what_lies_behind_a_kept_partition_is_not_read() -> None:
    talk = Planner()
    behind, before = talk.keep(1, 0), talk.keep(2, 0)
    other = talk.keep(1, 1)
    talk.submit(chain(7, 1, 2, 70), id=1)
    assert talk.turn(before) == (1, 0)
    assert talk.turn(behind) is None
    assert talk.turn(other) == (1, 1), "partition 1 of the second RDD has to be computed"


def test_a_task_that_runs_reads_no_more() -> None:
    talk = Planner()
    segments = [talk.keep(1, index) for index in range(3)]
    talk.submit(chain(7, 1, 70), id=1)
    [first] = talk.running
    talk.succeed(first)
    assert [talk.turn(each) for each in segments] == [None, (0, 1), (0, 2)]
    [second] = talk.running
    talk.succeed(second)
    assert [talk.turn(each) for each in segments] == [None, None, (0, 2)]


def test_a_task_that_is_tried_again_reads_again() -> None:
    talk = Planner(max_failures=2)
    segment = talk.keep(1, 0)
    talk.submit(chain(7, 1, 70, partitions=1), id=1)
    talk.submit(chain(8, 80, partitions=1), id=2)
    [attempt] = talk.running
    talk.succeed(attempt)
    assert talk.turn(segment) is None
    talk.tell(ev.ExecutorLost(ExecutorId(0), "killed"))
    assert talk.turn(segment) == (0, 0)


@pytest.mark.parametrize("lookahead", [True, False])
def test_what_will_be_read_is_kept_unless_that_is_turned_off(lookahead: bool) -> None:
    talk = Talk(executors=0, pool_bytes=100, lookahead=lookahead, reserve=False)
    talk.tell(ev.NodeJoined(OTHER, 0))
    for id, node in enumerate((NODE, OTHER)):
        talk.tell(ev.ExecutorJoined(ExecutorId(id), node))
    talk.tell(ev.RddPersisted(RddId(1)))
    talk.submit(chain(1, 1, partitions=3))
    for number in (1, 2):
        name = f"e1-{number}"
        talk.tell(ev.SpaceWanted(OTHER, ExecutorId(1), name, 50, packs=False, rdd=RddId(1)))
        [attempt] = [a for a, each in talk.running.items() if each.executor == 1]
        talk.succeed(attempt, kept=stored(1, number, BlockRef(NODE, name, 0, 50)))
    talk.submit(chain(2, 20), id=1, partitions=(1,))
    talk.submit(chain(3, 1, 30), id=2, partitions=(1,))
    answer = talk.tell(ev.SpaceWanted(NODE, ExecutorId(0), "e0-1", 50, packs=False, rdd=RddId(1)))
    [move] = of_type(answer, do.MoveSegment)
    assert move.segment == ("e1-2" if lookahead else "e1-1")


class TestReservations:
    """Room for what running stages will store, by what they have stored so far."""

    def start(self, sizes: tuple[int, ...] = (), partitions: int = 8) -> Talk:
        """Two executors on one node and one on another keep RDD 1, of these sizes so far."""
        talk = Talk(executors=2)
        talk.tell(ev.NodeJoined(OTHER, 1 << 30))
        talk.tell(ev.ExecutorJoined(ExecutorId(2), OTHER))
        talk.tell(ev.RddPersisted(RddId(1)))
        talk.submit(chain(1, 1, 10, partitions=partitions))
        for index, size in enumerate(sizes):
            attempt = next(a for a, each in talk.running.items() if each.partitions[0] == index)
            talk.succeed(
                attempt, kept=stored(1, index, BlockRef(NODE, f"made-{index}", 0, size, "disk"))
            )
        return talk

    def reserved(self, talk: Talk) -> list[int]:
        state = talk.scheduler
        ahead = Lookahead(state.stages, state.storage, state.fleet)
        return [ahead.reserved_bytes(node) for node in (NODE, OTHER, NodeId("storage-0"))]

    def test_nothing_is_known_before_the_first_partition_is_stored(self) -> None:
        assert self.reserved(self.start()) == [0, 0, 0]

    def test_every_executor_will_store_its_share_of_what_is_missing(self) -> None:
        # Six more of 40 bytes on average, by three executors.
        assert self.reserved(self.start((30, 50))) == [160, 80, 0]

    def test_when_all_is_stored_nothing_is_reserved(self) -> None:
        talk = self.start((30, 30, 30), partitions=3)
        talk.submit(chain(2, 1, 20, partitions=3), id=1)
        assert talk.running and self.reserved(talk) == [0, 0, 0]

    def test_stages_that_wait_reserve_nothing(self) -> None:
        talk = self.start((30,))
        talk.tell(ev.CancelRequested("why not"))
        for attempt in list(talk.running):
            del talk.running[attempt]
            talk.tell(ev.TaskCancelled(attempt))
        for executor in range(3):
            talk.lose(executor)
        talk.submit(chain(2, 1, 20, partitions=8), id=1)
        assert self.reserved(talk) == [0, 0, 0]

    def test_live_rows_count_as_stored_but_take_no_room(self) -> None:
        talk = self.start()
        talk.succeed(0, kept=stored(1, 0))
        assert self.reserved(talk) == [0, 0, 0]

    @pytest.mark.parametrize(("reserve", "place"), [(True, None), (False, OTHER)])
    def test_it_can_be_turned_off(self, reserve: bool, place: NodeId | None) -> None:
        talk = Talk(executors=1, pool_bytes=0, reserve=reserve)
        talk.tell(ev.NodeJoined(OTHER, 100))
        talk.tell(ev.ExecutorJoined(ExecutorId(1), OTHER))
        talk.tell(ev.RddPersisted(RddId(1)))
        talk.submit(chain(1, 1, 10, partitions=5))
        talk.tell(ev.SpaceWanted(OTHER, ExecutorId(1), "e1-1", 40, packs=False, rdd=RddId(1)))
        talk.succeed(1, kept=stored(1, 1, BlockRef(OTHER, "e1-1", 0, 40)))
        # 160 bytes are still to come, half of them on the other node, which has 60 left.
        wanted = ev.SpaceWanted(NODE, ExecutorId(0), "e0-1", 40, packs=False, rdd=RddId(1))
        [grant] = of_type(talk.tell(wanted), do.GrantSpace)
        assert grant.place == place


def test_partitions_that_are_stored_after_somebody_asked_are_seen() -> None:
    talk = Planner()
    first = talk.keep(1, 0)
    talk.submit(chain(7, 1, 70), id=1)
    assert talk.turn(first) == (1, 0)
    assert talk.turn(talk.keep(1, 1)) == (1, 1)
