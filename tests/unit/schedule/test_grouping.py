"""Tiny reducers are computed as one task, and no partition is lost or done twice for that."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from conversation import NODE, Talk, launched, map_stage, of_type, result_stage

from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId, RddId, ShuffleId
from pyrite.place.sizes import encode
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.rdd.dependency import UnionSlice
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.queue import PoolShare
from pyrite.schedule.rules import SpeculationRule
from pyrite.schedule.timer import SpeculationCheck

OTHER = NodeId("node-1")
EVENT_S = 0.001


class Quick(Talk):
    """Everything takes a millisecond; the sizes of map outputs are told where asked for."""

    def tell(self, event: ev.Event, at_s: float | None = None) -> list[do.Command]:
        return super().tell(event, self.now_s + EVENT_S if at_s is None else at_s)

    def group(self) -> do.LaunchTask:
        """The first that runs of several partitions."""
        return next(each for each in self.running.values() if len(each.partitions) > 1)

    def started(self) -> list[do.LaunchTask]:
        return of_type(self.log, do.LaunchTask)

    def delivered(self) -> list[int]:
        return [each.partition for each in of_type(self.log, do.DeliverResult)]

    def reduce_launches(self) -> list[do.LaunchTask]:
        return [each for each in self.started() if each.inputs]


def begun(reducers: int = 40, executors: int = 2, **rules: Any) -> Quick:
    """The map is done, and each executor has its first reducer; the next are known to be quick."""
    talk = Quick(executors, **rules)
    talk.submit(result_stage(1, reducers, map_stage(0, 1)))
    talk.succeed(0)
    assert not any(len(each.partitions) > 1 for each in talk.running.values()), (
        "nothing is known of the first"
    )
    return talk


def grouped(reducers: int = 40, executors: int = 2, **rules: Any) -> Quick:
    """An executor has got a group."""
    talk = begun(reducers, executors, **rules)
    talk.succeed(next(iter(talk.running)))
    assert talk.group()
    return talk


def test_an_executor_gets_half_of_its_share_of_what_waits() -> None:
    talk = begun()
    [launch] = of_type(talk.succeed(next(iter(talk.running))), do.LaunchTask)
    # A quarter of the 38 that wait, from those whose home this executor is.
    assert launch.executor == 1 and launch.partitions == tuple(range(3, 20, 2))
    talk.succeed_all()
    assert sorted(talk.delivered()) == list(range(40)) and talk.ended() == {0: None}
    sizes = [len(each.partitions) for each in talk.reduce_launches()]
    assert sizes == sorted(sizes[:2]) + sorted(sizes[2:], reverse=True) and sizes[-1] == 1
    assert len(sizes) < 20


def test_the_story_tells_it_once_with_its_numbers() -> None:
    talk = begun()
    talk.succeed_all()
    [told] = of_type(talk.log, do.ReducersGrouped)
    assert told.stage == 1 and told.how == "small" and told.total_bytes == 10
    assert told.waiting == 38 and told.together == 9
    assert told.together_bytes == pytest.approx(9 * 10 / 40)
    assert told.task_s == pytest.approx(EVENT_S)


def test_who_has_nothing_of_its_own_takes_several_from_the_far_end() -> None:
    talk = begun(80)
    [stuck] = [a for a, each in talk.running.items() if each.executor == 0]
    while len(talk.running) == 2:
        talk.succeed(next(a for a in talk.running if a != stuck))
    taken = [each.partitions for each in talk.reduce_launches() if each.executor == 1]
    others = [each for each in taken if each[0] % 2 == 0]
    assert [index for each in others for index in each] == list(range(78, 0, -2))
    assert len(others[0]) == 9 and not any(index % 2 for each in others for index in each)
    talk.succeed(stuck)
    assert sorted(talk.delivered()) == list(range(80)) and talk.ended() == {0: None}


@pytest.mark.parametrize(
    "rules", [{"tiny_reducers_bytes": 0}, {"small_shuffle_bytes": 10}, {"small_shuffle_bytes": 0}]
)
def test_each_is_alone_where_it_is_turned_off_or_may_read_much(rules: dict[str, int]) -> None:
    talk = begun(**rules)
    talk.succeed_all()
    assert talk.ended() == {0: None} and len(talk.reduce_launches()) == 40


def test_a_group_reads_no_more_than_is_tiny() -> None:
    # Ten bytes for 40 reducers: one byte is read by four of them.
    talk = begun(tiny_reducers_bytes=1)
    talk.succeed_all()
    assert max(len(each.partitions) for each in talk.reduce_launches()) == 4


def test_what_takes_long_is_computed_alone() -> None:
    talk = begun()
    for _ in range(40):
        attempt = next(iter(talk.running))
        talk.running.pop(attempt)
        talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),)), at_s=talk.now_s + 0.2)
    assert talk.ended() == {0: None} and len(talk.reduce_launches()) == 40


@pytest.mark.parametrize(
    ("reducers", "each_s", "together"),
    # A tenth of a second; a sixteenth of 6 s; a second, as there are 50 s left.
    [(40, 0.03, 3), (400, 0.03, 12), (1000, 0.1, 10)],
)
def test_a_group_takes_no_longer_than_a_moment_or_a_share_of_what_is_left(
    reducers: int, each_s: float, together: int
) -> None:
    talk = begun(reducers)
    attempt = next(iter(talk.running))
    talk.running.pop(attempt)
    answer = talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),)), at_s=talk.now_s + each_s)
    [launch] = of_type(answer, do.LaunchTask)
    assert len(launch.partitions) == together


@pytest.mark.parametrize("maps", [64, 256, 1024])
def test_beyond_256_maps_a_group_may_read_as_much_more(maps: int) -> None:
    talk = Quick(2, tiny_reducers_bytes=65)
    talk.submit(result_stage(1, 400, map_stage(0, maps)))
    talk.succeed_all()
    assert talk.ended() == {0: None}
    # An output has ten bytes: with 256 maps, a reducer reads 6.4.
    most = max(len(each.partitions) for each in talk.reduce_launches())
    assert most == (40 if maps == 64 else 10)


def test_few_reducers_are_not_grouped() -> None:
    talk = begun(8)
    talk.succeed_all()
    assert len(talk.reduce_launches()) == 8


def test_stages_without_a_shuffle_are_not_grouped() -> None:
    talk = Quick()
    talk.submit(result_stage(0, 40))
    talk.succeed_all()
    assert len(talk.started()) == 40


def test_barriers_kept_rows_and_files_beside_a_shuffle_are_left_alone() -> None:
    talk = Quick(executors=40)
    talk.submit(result_stage(1, 40, map_stage(0, 1), barrier=True))
    talk.succeed_all()
    kept = Quick()
    kept.tell(ev.RddPersisted(RddId(10)))
    kept.submit(result_stage(1, 40, map_stage(0, 1)))
    kept.succeed_all()
    beside = Quick()
    stage = result_stage(1, 40, map_stage(0, 1))
    source = PlanStep(RddId(7), (), 20)
    reduced = PlanStep(RddId(10), (ShuffleInput(ShuffleId(0)),), 20)
    union = PlanStep(
        RddId(11),
        (NarrowInput(0, UnionSlice(0, 20)), NarrowInput(1, UnionSlice(20, 20))),
        40,
    )
    beside.submit(replace(stage, shape=Shape([source, reduced, union])))
    beside.succeed_all()
    for each in (talk, kept, beside):
        assert each.ended() == {0: None}
        assert len(each.reduce_launches()) == 40 and not any(
            len(it.partitions) > 1 for it in each.started()
        )


# What goes wrong


def alone_from_then_on(talk: Quick, group: do.LaunchTask) -> None:
    """The partitions of a group are tried one by one, and all come in once."""
    before = len(talk.started())
    talk.succeed_all()
    again = [
        each for each in talk.started()[before:] if set(each.partitions) & set(group.partitions)
    ]
    assert all(len(each.partitions) == 1 for each in again)
    assert sorted(talk.delivered()) == list(range(40)) and talk.ended() == {0: None}


def test_a_failure_counts_against_none_of_them_until_one_fails_alone() -> None:
    talk = grouped(max_failures=1)
    group = talk.group()
    talk.fail(group.attempt, "ValueError: who?")
    assert not talk.ended() and not talk.scheduler.stages._runs[1].tasks.failures
    alone_from_then_on(talk, group)


def test_who_is_to_blame_fails_alone_and_is_named() -> None:
    talk = grouped(max_failures=1)
    group = talk.group()
    culprit = group.partitions[3]
    talk.fail(group.attempt)
    while not talk.ended():
        attempt, launch = next(iter(talk.running.items()))
        if launch.partitions == (culprit,):
            talk.fail(attempt)
        else:
            talk.succeed(attempt)
    assert f"partition {culprit} of 40 failed once" in str(talk.ended()[0])


def test_an_executor_that_dies_is_held_against_none_of_them() -> None:
    talk = grouped(max_deaths=1)
    group = talk.group()
    talk.lose(group.executor)
    assert not talk.ended()
    talk.tell(ev.ExecutorJoined(ExecutorId(5), NODE))
    alone_from_then_on(talk, group)


def test_a_cancelled_group_comes_back_whole() -> None:
    talk = grouped()
    group = talk.running.pop(talk.group().attempt)
    talk.tell(ev.TaskCancelled(group.attempt))
    alone_from_then_on(talk, group)


def test_a_group_that_lost_its_input_waits_for_it_whole() -> None:
    talk = grouped()
    group = talk.running.pop(talk.group().attempt)
    [snapshot] = group.inputs
    lost = ((0, snapshot.refs[0]),)
    answer = talk.tell(ev.FetchFailed(group.attempt, snapshot.shuffle, lost, "gone"))
    assert [each[0] for each in launched(answer)] == [0], "only the map is launched"
    alone_from_then_on(talk, group)


def test_a_group_goes_with_its_job() -> None:
    talk = grouped()
    group = talk.group()
    answer = talk.tell(ev.CancelRequested("enough"))
    assert of_type(answer, do.CancelTask).count(do.CancelTask(group.attempt, group.executor)) == 1
    assert not talk.scheduler.queue.pool("").load.running


def slow_copy(executors: int = 2) -> tuple[Quick, do.LaunchTask, do.LaunchTask]:
    """A group is so slow that its partitions got copies on the other executors; gives the last."""
    talk = grouped(executors=executors, speculation=SpeculationRule(1.5, 0.1, 0.0))
    group = talk.group()
    while len(talk.running) > 1:
        talk.succeed(next(a for a in talk.running if a != group.attempt))
    answer = talk.tell(ev.TimerFired(SpeculationCheck()), at_s=talk.now_s + 9.0)
    copies = of_type(answer, do.LaunchTask)
    assert [each.partitions for each in copies] == [(p,) for p in group.partitions[: len(copies)]]
    assert len(copies) == executors - 1
    return talk, group, copies[-1]


def test_a_copy_that_is_done_leaves_the_others_to_the_group() -> None:
    talk, group, copy = slow_copy()
    answer = talk.succeed(copy.attempt)
    assert not of_type(answer, do.CancelTask), "the group has others to do"
    [attempt] = [each for each in talk.scheduler.attempts if len(each.keys) > 1]
    assert (
        copy.partitions[0] not in attempt.wanted
        and len(attempt.wanted) == len(group.partitions) - 1
    )
    talk.succeed(group.attempt)
    assert sorted(talk.delivered()) == list(range(40)) and talk.ended() == {0: None}


def test_a_group_that_is_done_ends_the_copies_of_its_partitions() -> None:
    talk, group, _ = slow_copy(executors=3)
    copies = [each for each in talk.running.values() if each is not group]
    answer = talk.succeed(group.attempt)
    cancelled = [do.CancelTask(each.attempt, each.executor) for each in copies]
    assert len(cancelled) == 2 and of_type(answer, do.CancelTask) == cancelled
    assert sorted(talk.delivered()) == list(range(40)) and talk.ended() == {0: None}


def test_a_group_of_which_copies_did_all_is_cancelled() -> None:
    talk, group, _ = slow_copy()
    answer: list[do.Command] = []
    for _ in group.partitions:
        assert not of_type(answer, do.CancelTask)
        answer = talk.succeed(next(a for a in talk.running if a != group.attempt))
    assert do.CancelTask(group.attempt, group.executor) in answer
    assert sorted(talk.delivered()) == list(range(40)) and talk.ended() == {0: None}


def test_a_group_that_fails_leaves_what_copies_do_to_them() -> None:
    talk, group, copy = slow_copy()
    talk.fail(group.attempt)
    tasks = talk.scheduler.stages._runs[1].tasks
    assert tasks is not None and copy.partitions[0] not in tasks.pending
    assert set(tasks.pending) | set(tasks._running) == set(group.partitions)
    alone_from_then_on(talk, group)


# Map outputs, accumulators, shares


def test_outputs_and_counts_of_a_group_are_kept_one_by_one() -> None:
    talk = Quick()
    talk.submit(result_stage(2, 1, map_stage(1, 40, map_stage(0, 1))))
    talk.succeed(0)
    talk.succeed(next(iter(talk.running)))
    group = talk.running.pop(talk.group().attempt)
    refs = [BlockRef(NODE, f"made-{each}", 0, 10, "disk") for each in group.partitions]
    counts = [b"count %d" % each for each in group.partitions]
    made = [ev.TaskOutput(None, ref, count) for ref, count in zip(refs, counts, strict=True)]
    first = ev.TaskSucceeded(group.attempt, (ev.TaskOutput(None, refs[0], counts[0]), *made[1:]))
    answer = talk.tell(first)
    assert [each.updates for each in of_type(answer, do.CountAccumulators)] == counts
    outputs = talk.scheduler.outputs._shuffles[ShuffleId(1)]
    assert [outputs.refs[each] for each in group.partitions] == refs
    talk.succeed_all()
    assert talk.ended() == {0: None}


def test_what_a_group_made_for_nobody_is_released() -> None:
    talk = grouped()
    group = talk.running.pop(talk.group().attempt)
    talk.tell(ev.CancelRequested("enough"))
    refs = [BlockRef(NODE, f"late-{each}", 0, 10, "disk") for each in group.partitions]
    late = ev.TaskSucceeded(group.attempt, tuple(ev.TaskOutput((ref,)) for ref in refs))
    dropped = of_type(talk.tell(late), do.DropSegments)
    assert [name for each in dropped for name in each.segments] == [ref.segment for ref in refs]


def test_a_group_is_one_task_to_fair_shares() -> None:
    shares = {name: PoolShare() for name in "ab"}
    talk = Quick(executors=2, fair=True, shares=shares)
    talk.submit(result_stage(1, 40, map_stage(0, 1)), 0, pool="a")
    talk.submit(result_stage(3, 40, map_stage(2, 1)), 1, pool="b")
    most = 0
    while talk.running:
        talk.succeed(next(iter(talk.running)))
        loads = [pool.load.running for pool in talk.scheduler.queue.pools.values()]
        assert sum(loads) == len(talk.running)
        most = max(most, *(len(each.partitions) for each in talk.running.values()), 0)
        if len(talk.ended()) == 0 and len(talk.running) == 2:
            assert loads == [1, 1]
    assert most > 4 and talk.ended() == {0: None, 1: None}


# Several nodes, which tell sizes


def on_two_nodes(sizes: list[int], **rules: Any) -> Quick:
    talk = Quick(executors=1, prefetch=False, **rules)
    talk.tell(ev.NodeJoined(OTHER, 1 << 30))
    talk.tell(ev.ExecutorJoined(ExecutorId(1), OTHER))
    talk.submit(result_stage(1, len(sizes), map_stage(0, 1)))
    [attempt] = talk.running
    del talk.running[attempt]
    output = BlockRef(NODE, "map", 0, sum(sizes), "disk")
    talk.tell(
        ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(output=output, sizes=encode(sizes)),))
    )
    return talk


def test_those_that_are_known_to_be_large_are_alone_among_tiny_ones() -> None:
    large = 10 << 20
    sizes = [large if index % 10 == 3 else 100 for index in range(80)]
    talk = on_two_nodes(sizes)
    talk.succeed_all()
    assert sorted(talk.delivered()) == list(range(80))
    [told] = of_type(talk.log, do.ReducersGrouped)
    assert told.how == "known" and told.total_bytes > 7 * large
    groups = [each.partitions for each in talk.reduce_launches() if len(each.partitions) > 1]
    assert groups and all(sizes[index] == 100 for group in groups for index in group)


def test_tiny_ones_of_a_large_shuffle_are_grouped_by_what_they_read() -> None:
    talk = on_two_nodes([100 << 10] * 80)
    talk.succeed_all()
    assert max(len(each.partitions) for each in talk.reduce_launches()) == 2


# At random


@pytest.mark.parametrize("seed", range(60))
def test_every_partition_is_delivered_once_whatever_happens(seed: int) -> None:
    dice = Random(seed)
    rules: dict[str, Any] = {"max_failures": 99, "max_deaths": 99, "max_fetch_failures": 99}
    if dice.random() < 0.5:
        rules["speculation"] = SpeculationRule(1.2, 0.1, 0.0)
    rules["fair"] = dice.random() < 0.5
    talk = Quick(dice.randint(1, 4), **rules)
    middle = map_stage(1, dice.choice([30, 60]), map_stage(0, 3))
    talk.submit(result_stage(2, dice.choice([20, 50, 90]), middle))
    count = talk.scheduler.jobs._jobs[0].spec.stage.partitions
    joined = 10
    for _ in range(3000):
        if not talk.running:
            break
        attempt = dice.choice(list(talk.running))
        launch = talk.running[attempt]
        match dice.choices(["ok", "fail", "cancel", "fetch", "die", "slow"], [30, 2, 1, 1, 1, 2])[
            0
        ]:
            case "fail":
                talk.fail(attempt)
            case "cancel":
                del talk.running[attempt]
                talk.tell(ev.TaskCancelled(attempt))
            case "fetch" if launch.inputs:
                del talk.running[attempt]
                shuffle, _, refs = launch.inputs[0]
                index = dice.randrange(len(refs))
                talk.tell(ev.FetchFailed(attempt, shuffle, ((index, refs[index]),), "gone"))
            case "die":
                talk.lose(launch.executor)
                joined += 1
                talk.tell(ev.ExecutorJoined(ExecutorId(joined), NODE))
            case "slow":
                talk.tell(ev.TimerFired(SpeculationCheck()), at_s=talk.now_s + dice.random())
            case _:
                talk.succeed(attempt)
    assert talk.ended() == {0: None}
    assert sorted(talk.delivered()) == list(range(count))
