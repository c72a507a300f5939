"""Places of reducers and room for their input, in the cases that are not plain."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conversation import map_stage, of_type, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.ids import AttemptId, BlockRef, JobId, NodeId, Partition, RddId, ShuffleId, StageId
from pyrite.place.sizes import encode
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.plan.stages import StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev

KEPT = RddId(50)
STORAGE = NodeId("storage")


def beside_kept(reducers: int, parent: StageSpec) -> StageSpec:
    """Reads a shuffle, and beside it what is kept."""
    assert parent.writes is not None
    shape = Shape(
        [
            PlanStep(KEPT, (), reducers),
            PlanStep(RddId(10), (NarrowInput(0, SAME), ShuffleInput(parent.writes)), reducers),
        ]
    )
    return replace(result_stage(1, reducers, parent), shape=shape)


def keep(talk: Nodes, node: NodeId, partitions: int) -> None:
    """Keeps partitions in a node's pool, as a task of a job of its own would."""
    talk.tell(ev.RddPersisted(KEPT))
    talk.submit(result_stage(9, 1), id=9)
    [attempt] = talk.running
    writer = talk.running.pop(attempt).executor
    stored = []
    for index in range(partitions):
        segment = f"e{writer}-{100 + index}"
        talk.tell(ev.SpaceWanted(node, writer, segment, 100, rdd=KEPT))
        stored.append(ev.Stored(Partition(KEPT, index), (BlockRef(node, segment, 0, 100),), 100))
    talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),), ev.KeptNews(tuple(stored), ())))


def run_maps(talk: Nodes, *sizes: int, until: int = 0) -> None:
    while talk.scheduler.outputs._shuffles[ShuffleId(0)].absent > until:
        talk.make(*sizes)


def placed(talk: Nodes, stage: int = 1) -> dict[int, NodeId]:
    ahead = talk.scheduler.stages._runs[stage].plan
    assert ahead is not None
    return ahead.places


def test_reducers_stay_beside_what_is_kept_whatever_the_truth_is() -> None:
    talk = Nodes()
    keep(talk, NODES[0], 3)
    talk.submit(beside_kept(3, map_stage(0, 6)))
    run_maps(talk, MIB, MIB, MIB, until=1)
    assert set(placed(talk).values()) == {NODES[0]}
    talk.make(MIB, MIB, MIB)
    assert talk.scheduler.stages._runs[1].tasks is not None
    assert set(placed(talk).values()) == {NODES[0]}


def test_what_is_kept_where_nothing_runs_decides_nothing() -> None:
    talk = Nodes()
    talk.tell(ev.NodeJoined(STORAGE, 1 << 30, storage_only=True))
    keep(talk, STORAGE, 3)
    talk.submit(beside_kept(3, map_stage(0, 6)))
    run_maps(talk, MIB, MIB, MIB, until=2)
    assert sorted(placed(talk).values()) == NODES
    assert {order.node for order in talk.orders()} == set(NODES)


def test_parts_too_large_to_travel_beside_others_go_one_after_another() -> None:
    talk = Nodes(fetch_bytes=2 * MIB)
    talk.submit(result_stage(1, 3, map_stage(0, 12)))
    for _ in range(3):
        talk.make(MIB, MIB, MIB)
    to_first = [order for order in talk.orders() if order.node == NODES[0]]
    assert len(to_first) == 1
    answer = talk.arrive(to_first[0])
    [later] = [order for order in of_type(answer, do.FetchParts) if order.node == NODES[0]]
    assert later.source not in (to_first[0].source, NODES[0])


def in_memory(talk: Nodes, *sizes: int) -> None:
    """Lets a map succeed whose output lies in its node's memory."""
    attempt, launch = next(iter(talk.running.items()))
    del talk.running[attempt]
    node, writer = NODES[launch.executor], launch.executor
    segment = f"e{writer}-{attempt}"
    talk.tell(ev.SpaceWanted(node, writer, segment, sum(sizes)))
    output = BlockRef(node, segment, 0, sum(sizes))
    talk.tell(
        ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(output=output, sizes=encode(sizes)),))
    )


def test_what_lies_in_the_nodes_own_memory_is_not_missing() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, 9)))
    while talk.scheduler.stages._runs[1].tasks is None:
        in_memory(talk, MIB, MIB, MIB)
        talk.arrive_all()
    # All but the last outputs, which reducers fetch for themselves, have come.
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    expected = {node: size for (_, node), size in ahead.units[0].expected_bytes.items()}
    assert expected == {node: pytest.approx(6 * MIB, rel=0.05) for node in NODES}
    assert not ahead.units[0].missing_bytes()


def test_reducers_that_run_keep_no_room_for_what_they_fetch_themselves() -> None:
    # A pool has room for one round: 9 MiB and more, since all outputs lie on disk.
    talk = Nodes(pool_bytes=14 * MIB)
    talk.submit(result_stage(1, 6, map_stage(0, 9)))
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(*[MIB] * 6)
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    late = [fetched.fetch for fetched in ahead.units[0].segments]
    assert late and not ahead.units[0].missing_bytes()
    for fetch in late:
        talk.tell(ev.PartsNotFetched(fetch, "it was dropped"))
    assert ahead.units[1].admitted


def test_a_lost_output_is_one_reason_to_drop_a_round() -> None:
    parent = replace(map_stage(0, 9), replayable=False)
    talk = Nodes()
    talk.submit(result_stage(1, 3, parent))
    run_maps(talk, MIB, MIB, MIB, until=3)
    talk.arrive_all()
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    before = {fetched.segment.name for fetched in ahead.units[0].segments}
    answer = talk.tell(ev.NodeLost(NODES[2], "it went down"))
    dropped = {name for each in of_type(answer, do.DropSegments) for name in each.segments}
    assert len(before & dropped) > 1 and ahead.units[0].given_up == 0


def test_a_round_that_can_never_fit_holds_up_nobody() -> None:
    talk = Nodes(pool_bytes=14 * MIB)
    talk.submit(result_stage(1, 3, map_stage(0, 9)), id=0)
    for _ in range(3):
        talk.make(*[2 * MIB] * 3)
    assert not talk.orders()
    talk.submit(result_stage(3, 3, map_stage(2, 9)), id=1)
    later = talk.scheduler.stages._runs[StageId(3)]
    while later.plan is None or not later.plan.places:
        # The first job's maps end without their last.
        launch = max(talk.running.values(), key=lambda each: (each.stage, -each.attempt))
        talk.make(*[MIB if launch.stage == 2 else 2 * MIB] * 3, attempt=launch.attempt)
    assert talk.scheduler.stages._runs[StageId(1)].tasks is None and talk.orders()


def test_a_job_that_comes_later_is_placed_by_a_shuffle_that_others_wait_for() -> None:
    maps = map_stage(0, 9)
    talk = Nodes()
    talk.submit(result_stage(1, 3, maps), id=0)
    for _ in range(4):
        talk.make(MIB, MIB, MIB)
    talk.submit(result_stage(2, 3, maps), id=1)
    talk.make(MIB, MIB, MIB)
    assert sorted(placed(talk, 2).values()) == NODES


def test_the_story_tells_of_shuffles_that_are_left_alone() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, 3)))
    for _ in range(3):
        talk.make(10, 10, 10)
    [told] = of_type(talk.log, do.ShuffleLeftAlone)
    assert told.stage == 1 and 0 < told.read_bytes < told.small_bytes == 1 << 20


def test_where_fetching_failed_it_may_succeed_when_the_node_is_back() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, 9)), id=0)
    for _ in range(3):
        talk.make(MIB, MIB, MIB)
    order = talk.orders()[0]
    talk.tell(ev.PartsNotFetched(order.fetch, "it does not answer"))
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None and (order.source, order.node) in ahead.refused
    talk.tell(ev.NodeLost(order.source, "it went down"))
    assert not ahead.refused
    assert JobId(0) in talk.scheduler.jobs._jobs


def lose(talk: Nodes, number: int) -> None:
    for attempt in [a for a, each in talk.running.items() if each.executor == number]:
        del talk.running[attempt]
    talk.tell(ev.NodeLost(NODES[number], "it went down"))


def test_reducers_of_a_lost_node_get_other_places_while_their_stage_waits() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 6, map_stage(0, 18)))
    for _ in range(6):
        talk.make(*[MIB] * 6)
    before = dict(placed(talk))
    lose(talk, 2)
    after = placed(talk)
    assert sorted(after.values()) == [NODES[0]] * 3 + [NODES[1]] * 3
    assert all(after[index] == node for index, node in before.items() if node != NODES[2])
    orphans = {index for index, node in before.items() if node == NODES[2]}
    talk.arrive_all()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(*[MIB] * 6)
        talk.arrive_all()
    fetched = {part for each in talk.orders() if each.node != NODES[2] for part in each.parts}
    assert orphans <= fetched
    told = of_type(talk.log, do.ReducersPlaced)[-1]
    assert told.heaviest_bytes == told.mean_bytes


def test_a_lost_node_gives_its_reducers_to_those_that_have_less_to_do() -> None:
    talk = Nodes()
    sizes = [9 * MIB, 5 * MIB, 4 * MIB, 4 * MIB]
    talk.submit(result_stage(1, 4, map_stage(0, 18)))
    for _ in range(3):
        talk.make(*sizes)
    before = dict(placed(talk))
    heavy = before[0]
    lost = next(number for number in (1, 2) if NODES[number] != heavy)
    lose(talk, lost)
    assert {placed(talk)[index] for index, node in before.items() if node == NODES[lost]} == {
        node for node in NODES if node not in (heavy, NODES[lost])
    }


def test_places_that_were_given_by_a_lost_node_alone_are_given_again() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 1, map_stage(0, 9)))
    for _ in range(3):
        talk.make(8 * MIB)
    [node] = placed(talk).values()
    lose(talk, NODES.index(node))
    [other] = placed(talk).values()
    assert other != node


def test_who_is_left_alone_on_the_cluster_plans_nothing() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, 9)))
    for _ in range(3):
        talk.make(MIB, MIB, MIB)
    lose(talk, 2)
    lose(talk, 1)
    assert set(placed(talk).values()) == {NODES[0]}
    while talk.running:
        if talk.scheduler.stages._runs[1].tasks is None:
            talk.make(MIB, MIB, MIB)
        else:
            talk.finish()
    assert talk.ended() == {0: None}
