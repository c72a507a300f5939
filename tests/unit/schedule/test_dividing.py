"""Heavy reducers are divided: pieces first, then the whole, and whatever happens, the whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conversation import map_stage, of_type, result_stage
from hypothesis import given
from hypothesis import strategies as st
from threenodes import MIB, NODES, Nodes

from pyrite.ids import AttemptId, BlockRef, RddId, ShuffleId
from pyrite.plan.dividing import Divisible
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.divider import even_ranges, find_ranges

SHUFFLE = ShuffleId(0)


def heavy(maps: int = 6, writes: bool = False, **rules: object) -> Nodes:
    """A stage of three reducers of which the last reads ten times as much as the others, after
    its maps are done."""
    talk = Nodes(**{"divide_bytes": MIB, "prefetch": False, **rules})
    parent = map_stage(0, maps)
    stage = map_stage(1, 3, parent) if writes else result_stage(1, 3, parent)
    divided = replace(stage, divisible=Divisible(1, SHUFFLE))
    talk.submit(result_stage(2, 3, divided) if writes else divided)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, 10 * MIB)
    return talk


def pieces(talk: Nodes) -> dict[int, do.LaunchTask]:
    """The pieces that run, by attempt."""
    return {
        attempt: launch
        for attempt, launch in talk.running.items()
        if launch.divided is not None and launch.divided.maps is not None
    }


def end_piece(talk: Nodes, attempt: int, updates: bytes | None = None) -> list[do.Command]:
    launch = talk.running.pop(AttemptId(attempt))
    block = BlockRef(NODES[launch.executor], f"e{launch.executor}-{attempt}", 0, 50, "disk")
    return talk.tell(
        ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(output=block, accumulators=updates),))
    )


def end_pieces(talk: Nodes) -> list[do.Command]:
    answer: list[do.Command] = []
    while running := pieces(talk):
        answer = end_piece(talk, next(iter(running)))
    return answer


def wholes(talk: Nodes) -> dict[int, do.LaunchTask]:
    return {
        attempt: launch
        for attempt, launch in talk.running.items()
        if launch.stage == 1 and launch.completes == (2,)
    }


def finish_all(talk: Nodes) -> None:
    """Lets all that runs, and all that follows, succeed."""
    for _ in range(60):
        if not talk.running:
            return
        attempt, launch = next(iter(talk.running.items()))
        if attempt in pieces(talk):
            end_piece(talk, attempt)
        elif launch.stage == 2 or 2 not in talk.scheduler.stages._runs:
            talk.finish(attempt) if launch.stage else talk.make(MIB, MIB, 10 * MIB)
        else:
            talk.make(90, 90, 90)
    raise AssertionError("no end")


def test_a_heavy_reducer_is_divided_along_its_maps() -> None:
    talk = heavy()
    [told] = of_type(talk.log, do.ReducerDivided)
    assert (told.stage, told.partition, told.pieces) == (1, 2, 3)
    assert told.bytes > 2 * told.even_bytes
    ranges = []
    for _ in range(3):
        if not pieces(talk):
            talk.finish()
        for attempt, launch in pieces(talk).items():
            assert launch.partitions == (2,) and launch.completes == ()
            assert launch.divided is not None and launch.divided.maps is not None
            if launch.divided.maps not in ranges:
                ranges.append(launch.divided.maps)
            end_piece(talk, attempt)
    assert sorted(ranges) == [(0, 2), (2, 4), (4, 6)]


def test_the_whole_takes_what_the_pieces_made_in_order() -> None:
    talk = heavy()
    end_pieces(talk)
    while not wholes(talk):
        talk.finish()
    [whole] = wholes(talk).values()
    assert whole.divided is not None and whole.divided.maps is None
    division = talk.scheduler.stages._runs[1].divisions[2]
    assert whole.divided.blocks == tuple(division.blocks()) and len(whole.divided.blocks) == 3
    finish_all(talk)
    assert talk.ended() == {0: None}
    results = [each.partition for each in of_type(talk.log, do.DeliverResult)]
    assert sorted(results) == [0, 1, 2]
    talk.tell(ev.ShuffleForgotten(SHUFFLE))
    assert not talk.scheduler.storage.ledger.segments


def test_what_pieces_added_counts_with_the_whole() -> None:
    talk = heavy()
    while running := pieces(talk):
        end_piece(talk, next(iter(running)), b"piece")
    assert not of_type(talk.log, do.CountAccumulators)
    finish_all(talk)
    assert [each.updates for each in of_type(talk.log, do.CountAccumulators)] == [b"piece"] * 3


@pytest.mark.parametrize("rules", [{"divide_bytes": 0}, {"divide_bytes": 1 << 40}])
def test_none_is_divided_that_is_not_heavy(rules: dict[str, int]) -> None:
    assert not of_type(heavy(**rules).log, do.ReducerDivided)


def test_reducers_of_like_size_are_not_divided() -> None:
    talk = Nodes(divide_bytes=1, prefetch=False)
    stage = replace(result_stage(1, 3, map_stage(0, 6)), divisible=Divisible(1, SHUFFLE))
    talk.submit(stage)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, MIB)
    assert not of_type(talk.log, do.ReducerDivided)


def test_what_is_kept_is_not_divided() -> None:
    talk = Nodes(divide_bytes=MIB, prefetch=False)
    talk.tell(ev.RddPersisted(RddId(11)))
    stage = replace(result_stage(1, 3, map_stage(0, 6)), divisible=Divisible(1, SHUFFLE))
    talk.submit(stage)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, 10 * MIB)
    assert not of_type(talk.log, do.ReducerDivided)


def test_who_asks_for_some_partitions_may_want_few_rows() -> None:
    talk = Nodes(divide_bytes=MIB, prefetch=False)
    stage = replace(result_stage(1, 3, map_stage(0, 6)), divisible=Divisible(1, SHUFFLE))
    talk.submit(stage, partitions=(2,))
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, 10 * MIB)
    assert not of_type(talk.log, do.ReducerDivided)


def test_what_one_map_has_made_is_not_divided() -> None:
    talk = Nodes(divide_bytes=MIB, prefetch=False)
    stage = replace(result_stage(1, 3, map_stage(0, 6)), divisible=Divisible(1, SHUFFLE))
    talk.submit(stage)
    talk.make(MIB, MIB, 60 * MIB)
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.make(MIB, MIB, MIB)
    assert not of_type(talk.log, do.ReducerDivided)


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize(("other_mib", "expected"), [(1, [3]), (24, [2]), (40, [])])
def test_what_pieces_read_again_is_weighed(
    is_told: bool, other_mib: int, expected: list[int]
) -> None:
    """The heavy reducer of a join reads 60 MiB of the side that is divided."""
    talk = Nodes(divide_bytes=50 * MIB, prefetch=False)
    joined = result_stage(2, 3, map_stage(0, 6), map_stage(1, 2))
    talk.submit(replace(joined, divisible=Divisible(1, SHUFFLE)))
    while talk.scheduler.stages._runs[2].tasks is None:
        attempt, launch = next(iter(talk.running.items()))
        if launch.stage == 0:
            talk.make(1, 1, 10 * MIB)
        elif is_told:
            talk.make(1, 1, other_mib * MIB // 2)
        else:
            del talk.running[attempt]
            half = BlockRef(
                NODES[launch.executor], f"made-{attempt}", 0, other_mib * MIB // 2, "disk"
            )
            talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(output=half),)))
    assert [each.pieces for each in of_type(talk.log, do.ReducerDivided)] == expected


# Whatever becomes of a piece


def runs_as_a_whole(talk: Nodes) -> None:
    """The heavy reducer is not divided any more, and the job ends well."""
    assert not talk.scheduler.stages._runs[1].divisions
    finish_all(talk)
    assert talk.ended() == {0: None}
    launches = [each for each in of_type(talk.log, do.LaunchTask) if each.partitions == (2,)]
    assert launches[-1].divided is None
    talk.tell(ev.ShuffleForgotten(SHUFFLE))
    assert not talk.scheduler.storage.ledger.segments


def test_a_piece_that_fails_lets_the_reducer_run_as_a_whole() -> None:
    talk = heavy(max_failures=1)
    end_piece(talk, next(iter(pieces(talk))))
    cancelled = list(pieces(talk))[1:]
    talk.fail(next(iter(pieces(talk))))
    for attempt in cancelled:
        talk.running.pop(attempt, None)
        talk.tell(ev.TaskCancelled(attempt))
    runs_as_a_whole(talk)


def test_the_error_of_a_piece_is_told_by_the_whole() -> None:
    talk = heavy(max_failures=1)
    others = list(pieces(talk))[1:]
    talk.fail(next(iter(pieces(talk))))
    for attempt in others:
        talk.running.pop(attempt, None)
        talk.tell(ev.TaskCancelled(AttemptId(attempt)))
    while not wholes(talk):
        talk.finish()
    talk.fail(next(iter(wholes(talk))))
    assert "partition 2" in str(talk.ended()[0])


def test_an_executor_that_dies_with_a_piece_is_nobodys_fault() -> None:
    talk = heavy(max_deaths=1)
    launch = next(iter(pieces(talk).values()))
    others = [a for a, each in pieces(talk).items() if each.executor != launch.executor]
    talk.lose(launch.executor)
    for attempt in others:
        talk.running.pop(attempt, None)
        talk.tell(ev.TaskCancelled(attempt))
    runs_as_a_whole(talk)


def test_an_output_that_a_piece_can_not_read_is_made_again() -> None:
    talk = heavy()
    ref = talk.scheduler.outputs._shuffles[SHUFFLE].refs[0]
    assert ref is not None
    attempt, *others = pieces(talk)
    del talk.running[AttemptId(attempt)]
    talk.tell(ev.FetchFailed(AttemptId(attempt), SHUFFLE, ((0, ref),), "gone"))
    for each in others:
        talk.running.pop(AttemptId(each), None)
        talk.tell(ev.TaskCancelled(AttemptId(each)))
    runs_as_a_whole(talk)


def test_a_node_that_goes_with_a_piece_lets_the_reducer_run_as_a_whole() -> None:
    talk = heavy()
    attempt, launch = next(iter(pieces(talk).items()))
    end_piece(talk, attempt)
    gone = launch.executor
    left = {a: each for a, each in talk.running.items() if each.executor != gone}
    talk.running = left
    answer = talk.tell(ev.NodeLost(NODES[gone], "gone"))
    for each in of_type(answer, do.CancelTask):
        if each.attempt in left:
            talk.running.pop(each.attempt, None)
            talk.tell(ev.TaskCancelled(each.attempt))
    assert not talk.scheduler.stages._runs[1].divisions
    finish_all(talk)
    assert talk.ended() == {0: None}


def test_a_whole_that_runs_without_one_of_its_pieces_begins_anew() -> None:
    talk = heavy()
    while others := talk.running.keys() - pieces(talk).keys():
        talk.finish(min(others))
    while running := pieces(talk):
        end_piece(talk, next(iter(running)), b"piece")
    [(attempt, launch)] = wholes(talk).items()
    assert launch.divided is not None
    here = NODES[launch.executor]
    gone = next(ref.node for ref in launch.divided.blocks if ref.node != here)
    talk.running = {a: e for a, e in talk.running.items() if NODES[e.executor] != gone}
    talk.tell(ev.NodeLost(gone, "gone"))
    # It may have read the piece before, but what that added is forgotten: all counts, or nothing.
    assert attempt in [each.attempt for each in of_type(talk.log, do.CancelTask)]
    del talk.running[AttemptId(attempt)]
    talk.tell(ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(b"late", accumulators=b"late"),)))
    assert not of_type(talk.log, do.CountAccumulators)
    runs_as_a_whole(talk)
    results = {each.partition: each.result for each in of_type(talk.log, do.DeliverResult)}
    assert results == {0: b"r", 1: b"r", 2: b"r"}


def test_a_whole_that_can_not_read_its_pieces_reads_the_shuffle() -> None:
    talk = heavy()
    end_pieces(talk)
    while not wholes(talk):
        talk.finish()
    attempt, launch = next(iter(wholes(talk).items()))
    assert launch.divided is not None
    del talk.running[AttemptId(attempt)]
    lost = ((0, launch.divided.blocks[0]),)
    talk.tell(ev.FetchFailed(AttemptId(attempt), SHUFFLE, lost, "gone"))
    assert talk.scheduler.outputs._shuffles[SHUFFLE].complete
    runs_as_a_whole(talk)


def test_a_map_stage_can_be_divided_too() -> None:
    talk = heavy(writes=True)
    end_pieces(talk)
    finish_all(talk)
    assert talk.ended() == {0: None}
    for shuffle in (0, 1):
        talk.tell(ev.ShuffleForgotten(ShuffleId(shuffle)))
    assert not talk.scheduler.storage.ledger.segments


def test_a_job_that_is_cancelled_leaves_no_pieces() -> None:
    talk = heavy()
    end_piece(talk, next(iter(pieces(talk))))
    talk.tell(ev.CancelRequested("enough"))
    for attempt in list(talk.running):
        talk.tell(ev.TaskCancelled(attempt))
    talk.tell(ev.ShuffleForgotten(SHUFFLE))
    assert not talk.scheduler.storage.ledger.segments


SIZES = st.lists(st.integers(0, 100), min_size=1, max_size=40)


@given(SIZES, st.integers(1, 10))
def test_ranges_cover_all_maps_evenly(sizes: list[int], count: int) -> None:
    ranges = even_ranges(sizes, count)
    covered = [i for first, last in ranges for i in range(first, last)]
    assert covered == (list(range(len(sizes))) if any(sizes) else [])
    assert len(ranges) <= count
    for first, last in ranges:
        assert 0 < count * sum(sizes[first:last]) <= sum(sizes) + count * max(sizes)


@pytest.mark.parametrize(
    ("sizes", "count", "ranges"),
    [
        ([10, 10, 10, 10], 2, [(0, 2), (2, 4)]),
        ([50, 50, 0, 0], 2, [(0, 1), (1, 4)]),
        ([0, 0, 50, 0, 50], 2, [(0, 4), (4, 5)]),
        ([100, 1, 1, 1], 4, [(0, 1), (1, 4)]),
        ([30, 40, 30], 3, [(0, 1), (1, 2), (2, 3)]),
        ([0, 0], 2, []),
    ],
)
def test_maps_that_have_nothing_make_no_range(
    sizes: list[int], count: int, ranges: list[tuple[int, int]]
) -> None:
    assert even_ranges(sizes, count) == ranges


@given(SIZES, st.integers(1, 10), st.integers(0, 1000))
def test_no_reducer_is_divided_for_little(sizes: list[int], most: int, other: int) -> None:
    ranges = find_ranges(sizes, most, other)
    if not ranges:
        return
    total = sum(sizes)
    assert 2 <= len(ranges) <= most
    assert other * (len(ranges) - 1) <= total - total / len(ranges)
    heaviest = max(sum(sizes[first:last]) for first, last in ranges)
    assert 1.25 * (heaviest + other) < total + other


@pytest.mark.parametrize(
    ("sizes", "other", "pieces"),
    [
        ([10, 10, 10, 10], 0, 4),
        ([10, 10, 10, 10], 10, 4),
        ([10, 10, 10, 10], 11, 3),
        ([10, 10, 10, 10], 21, 0),
        ([100, 1, 1, 1], 0, 0),
        ([100, 40], 0, 2),
        ([100, 40], 70, 0),
    ],
)
def test_a_reducer_is_divided_for_much(sizes: list[int], other: int, pieces: int) -> None:
    assert len(find_ranges(sizes, 4, other)) == pieces
