"""Reducers have places, and their input travels, while maps still run."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from conversation import map_stage, of_type, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.blocks.fetched import Stretch
from pyrite.ids import ExecutorId, JobId, ShuffleId
from pyrite.plan.stages import StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.fetches import FILE_BYTES


def begun(maps: int = 9, reducers: int = 3, **rules: object) -> Nodes:
    """Three of the maps are done: as many as there are nodes, and so the others are foreseen."""
    talk = Nodes(**rules)
    talk.submit(result_stage(1, reducers, map_stage(0, maps)))
    for _ in range(3):
        talk.make(*[MIB] * reducers)
    return talk


def test_reducers_are_placed_before_the_maps_have_ended() -> None:
    talk = begun()
    [placed] = of_type(talk.log, do.ReducersPlaced)
    assert placed.stage == 1 and placed.how == ("observed",) and placed.shuffles == (0,)
    assert placed.heaviest_bytes == placed.mean_bytes
    run = talk.scheduler.stages._runs[1]
    assert run.tasks is None and run.plan is not None
    assert sorted(run.plan.places.values()) == NODES


def test_each_node_fetches_the_parts_of_its_reducers() -> None:
    talk = begun()
    run = talk.scheduler.stages._runs[1]
    assert run.plan is not None
    pairs = {(each.source, each.node) for each in talk.orders()}
    assert pairs >= {(s, t) for s in NODES for t in NODES if s != t}
    for order in talk.orders():
        assert [run.plan.places[part] for part in order.parts] == [order.node]
        assert {ref.node for ref in order.refs} == {order.source}
        assert order.bytes >= MIB * len(order.maps)
        assert order.medium == "memory"


def test_a_reducer_is_launched_with_what_is_there() -> None:
    talk = begun()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.arrive_all()
        talk.make(MIB, MIB, MIB)
    for launch in talk.running.values():
        node = NODES[launch.executor]
        [prefetched] = launch.prefetched
        here = [each for each in talk.orders() if each.node == node]
        assert set(prefetched.segments) <= {each.segment for each in here}
        # All but the last outputs, which appeared when the reducers started.
        told = [each for each in here if each.segment in prefetched.segments]
        assert sum(len(each.maps) for each in told) >= 7


def test_a_unit_has_few_files_on_a_node() -> None:
    talk = begun(maps=60)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.arrive_all()
        talk.make(MIB, MIB, MIB)
    for node in NODES:
        here = [each for each in talk.orders() if each.node == node]
        files: dict[str, list[Stretch]] = {}
        for each in here:
            assert each.stretch is not None and each.stretch.size_bytes == each.bytes
            files.setdefault(each.stretch.file, []).append(each.stretch)
        # 40 MiB come from the others.
        assert len(here) > 30 and len(files) <= 4
        for stretches in files.values():
            assert stretches[0].offset == 0 and stretches[-1].behind() <= FILE_BYTES
            assert all(one.behind() <= other.offset for one, other in pairwise(stretches))
    assert len({each.stretch.file for each in talk.orders() if each.stretch}) >= 2 * len(NODES)
    for launch in talk.running.values():
        [told] = launch.prefetched
        places = {each.segment: each.stretch for each in talk.orders()}
        assert told.stretches == tuple(places[segment] for segment in told.segments)


def test_units_share_no_file() -> None:
    talk = begun(maps=12, reducers=6, fetch_bytes=MIB)
    talk.arrive_all()
    plan = talk.scheduler.stages._runs[1].plan
    assert plan is not None and len(plan.units) == 2
    one, other = ({each.stretch.file for each in unit.segments} for unit in plan.units)
    assert one and other and one.isdisjoint(other)


def test_what_has_not_arrived_is_not_told() -> None:
    talk = begun()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, MIB)
    assert talk.orders() and not any(launch.prefetched for launch in talk.running.values())


def test_a_pair_of_nodes_has_one_order_at_a_time() -> None:
    talk = begun(maps=12)
    for _ in range(4):
        talk.make(MIB, MIB, MIB)
    pairs = [(each.source, each.node) for each in talk.orders()]
    assert len(pairs) == len(set(pairs))
    first = talk.orders()[0]
    [more] = [
        each
        for each in of_type(talk.arrive(first), do.FetchParts)
        if (each.source, each.node) == (first.source, first.node)
    ]
    assert not set(more.maps) & set(first.maps)


def test_bytes_in_flight_are_bounded_for_each_node() -> None:
    talk = begun(fetch_bytes=2 * MIB)
    for _ in range(4):
        for node in NODES:
            for counts in (talk.scheduler.segments._to_node, talk.scheduler.segments._from_node):
                assert counts.get(node, 0) < 3.2 * MIB
        talk.make(MIB, MIB, MIB)


def test_little_waits_for_more() -> None:
    talk = Nodes(small_shuffle_bytes=0)
    talk.submit(result_stage(1, 3, map_stage(0, 9)))
    for _ in range(8):
        talk.make(90, 90, 90)
    assert of_type(talk.log, do.ReducersPlaced) and not talk.orders()


def test_small_shuffles_and_those_that_should_not_are_not_fetched() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, 9)))
    for _ in range(8):
        talk.make(90, 90, 90)
    assert not of_type(talk.log, do.ReducersPlaced) and not talk.orders()
    talk = begun(prefetch=False)
    assert not of_type(talk.log, do.ReducersPlaced) and not talk.orders()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, MIB)
    assert of_type(talk.log, do.ReducersPlaced) and not talk.orders()


def test_a_fetch_that_fails_is_not_tried_again() -> None:
    talk = begun(maps=12)
    first = talk.orders()[0]
    talk.tell(ev.PartsNotFetched(first.fetch, "its node is lost"))
    for _ in range(6):
        talk.make(MIB, MIB, MIB)
    pairs = [(each.source, each.node) for each in talk.orders()]
    assert pairs.count((first.source, first.node)) == 1
    assert first.segment not in talk.scheduler.storage.ledger.segments
    talk.tell(ev.PartsNotFetched(first.fetch, "said twice"))


def test_the_story_tells_how_true_the_forecast_was() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, 6)))
    for sizes in [(MIB, MIB, MIB)] * 3 + [(MIB, MIB, 3 * MIB)] * 3:
        talk.make(*sizes)
    [told] = of_type(talk.log, do.SizesForeseen)
    assert told.shuffle == 0 and told.how == "observed" and (told.seen, told.maps) == (3, 6)
    assert told.predicted_bytes[0] == told.predicted_bytes[2]
    assert told.true_bytes[2] > 1.8 * told.true_bytes[0]
    assert 0.05 < told.mean_error < 0.5 and told.heaviest_error < -0.3


def test_places_that_prove_wrong_are_given_up() -> None:
    # All seems to go to the first reducers, and goes to the last ones.
    talk = Nodes()
    talk.submit(result_stage(1, 6, map_stage(0, 12)))
    for sizes in [(MIB, MIB, 0, 0, 0, 0)] * 3 + [(0, 0, 2 * MIB, 2 * MIB, 2 * MIB, 0)] * 9:
        talk.make(*sizes)
    _, second = of_type(talk.log, do.ReducersPlaced)
    assert second.moved and second.how == ("known",)
    assert second.heaviest_bytes < 1.3 * second.mean_bytes


# Rounds


def rounds(**rules: object) -> Nodes:
    """Six reducers for three executors: two rounds."""
    return begun(maps=9, reducers=6, **rules)


def test_reducers_are_fetched_for_in_rounds() -> None:
    talk = rounds()
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None and [len(unit.unfinished) for unit in ahead.units] == [3, 3]
    assert all(len(order.parts) == 1 for order in talk.orders())
    assert {index for unit in ahead.units for index in unit.unfinished} == set(range(6))


def test_what_a_round_has_read_goes() -> None:
    talk = rounds()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.arrive_all()
        talk.make(*[MIB] * 6)
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    first = [each.segment.name for each in ahead.units[0].segments]
    assert first
    for attempt in list(talk.running):
        talk.finish(attempt)
    dropped = [name for each in of_type(talk.log, do.DropSegments) for name in each.segments]
    assert set(first) <= set(dropped)
    assert not ahead.units[0].segments and ahead.units[1].segments


def test_later_rounds_are_fetched_while_the_first_runs() -> None:
    talk = rounds()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(*[MIB] * 6)
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    before = len(talk.orders())
    talk.arrive_all()
    fresh = talk.orders()[before:]
    second = set(ahead.units[1].unfinished)
    assert fresh and all(set(order.parts) <= second for order in fresh)


def merged(**rules: object) -> Nodes:
    """Six reducers for three executors whose two rounds are fetched together: a map has too
    little for one of them."""
    talk = Nodes(**rules)
    talk.submit(result_stage(1, 6, map_stage(0, 9)))
    for _ in range(3):
        talk.make(*[MIB // 8] * 6)
    return talk


def test_orders_are_for_reducers_that_wait_once_the_others_run() -> None:
    talk = merged()
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None and len(ahead.units) == 1
    assert all(len(order.parts) == 2 for order in talk.orders())
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(*[MIB // 8] * 6)
    before = len(talk.orders())
    launched = {launch.partitions[0] for launch in talk.running.values()}
    talk.arrive_all()
    fresh = talk.orders()[before:]
    assert fresh and all(len(order.parts) == 1 for order in fresh)
    assert launched.isdisjoint(part for order in fresh for part in order.parts)


def test_a_reducer_is_told_of_prefetched_segments_that_have_its_part() -> None:
    talk = merged(max_failures=4)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(*[MIB // 8] * 6)
    talk.arrive_all()
    # The first to run fails, and is tried again when prefetched segments have come for the others
    # alone.
    failed = next(iter(talk.running.values()))
    talk.fail(failed.attempt)
    again = failed
    while again.attempt == failed.attempt:
        talk.finish()
        running = [
            each for each in talk.running.values() if each.partitions[0] == failed.partitions[0]
        ]
        again = running[0] if running else failed
    told = [name for each in again.prefetched for name in each.segments]
    here = [each for each in talk.orders() if each.node == NODES[again.executor]]
    assert told == [each.segment for each in here if again.partitions[0] in each.parts]
    assert 0 < len(told) < len(here)


def test_what_would_come_too_late_is_stopped() -> None:
    talk = rounds()
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(*[MIB] * 6)
    first = {each.segment.name: each for each in ahead.units[0].segments}
    dropped = [name for each in of_type(talk.log, do.DropSegments) for name in each.segments]
    assert first and set(dropped) == set(first) and all(each.unwanted for each in first.values())
    # Some were stopped, others were there already.
    stopped, arrived = [], []
    for number, fetched in enumerate(first.values()):
        (stopped if number % 2 else arrived).append(fetched)
    for fetched in stopped:
        talk.tell(ev.PartsNotFetched(fetched.fetch, "it was dropped"))
    for fetched in arrived:
        talk.tell(ev.PartsFetched(fetched.fetch))
    assert not set(first).intersection(talk.prefetched()) and not ahead.refused


def test_a_stage_that_ends_leaves_no_prefetched_segments() -> None:
    talk = rounds()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.arrive_all()
        talk.make(*[MIB] * 6)
    while talk.running:
        talk.finish()
    talk.arrive_all()
    assert talk.ended() == {0: None} and not talk.prefetched() and not talk.scheduler.plans._runs


def test_a_job_that_is_cancelled_leaves_no_prefetched_segments() -> None:
    talk = begun()
    on_way = talk.orders()[0]
    talk.arrive(*talk.orders()[1:3])
    talk.tell(ev.CancelRequested("enough"))
    assert on_way.segment in talk.prefetched()
    for each in talk.orders():
        talk.tell(ev.PartsFetched(each.fetch))
    assert not talk.prefetched()
    assert not [name for name in talk.scheduler.storage.ledger.segments if "fetched" in name]


# Room


def test_a_round_for_which_there_is_no_room_is_not_fetched() -> None:
    # The outputs lie on disks, so that the pools are for prefetched segments alone: 6 MiB and more
    # for each reducer, of which a pool has room for one.
    talk = rounds(pool_bytes=14 * MIB)
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.arrive_all()
        talk.make(*[MIB] * 6)
    assert [unit.admitted for unit in ahead.units] == [True, False]
    assert not ahead.units[1].segments
    # When the first round has ended, the second one's turn has come.
    for attempt in list(talk.running):
        talk.finish(attempt)
    assert ahead.units[1].admitted


def test_prefetched_segments_make_room_for_whoever_wants_it() -> None:
    talk = rounds(pool_bytes=40 * MIB)
    talk.arrive_all()
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    later = [each.segment.name for each in ahead.units[1].segments]
    pool = talk.scheduler.storage.ledger.pools[NODES[0]]
    wanted = pool.unused_bytes + 1
    answer = talk.tell(ev.SpaceWanted(NODES[0], ExecutorId(0), "e0-1", wanted))
    dropped = [name for each in of_type(answer, do.DropSegments) for name in each.segments]
    [granted] = of_type(answer, do.GrantSpace)
    assert granted.place == NODES[0]
    # All of the later round, on every node, and nothing of the first one.
    assert set(dropped) == set(later) and ahead.units[0].segments
    assert not ahead.units[1].admitted


def test_incomplete_rounds_make_room_first() -> None:
    talk = rounds(pool_bytes=40 * MIB)
    orders = talk.orders()
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None
    talk.arrive_all()
    while (
        talk.scheduler.stages._runs[1].tasks is None
        and talk.scheduler.outputs._shuffles[0].absent > 1
    ):
        talk.make(*[MIB] * 6)
        talk.arrive_all()
    assert orders
    # The first round is said to need more than it has; the second is complete.
    for key in ahead.units[0].expected_bytes:
        ahead.units[0].expected_bytes[key] *= 3
    for key in ahead.units[1].expected_bytes:
        ahead.units[1].expected_bytes[key] = 1
    wanted = talk.scheduler.storage.ledger.pools[NODES[0]].unused_bytes + 1
    talk.tell(ev.SpaceWanted(NODES[0], ExecutorId(0), "e0-1", wanted))
    assert not ahead.units[0].segments and ahead.units[1].segments


def test_a_prefetched_segment_that_is_read_stays_until_its_reader_ends() -> None:
    talk = begun(pool_bytes=60 * MIB)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.arrive_all()
        talk.make(MIB, MIB, MIB)
    [attempt] = [a for a, each in talk.running.items() if each.executor == 0]
    [read] = talk.running[attempt].prefetched
    pool = talk.scheduler.storage.ledger.pools[NODES[0]]
    answer = talk.tell(ev.SpaceWanted(NODES[0], ExecutorId(0), "e0-1", pool.unused_bytes + 1))
    assert not of_type(answer, do.DropSegments)
    talk.tell(ev.CancelRequested("enough"))
    assert set(read.segments) <= set(talk.scheduler.storage.ledger.segments)
    del talk.running[attempt]
    answer = talk.tell(ev.TaskCancelled(attempt))
    dropped = [name for each in of_type(answer, do.DropSegments) for name in each.segments]
    assert set(read.segments) <= set(dropped)


# Losses


def test_a_lost_node_loses_its_prefetched_segments_and_its_plans() -> None:
    talk = begun()
    talk.arrive(*talk.orders())
    lost = [each for each in talk.orders() if each.node == NODES[2]]
    for attempt in [a for a, each in talk.running.items() if each.executor == 2]:
        del talk.running[attempt]
    talk.tell(ev.NodeLost(NODES[2], "gone"))
    assert not {each.segment for each in lost} & set(talk.prefetched())
    ahead = talk.scheduler.stages._runs[1].plan
    assert ahead is not None and NODES[2] not in ahead.places.values()
    for each in talk.orders():
        talk.tell(ev.PartsFetched(each.fetch))
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, MIB)
    while talk.running:
        talk.finish()
    assert talk.ended() == {0: None}


def lose_first_output(talk: Nodes) -> None:
    outputs = talk.scheduler.outputs._shuffles[ShuffleId(0)]
    ref = outputs.refs[0]
    assert ref is not None
    attempt = next(iter(talk.running))
    del talk.running[attempt]
    talk.tell(ev.FetchFailed(attempt, ShuffleId(0), ((0, ref),), "gone"))


def started(stage: StageSpec) -> Nodes:
    talk = Nodes()
    talk.submit(result_stage(1, 6, stage))
    while 1 not in {launch.stage for launch in talk.running.values()}:
        talk.arrive_all()
        talk.make(*[MIB] * 6)
    return talk


def test_what_is_made_again_alike_need_not_be_fetched_again() -> None:
    talk = started(map_stage(0, 9))
    before = talk.prefetched()
    lose_first_output(talk)
    assert talk.prefetched() == before


def test_what_may_be_dealt_out_anew_is_dropped() -> None:
    talk = started(replace(map_stage(0, 9), barrier=False, replayable=False))
    with_first = [each.segment for each in talk.orders() if 0 in each.maps]
    lose_first_output(talk)
    assert with_first and not set(with_first) & set(talk.prefetched())


# Several shuffles, several jobs


def test_a_stage_of_two_shuffles_is_placed_with_each_of_them() -> None:
    talk = Nodes()
    talk.submit(result_stage(2, 3, map_stage(0, 6), map_stage(1, 6)))
    while talk.scheduler.stages._runs[2].tasks is None:
        launch = next(iter(talk.running.values()))
        talk.make(*([MIB, 2 * MIB, MIB] if launch.stage == 0 else [2 * MIB, MIB, MIB]))
        talk.arrive_all()
    placed = of_type(talk.log, do.ReducersPlaced)
    assert len(placed) >= 2 and placed[-1].shuffles in ((0, 1), (1, 0))
    shuffles = {
        launch.prefetched[0].shuffle for launch in talk.running.values() if launch.prefetched
    }
    assert shuffles and all(
        {each.shuffle for each in launch.prefetched} == {0, 1} for launch in talk.running.values()
    )


def test_the_job_that_came_first_is_fetched_for_first() -> None:
    talk = Nodes(fetch_bytes=2 * MIB)
    talk.submit(result_stage(1, 3, map_stage(0, 6)), id=0)
    talk.submit(result_stage(3, 3, map_stage(2, 6)), id=1)
    first = [run.spec.id for run, _ in talk.scheduler.plans.by_priority()]
    assert first == []
    for _ in range(9):
        talk.make(MIB, MIB, MIB)
    assert [run.job for run, _ in talk.scheduler.plans.by_priority()] == sorted(
        run.job for run, _ in talk.scheduler.plans.by_priority()
    )


def test_where_jobs_share_fairly_who_has_more_left_is_fetched_for_first() -> None:
    talk = Nodes(fair=True)
    talk.submit(result_stage(1, 3, map_stage(0, 6)), id=0)
    talk.submit(result_stage(3, 9, map_stage(2, 6)), id=1)
    while len(talk.scheduler.plans._runs) < 2:
        # Those whose maps are few so far, so that no stage ends.
        made = {id: 6 - each.absent for id, each in talk.scheduler.outputs._shuffles.items()}
        attempt = min(talk.running, key=lambda each: made[ShuffleId(talk.running[each].stage)])
        talk.make(*[MIB] * (3 if talk.running[attempt].stage == 0 else 9), attempt=attempt)
    assert [run.job for run, _ in talk.scheduler.plans.by_priority()] == [JobId(1), JobId(0)]
