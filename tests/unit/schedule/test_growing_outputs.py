"""Map outputs whose parts travel while their tasks still run: who owns what when tasks end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conversation import map_stage, of_type, result_stage, stored
from threenodes import MIB, NODES, Nodes

from pyrite.ids import AttemptId, BlockRef, ExecutorId, RddId, ShuffleId
from pyrite.place.sizes import decode, encode
from pyrite.plan.program import NarrowInput, Node, Shape, ShuffleInput
from pyrite.plan.stages import StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.rules import SpeculationRule
from pyrite.schedule.timer import SpeculationCheck

KEPT = RddId(500)
REDUCERS = 3
SHUFFLE = ShuffleId(0)


class Growing(Nodes):
    """Three reducers that go to what is kept of another RDD, and maps that they wait for."""

    def __init__(self, maps: int = 6, keeps: bool = True, **rules: object) -> None:
        super().__init__(**{"buffer_bytes": MIB, **rules})
        self.written = 0
        if keeps:
            self.keep()
        self.stage = joined(map_stage(0, maps))
        self.submit(self.stage, 1)

    def keep(self) -> None:
        self.tell(ev.RddPersisted(KEPT))
        source = result_stage(900, REDUCERS)
        self.submit(replace(source, shape=Shape([Node(KEPT, (), REDUCERS)])), 0)
        for attempt, launch in list(self.running.items()):
            del self.running[attempt]
            node = NODES[launch.executor]
            ref = BlockRef(node, f"d-e{launch.executor}-kept", 0, 100)
            news = stored(KEPT, launch.partitions[0], ref)
            self.tell(ev.TaskSucceeded(attempt, (ev.Made(b"r"),), news))

    @property
    def outputs(self) -> ShuffleOutputs:
        return self.scheduler.outputs._shuffles[SHUFFLE]

    def map_of(self, partition: int) -> do.LaunchTask:
        """The attempt that makes a map output, the last where there are several."""
        return [each for each in self.running.values() if each.partitions[0] == partition][-1]

    def grow(self, attempt: int, *sizes: int) -> list[do.Command]:
        """A running map task has written a block of these parts."""
        launch = self.running[AttemptId(attempt)]
        self.written += 1
        name = f"d-e{launch.executor}-part{self.written}"
        ref = BlockRef(NODES[launch.executor], name, 0, sum(sizes))
        return self.tell(ev.OutputGrew(AttemptId(attempt), ref, encode(sizes)))

    def end(self) -> None:
        """All maps and all reducers succeed, and nothing is left but what is kept."""
        while self.running:
            attempt, launch = next(iter(self.running.items()))
            if launch.stage == 0:
                self.make(*[MIB] * REDUCERS, attempt=attempt)
            else:
                self.finish(attempt)
        self.arrive_all()
        assert self.ended()[1] is None
        self.tell(ev.ShuffleForgotten(SHUFFLE))
        left = [name for name in self.scheduler.storage.ledger.segments if "kept" not in name]
        assert not left


def joined(parent: StageSpec) -> StageSpec:
    """Reads a shuffle, and beside it what is kept."""
    shape = Shape(
        [
            Node(KEPT, (), REDUCERS),
            Node(RddId(10), (NarrowInput(0, SAME), ShuffleInput(SHUFFLE)), REDUCERS),
        ]
    )
    return replace(result_stage(1, REDUCERS, parent), shape=shape)


def parts(talk: Growing) -> set[str]:
    return {name for name in talk.scheduler.storage.ledger.segments if "-part" in name}


def dropped(answer: list[do.Command]) -> set[str]:
    return {name for each in of_type(answer, do.DropSegments) for name in each.segments}


# Who is asked for installments


def test_maps_are_asked_where_their_reducers_places_are_known_before() -> None:
    talk = Growing()
    assert {each.buffer_bytes for each in talk.running.values()} == {MIB}


def test_maps_are_asked_as_soon_as_their_reducers_have_places() -> None:
    talk = Growing(maps=9, keeps=False)
    assert {each.buffer_bytes for each in talk.running.values()} == {0}
    for _ in range(3):
        talk.make(*[MIB] * REDUCERS)
    assert [each.buffer_bytes for each in talk.running.values()] == [0, 0, MIB]


@pytest.mark.parametrize("rules", [{"buffer_bytes": 0}, {"prefetch": False}])
def test_nobody_is_asked_where_nothing_is_to_travel_early(rules: dict[str, object]) -> None:
    talk = Growing(**rules)
    assert talk.running and not any(each.buffer_bytes for each in talk.running.values())


def test_a_copy_of_a_slow_task_is_not_asked() -> None:
    talk = Growing(maps=3, speculation=SpeculationRule(1.5, 0.5, 0.1))
    slow, copy = slow_map_and_its_copy(talk)
    assert slow.buffer_bytes and not copy.buffer_bytes


def slow_map_and_its_copy(talk: Growing) -> tuple[do.LaunchTask, do.LaunchTask]:
    slow = talk.map_of(0)
    talk.make(*[MIB] * REDUCERS, attempt=talk.map_of(1).attempt)
    talk.make(*[MIB] * REDUCERS, attempt=talk.map_of(2).attempt)
    talk.tell(ev.TimerFired(SpeculationCheck()), talk.now_s + 100)
    copy = talk.map_of(0)
    assert copy is not slow
    return slow, copy


# What is told of is fetched, and belongs to its attempt until that succeeds


def test_parts_are_fetched_while_the_map_runs() -> None:
    talk = Growing()
    launch = talk.map_of(0)
    source = NODES[launch.executor]
    answer = talk.grow(launch.attempt, *[MIB] * REDUCERS)
    orders = of_type(answer, do.FetchParts)
    # What lies on the own node's disk is fetched as well.
    assert {each.node for each in orders} == set(NODES)
    assert all(each.source == source and each.maps == (6,) for each in orders)
    [placed] = of_type(answer, do.ReducersPlaced)
    assert placed.how == ("begun",)
    run = talk.scheduler.stages._runs[talk.stage.id]
    assert run.plan is not None and run.tasks is None
    assert all(run.plan.places[part] == each.node for each in orders for part in each.parts)
    talk.arrive(*orders)
    [more, *_] = of_type(talk.grow(launch.attempt, *[MIB] * REDUCERS), do.FetchParts)
    assert more.maps == (7,)
    talk.end()


def test_reducers_are_told_of_all_blocks_in_their_order() -> None:
    talk = Growing(maps=3)
    first, second = talk.map_of(0), talk.map_of(1)
    for launch in (first, second, first):
        talk.grow(launch.attempt, *[MIB] * REDUCERS)
    for partition in (2, 1, 0):
        talk.arrive_all()
        talk.make(*[MIB] * REDUCERS, attempt=talk.map_of(partition).attempt)
    [launch, *_] = [each for each in talk.running.values() if each.stage == talk.stage.id]
    [snapshot] = launch.inputs
    assert [(number, index) for number, index, _ in snapshot.installments] == [
        *((number, 0) for number in (3, 5, 7)),
        *((number, 1) for number in (4, 6)),
    ]
    blocks = {number: ref for number, _, ref in snapshot.installments}
    assert snapshot.refs[0] == blocks[7] and snapshot.refs[1] == blocks[6]
    fetched = [order for order in talk.orders() if order.node == NODES[launch.executor]]
    assert {number for each in fetched for number in each.maps} >= {2, 3, 4, 5}
    code = talk.outputs.sizes[0]
    assert code is not None and decode(code)[0] == pytest.approx(3 * MIB, rel=0.1)
    talk.end()


def test_better_forecasts_take_the_place_of_the_first() -> None:
    talk = Growing(maps=6)
    talk.grow(talk.map_of(0).attempt, *[MIB] * REDUCERS)
    talk.make(*[4 * MIB] * REDUCERS, attempt=talk.map_of(1).attempt)
    ahead = talk.scheduler.stages._runs[talk.stage.id].plan
    assert ahead is not None and ahead.forecasts[SHUFFLE].how == "observed"
    assert ahead.forecasts[SHUFFLE].total_bytes == pytest.approx(6 * 12 * MIB, rel=0.1)
    talk.end()


def fail(talk: Growing, launch: do.LaunchTask) -> list[do.Command]:
    return talk.fail(launch.attempt)


def cancel(talk: Growing, launch: do.LaunchTask) -> list[do.Command]:
    del talk.running[launch.attempt]
    return talk.tell(ev.TaskCancelled(launch.attempt))


def lose_executor(talk: Growing, launch: do.LaunchTask) -> list[do.Command]:
    answer = talk.lose(launch.executor)
    talk.tell(ev.ExecutorJoined(ExecutorId(9 + launch.executor), NODES[launch.executor]))
    return answer


@pytest.mark.parametrize("ending", [fail, cancel, lose_executor])
def test_what_an_attempt_wrote_goes_with_it(ending: object) -> None:
    assert callable(ending)
    talk = Growing(max_failures=4)
    launch = talk.map_of(0)
    other = talk.map_of(1)
    for each in (launch, other, launch):
        talk.grow(each.attempt, *[MIB] * REDUCERS)
    mine = {each.ref.segment for each in talk.outputs.partials.values() if each.map == 0}
    answer = ending(talk, launch)
    assert mine <= dropped(answer)
    assert len(mine) == 2 and parts(talk).isdisjoint(mine) and parts(talk)
    # Another attempt's blocks have other numbers: those that travelled stand for nothing.
    numbers = list(talk.outputs.partials)
    if again := [each for each in talk.running.values() if each.partitions[0] == 0]:
        talk.grow(again[-1].attempt, *[MIB] * REDUCERS)
        assert max(talk.outputs.partials) > max(numbers)
    finish_all(talk)


def finish_all(talk: Growing) -> None:
    """Like `end`, where executors have other numbers than their nodes."""
    while talk.running:
        attempt, launch = next(iter(talk.running.items()))
        node = talk.scheduler.fleet._executors[launch.executor].node
        del talk.running[attempt]
        output = BlockRef(node, f"d-e{launch.executor}-{attempt}", 0, 3 * MIB)
        made = ev.TaskSucceeded(attempt, (ev.Made(output=output, sizes=encode([MIB] * REDUCERS)),))
        talk.tell(made if launch.stage == 0 else ev.TaskSucceeded(attempt, (ev.Made(b"r"),)))
    talk.arrive_all()
    assert talk.ended()[1] is None
    talk.tell(ev.ShuffleForgotten(SHUFFLE))
    assert not [name for name in talk.scheduler.storage.ledger.segments if "kept" not in name]


def test_a_fetch_that_fails_with_its_attempt_is_no_reason_to_fetch_no_more() -> None:
    talk = Growing(max_failures=4)
    launch = talk.map_of(0)
    order = of_type(talk.grow(launch.attempt, *[MIB] * REDUCERS), do.FetchParts)[-1]
    talk.fail(launch.attempt)
    talk.tell(ev.PartsNotFetched(order.fetch, "it is not there"))
    ahead = talk.scheduler.stages._runs[talk.stage.id].plan
    assert ahead is not None and not ahead.refused
    talk.end()


def test_a_node_that_goes_takes_what_its_running_maps_wrote() -> None:
    talk = Growing()
    launch = talk.map_of(0)
    talk.grow(launch.attempt, *[MIB] * REDUCERS)
    for attempt in [a for a, each in talk.running.items() if each.executor == launch.executor]:
        del talk.running[attempt]
    talk.tell(ev.NodeLost(NODES[launch.executor], "gone"))
    assert not talk.outputs.partials and not parts(talk)
    finish_all(talk)


def test_late_words_of_an_attempt_are_released_at_once() -> None:
    talk = Growing()
    launch = talk.map_of(0)
    talk.lose(launch.executor)
    ref = BlockRef(NODES[launch.executor], "d-e0-late", 0, 10)
    answer = talk.tell(ev.OutputGrew(launch.attempt, ref, encode([1, 1, 1])))
    assert dropped(answer) == {"d-e0-late"} and not talk.outputs.partials


def test_a_cancelled_job_leaves_nothing_of_its_maps() -> None:
    talk = Growing()
    launch = talk.map_of(0)
    talk.grow(launch.attempt, *[MIB] * REDUCERS)
    talk.arrive_all()
    talk.tell(ev.CancelRequested("enough"))
    # It goes on for a while.
    talk.grow(launch.attempt, *[MIB] * REDUCERS)
    assert not parts(talk) and not talk.outputs.partials
    for attempt in list(talk.running):
        del talk.running[attempt]
        talk.tell(ev.TaskCancelled(attempt))
    assert not talk.parcels()


def test_of_two_copies_only_the_winner_s_blocks_count() -> None:
    talk = Growing(maps=3, speculation=SpeculationRule(1.5, 0.5, 0.1))
    slow, copy = slow_map_and_its_copy(talk)
    talk.grow(slow.attempt, *[MIB] * REDUCERS)
    answer = talk.make(*[MIB] * REDUCERS, attempt=copy.attempt)
    assert dropped(answer) >= {"d-e0-part1"} and not talk.outputs.partials
    assert not talk.outputs.numbers
    del talk.running[slow.attempt]
    talk.tell(ev.TaskCancelled(slow.attempt))
    talk.end()


def test_the_winner_s_blocks_count_where_the_copy_was_slower() -> None:
    talk = Growing(maps=3, speculation=SpeculationRule(1.5, 0.5, 0.1))
    slow, copy = slow_map_and_its_copy(talk)
    talk.grow(slow.attempt, *[MIB] * REDUCERS)
    talk.make(*[MIB] * REDUCERS, attempt=slow.attempt)
    assert talk.outputs.numbers == {0: (3, 4)} and parts(talk)
    del talk.running[copy.attempt]
    talk.tell(ev.TaskCancelled(copy.attempt))
    talk.end()


# Losses


def made_in_installments(**rules: object) -> Growing:
    """All maps are done, the first in three blocks, and the reducers run."""
    talk = Growing(maps=3, **rules)
    first = talk.map_of(0).attempt
    for _ in range(2):
        talk.grow(first, *[MIB] * REDUCERS)
    for partition in range(3):
        talk.make(*[MIB] * REDUCERS, attempt=talk.map_of(partition).attempt)
    return talk


@pytest.mark.parametrize("which", [0, 1, 2])
def test_losing_a_block_loses_the_whole_output(which: int) -> None:
    talk = made_in_installments()
    blocks = talk.outputs.blocks_of(0)
    assert len(blocks) == 3
    [attempt, *_] = talk.running
    del talk.running[attempt]
    # Two blocks of one output are one loss.
    lost = ((0, blocks[which]), (0, blocks[0]))
    answer = talk.tell(ev.FetchFailed(attempt, SHUFFLE, lost, "gone"))
    assert {ref.segment for ref in blocks} <= dropped(answer)
    assert talk.outputs.missing() == [0] and not talk.outputs.partials
    assert [(each.stage, *each.partitions) for each in of_type(answer, do.LaunchTask)] == [(0, 0)]
    assert set(talk.scheduler.stages._runs[talk.stage.id].fetch_failures.values()) == {1}
    # Late words of the same loss change nothing.
    [attempt] = [a for a, each in talk.running.items() if each.stage != 0][:1]
    del talk.running[attempt]
    talk.tell(ev.FetchFailed(attempt, SHUFFLE, lost, "gone"))
    assert talk.outputs.missing() == [0]
    talk.end()


def test_an_output_that_is_made_again_has_other_numbers() -> None:
    talk = made_in_installments()
    before = talk.outputs.numbers[0]
    [attempt, *_] = talk.running
    del talk.running[attempt]
    lost = ((0, talk.outputs.blocks_of(0)[0]),)
    talk.tell(ev.FetchFailed(attempt, SHUFFLE, lost, "gone"))
    talk.make(*[MIB] * REDUCERS, attempt=talk.map_of(0).attempt)
    assert 0 not in talk.outputs.numbers and talk.outputs.snapshot().installments == ()
    # What was fetched of the parts stands for nothing, and is not taken for the whole.
    assert not any(talk.outputs.block(number) for number in before)
    assert talk.outputs.block(0) is not None
    talk.end()


def test_an_output_in_installments_has_no_copy() -> None:
    talk = Growing(maps=3, output_copies=2)
    talk.grow(talk.map_of(0).attempt, *[MIB] * REDUCERS)
    for partition in range(3):
        talk.make(*[MIB] * REDUCERS, attempt=talk.map_of(partition).attempt)
        talk.arrive_all()
    assert sorted(talk.outputs.replicas) == [1, 2]


def test_a_shuffle_that_is_forgotten_leaves_no_block() -> None:
    talk = made_in_installments()
    while talk.running:
        talk.finish()
    talk.arrive_all()
    answer = talk.tell(ev.ShuffleForgotten(SHUFFLE))
    assert {"d-e0-part1", "d-e0-part2"} <= dropped(answer)
    assert not parts(talk)
