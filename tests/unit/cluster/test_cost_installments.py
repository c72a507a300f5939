"""Map outputs in installments in the cluster by cost: told while the task runs, fetched, read."""

from dataclasses import replace

import pytest
from freecosts import FREE, KIND

from pyrite.cluster.cost.costed import CostedCluster, Failures
from pyrite.cluster.cost.digest import Digest, numbered
from pyrite.cluster.cost.play import Outcome, simulate
from pyrite.cluster.cost.taskrun import TaskRun
from pyrite.cluster.cost.workload import two_stages, uneven
from pyrite.errors import EngineError
from pyrite.ids import AttemptId, BlockRef, ExecutorId, JobId, NodeId, ShuffleId, StageId
from pyrite.place.sizes import decode
from pyrite.schedule.commands import (
    Command,
    Divided,
    FetchParts,
    LaunchTask,
    Parcels,
    Snapshot,
)
from pyrite.schedule.events import Event, OutputGrew, SpaceWanted, TaskSucceeded
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

A, B, C = NodeId("node-0"), NodeId("node-1"), NodeId("node-2")
SHUFFLE = ShuffleId(0)
MAP = LaunchTask(AttemptId(0), ExecutorId(0), StageId(0), (0,), 0, JobId(0), buffer_bytes=400_000)


def cluster_of(nodes: int, output_bytes: float = 1e6) -> CostedCluster:
    workload = two_stages([3.0] * 3, [1.0] * 2, output_bytes, (0.25, 0.75))
    return CostedCluster(workload, [KIND] * nodes, FREE)


def heard(cluster: CostedCluster) -> list[tuple[float, Event]]:
    """All that happens, and when, until nothing is left to do."""
    found = []
    try:
        while (event := cluster.wait_event()) is not None:
            found.append((cluster.now_s(), event))
    except EngineError:
        return found
    raise AssertionError("nobody closes the cluster")


def run_map(cluster: CostedCluster) -> list[tuple[float, Event]]:
    """What a map task tells, which gets the segment that it asks for."""
    cluster.perform(MAP)
    heard(cluster)
    run: TaskRun | None = cluster.executors[ExecutorId(0)].run
    assert run is not None
    run.granted("m-e0-1", A)
    return heard(cluster)


def test_an_awaited_output_is_told_of_while_it_is_made() -> None:
    *told, (ended_s, done) = run_map(cluster_of(2))
    assert [at_s for at_s, _ in told] == pytest.approx([1.0, 2.0])
    assert ended_s == pytest.approx(3.0)
    assert isinstance(done, TaskSucceeded) and done.made[0].output is not None
    blocks = [event.ref for _, event in told if isinstance(event, OutputGrew)]
    assert [ref.length for ref in [*blocks, done.made[0].output]] == [333_333, 333_333, 333_334]
    assert len({ref.offset for ref in [*blocks, done.made[0].output]}) == 3
    # Each tells of its own parts only.
    for sizes in [
        done.made[0].sizes,
        *(each.sizes for _, each in told if isinstance(each, OutputGrew)),
    ]:
        assert sizes is not None
        assert decode(sizes) == pytest.approx([83_333, 250_000], rel=0.05)


@pytest.mark.parametrize(("nodes", "output_bytes"), [(1, 1e6), (2, 400_000.0)])
def test_an_output_that_is_small_or_that_nobody_fetches_is_one_block(
    nodes: int, output_bytes: float
) -> None:
    ((_, done),) = run_map(cluster_of(nodes, output_bytes))
    assert isinstance(done, TaskSucceeded) and done.made[0].output is not None
    assert done.made[0].output.length == output_bytes


def test_an_installment_without_room_goes_to_disk() -> None:
    cluster = cluster_of(2)
    cluster.perform(MAP)
    heard(cluster)
    run = cluster.executors[ExecutorId(0)].run
    assert run is not None
    run.granted("m-e0-1", None)
    (_, grew), (_, asked) = heard(cluster)
    assert isinstance(grew, OutputGrew) and grew.ref.segment.startswith("d-")
    assert cluster.tally.spilled_bytes == 333_333
    # The next one asks again.
    assert isinstance(asked, SpaceWanted)


def in_installments() -> tuple[Snapshot, list[BlockRef]]:
    """Three maps, of which the first has written two blocks, with the numbers 5 and 6."""
    first, last = BlockRef(A, "m-a", 0, 600_000), BlockRef(A, "m-a", 600_064, 400_000)
    refs = (last, BlockRef(B, "m-b", 0, 1_000_000), BlockRef(C, "d-c", 0, 1_000_000))
    return Snapshot(SHUFFLE, 0, refs, ((5, 0, first), (6, 0, last))), [first, *refs]


def test_all_blocks_of_an_output_count_once() -> None:
    snapshot, blocks = in_installments()
    assert numbered(snapshot) == dict(zip([5, 6, 1, 2], blocks, strict=True))
    digest = Digest(snapshot, cluster_of(3).nodes)
    assert digest.sources.by_node == {A: 1e6, B: 1e6, C: 1e6}
    assert digest.outputs_on(A) == [0]


@pytest.mark.parametrize(
    ("numbers", "pulled"),
    # The last ones are of the map's first attempt, which came to nothing: its rows are others.
    [((5,), 0.75 * 1.4e6), ((5, 6), 0.75e6), ((0,), 1.5e6), ((3, 4), 1.5e6)],
)
def test_a_reducer_finds_the_installments_that_were_fetched(
    numbers: tuple[int, ...], pulled: float
) -> None:
    cluster = cluster_of(3)
    snapshot, blocks = in_installments()
    for ref in blocks:
        cluster.parcels.put(SHUFFLE, ref)
    refs = tuple(blocks[: len(numbers)])
    cluster.perform(FetchParts(1, B, "parcel", 1 << 30, A, (1,), numbers, refs))
    heard(cluster)
    before_bytes = cluster.network.sent_bytes
    cluster.perform(
        LaunchTask(
            AttemptId(1),
            ExecutorId(1),
            StageId(1),
            (1,),
            0,
            JobId(0),
            (snapshot,),
            parcels=(Parcels(SHUFFLE, ("parcel",)),),
        )
    )
    assert isinstance(heard(cluster)[-1][1], TaskSucceeded)
    assert cluster.network.sent_bytes - before_bytes == pytest.approx(pulled)


def test_pieces_of_a_reducer_are_refused() -> None:
    for maps in ((0, 1), None):
        command = MAP._replace(divided=Divided(0, SHUFFLE, maps))
        with pytest.raises(AssertionError, match=r"piece of reducer 0.*divide_bytes=0"):
            cluster_of(2).perform(command)


class Checked(Scheduler):
    """A scheduler whose invariants are looked at after every event."""

    def handle(self, event: Event, now_s: float) -> list[Command]:
        commands = super().handle(event, now_s)
        self.check()
        return commands


def play(buffer_bytes: int, failures: Failures | None = None, seed: int = 0) -> tuple[Outcome, int]:
    """Two rounds of maps, with how many installments were told of."""
    told: list[bool] = []
    kinds = [replace(KIND, cores=2)] * 4
    rules = Rules(executors=8, buffer_bytes=buffer_bytes, fetch_bytes=1 << 20)
    outcome = simulate(
        two_stages(uneven(16, 4.0, 0.2, 1), [0.5] * 16, 2e6),
        kinds,
        FREE,
        failures=failures,
        seed=seed,
        scheduler=Checked(rules),
        listeners=[lambda now_s, event, commands: told.append(isinstance(event, OutputGrew))],
    )
    assert outcome.errors == ()
    return outcome, sum(told)


def test_what_is_told_of_early_is_there_when_reducers_start() -> None:
    at_end, none = play(0)
    early, some = play(200_000)
    assert none == 0 < some
    assert early.tally.found_bytes > at_end.tally.found_bytes
    assert early.tally.waited_s < at_end.tally.waited_s
    assert early.seconds < at_end.seconds
    # No byte of it is read twice.
    assert early.tally.found_bytes <= 16 * 2e6


def test_work_ends_although_nodes_break_between_installments() -> None:
    failures = Failures(nodes_per_hour=60.0, executors_per_hour=60.0, repair_s=5.0)
    outcomes = [play(200_000, failures, seed) for seed in range(6)]
    assert all(told for _, told in outcomes)
    assert any(outcome.tally.redone for outcome, _ in outcomes)
