"""Parts fetched ahead in the cluster by cost, told by hand-made commands."""

from dataclasses import replace

import pytest
from freecosts import FREE, KIND

from pyrite.errors import EngineError
from pyrite.forecast.costed import CostedCluster
from pyrite.forecast.costs import CostModel
from pyrite.forecast.fetches import MOST_PARTS
from pyrite.forecast.network import Sources
from pyrite.forecast.workload import two_stages
from pyrite.ids import AttemptId, BlockRef, ExecutorId, JobId, Medium, NodeId, ShuffleId, StageId
from pyrite.place.sizes import decode
from pyrite.schedule.commands import DropSegments, DropShuffle, FetchParts, LaunchTask
from pyrite.schedule.events import (
    Event,
    FetchFailed,
    PartsFetched,
    PartsNotFetched,
    TaskSucceeded,
)
from pyrite.schedule.taskinputs import Prefetched as Told
from pyrite.schedule.taskinputs import Snapshot

A, B, C = NodeId("node-0"), NodeId("node-1"), NodeId("node-2")
SLOW_DISKS = replace(FREE, disk_write_bytes_per_s=1e5, disk_read_bytes_per_s=1e5)
SHUFFLE = ShuffleId(0)
OUTPUT_BYTES = 1e6


class Play:
    """Three nodes of one executor that do as they are told."""

    def __init__(
        self,
        shares: tuple[float, ...] = (0.25, 0.75),
        costs: CostModel = SLOW_DISKS,
        **fields: float,
    ) -> None:
        workload = two_stages([1.0] * 3, [1.0] * len(shares), OUTPUT_BYTES, shares)
        kind = replace(KIND, **fields)  # type: ignore[arg-type]
        self.cluster = CostedCluster(workload, [kind] * 3, costs)
        self.attempts = 0

    def read(self) -> list[Event]:
        """All that happens until nothing is left to do."""
        heard: list[Event] = []
        try:
            while (event := self.cluster.wait_event()) is not None:
                heard.append(event)
        except EngineError:
            return heard
        raise AssertionError("nobody closes the cluster")

    def hear_one(self, kind: type[Event]) -> Event:
        (found,) = [each for each in self.read() if isinstance(each, kind)]
        return found

    def put(self, node: NodeId, name: str, medium: Medium = "memory") -> BlockRef:
        """A map output, as if a task had written it."""
        ref = BlockRef(node, name, 0, int(OUTPUT_BYTES), medium)
        self.cluster.prefetched.put(SHUFFLE, ref)
        return ref

    def map(self, executor: int) -> None:
        """A map task of a second."""
        self.cluster.perform(
            LaunchTask(AttemptId(9), ExecutorId(executor), StageId(0), (0,), 0, JobId(0))
        )

    def fetch(self, node: NodeId, *refs: BlockRef, part: int = 0) -> None:
        maps = tuple(range(len(refs)))
        self.cluster.perform(
            FetchParts(
                1, node, "prefetched segment", 1 << 30, refs[0].node, (part,), maps, refs, "memory"
            )
        )

    def reduce(self, executor: int, part: int, refs: list[BlockRef], *segments: str) -> None:
        self.attempts += 1
        self.cluster.perform(
            LaunchTask(
                AttemptId(self.attempts),
                ExecutorId(executor),
                StageId(1),
                (part,),
                0,
                JobId(0),
                (Snapshot(SHUFFLE, 0, tuple(refs)),),
                (),
                (Told(SHUFFLE, segments),),
            )
        )

    def outputs(self) -> list[BlockRef]:
        return [self.put(node, f"{node}") for node in (A, B, C)]

    @property
    def sent_bytes(self) -> float:
        return self.cluster.network.sent_bytes


def test_map_tasks_tell_how_large_the_parts_are() -> None:
    play = Play()
    play.cluster.perform(
        LaunchTask(AttemptId(0), ExecutorId(0), StageId(0), (0,), 0, JobId(0)),
    )
    # It waits for a segment, which the scheduler would grant.
    play.read()
    run = play.cluster.executors[ExecutorId(0)].run
    assert run is not None
    run.granted("e0-1", A)
    done = play.hear_one(TaskSucceeded)
    assert isinstance(done, TaskSucceeded) and done.made[0].sizes is not None
    assert decode(done.made[0].sizes) == pytest.approx([250_000, 750_000], rel=0.05)


def test_a_prefetched_segment_that_is_dropped_on_its_way_is_stopped() -> None:
    play = Play()
    play.fetch(B, *[play.put(A, f"{number}") for number in range(8)])
    play.cluster.perform(DropSegments(B, ("prefetched segment",)))
    told = [each for each in play.read() if isinstance(each, PartsFetched | PartsNotFetched)]
    assert told == [PartsNotFetched(1, "it was dropped meanwhile")]


def test_too_many_parts_and_a_single_node_are_not_told_of() -> None:
    many = Play(shares=(1 / (MOST_PARTS + 1),) * (MOST_PARTS + 1))
    ref = BlockRef(A, "e0-1", 0, 1000)
    assert many.cluster.prefetched.put(SHUFFLE, ref) is None
    workload = two_stages([1.0], [1.0], OUTPUT_BYTES)
    assert CostedCluster(workload, [KIND], SLOW_DISKS).prefetched.put(SHUFFLE, ref) is None


def test_a_fetch_takes_what_its_bytes_take_on_the_links() -> None:
    play = Play(latency_s=0.5)
    play.read()
    play.fetch(B, play.put(A, "e0-1"), play.put(A, "e0-2"), part=1)
    told = play.hear_one(PartsFetched)
    # It waited for the network, and no task ran that lacked its processor time.
    assert told == PartsFetched(1, pytest.approx(1.5), 0.0)
    # Two times three quarters of a megabyte, and the way there and back.
    assert play.cluster.now_s() == pytest.approx(1.5 + 1.0)
    assert play.sent_bytes == pytest.approx(1.5e6)
    assert play.cluster.tally.fetched_bytes == pytest.approx(1.5e6)


def test_a_fetch_takes_processor_time_from_the_tasks_of_its_node() -> None:
    """A megabyte takes a second on the link, and a second of a core that a task wants too."""

    def ends(fetched: bool) -> tuple[float, list[PartsFetched]]:
        play = Play(costs=replace(FREE, fetch_bytes_per_s=0.75e6))
        ref = play.put(A, "e0-1")
        play.map(1)
        if fetched:
            play.fetch(B, ref, part=1)
        told = play.read()
        run = play.cluster.executors[ExecutorId(1)].run
        assert run is not None
        return run._computed_s, [each for each in told if isinstance(each, PartsFetched)]

    before_s, none = ends(fetched=False)
    after_s, [told] = ends(fetched=True)
    # A quarter of the task was left, and ran at half of the speed.
    assert not none and after_s == pytest.approx(before_s + 0.25, abs=1e-4)
    assert told == PartsFetched(1, pytest.approx(0.75), pytest.approx(1.0))


def test_a_fetch_of_outputs_on_disk_reads_the_disk() -> None:
    play = Play(disk_read_bytes_per_s=1e4)
    play.fetch(B, play.put(A, "e0-1", "disk"), part=0)
    play.read()
    assert play.cluster.now_s() == pytest.approx(250_000 / 1e4)


def test_a_reducer_finds_what_was_fetched_and_pulls_the_rest() -> None:
    play = Play()
    refs = play.outputs()
    play.fetch(B, refs[0], part=1)
    play.read()
    before_s, before_bytes = play.cluster.now_s(), play.sent_bytes
    play.reduce(1, 1, refs, "prefetched segment")
    play.hear_one(TaskSucceeded)
    # Of three outputs one is its own node's, and one is there already.
    assert play.sent_bytes - before_bytes == pytest.approx(0.75e6)
    assert play.cluster.now_s() - before_s == pytest.approx(0.75 + 1.0, rel=1e-3)
    tally = play.cluster.tally
    assert tally.found_bytes == pytest.approx(0.75e6)
    assert tally.stages[1].waited_s == tally.waited_s == pytest.approx(0.75)


def test_a_reducer_with_all_of_its_input_waits_for_nothing() -> None:
    play = Play(latency_s=0.1)
    refs = [play.put(A, "e0-1"), play.put(A, "e0-2")]
    play.fetch(B, *refs, part=1)
    play.read()
    play.reduce(1, 1, refs, "prefetched segment")
    play.hear_one(TaskSucceeded)
    assert play.cluster.tally.waited_s == 0
    assert play.sent_bytes == pytest.approx(1.5e6)


@pytest.mark.parametrize("case", ["other part", "other node", "dropped"])
def test_a_prefetched_segment_is_no_help_where_it_is_not(case: str) -> None:
    play = Play()
    refs = play.outputs()
    play.fetch(C if case == "other node" else B, refs[0], part=0 if case == "other part" else 1)
    play.read()
    if case == "dropped":
        play.cluster.perform(DropSegments(B, ("prefetched segment",)))
    before_bytes = play.sent_bytes
    play.reduce(1, 1, refs, "prefetched segment")
    play.hear_one(TaskSucceeded)
    assert play.sent_bytes - before_bytes == pytest.approx(1.5e6)
    assert play.cluster.tally.found_bytes == 0


def test_an_output_that_was_made_again_elsewhere_need_not_be_pulled_from_there() -> None:
    play = Play()
    refs = play.outputs()
    play.fetch(B, refs[0], part=1)
    play.read()
    before_bytes = play.sent_bytes
    play.reduce(1, 1, [play.put(C, "again"), refs[1], refs[2]], "prefetched segment")
    play.hear_one(TaskSucceeded)
    assert play.sent_bytes - before_bytes == pytest.approx(0.75e6)


@pytest.mark.parametrize("gone", [A, B])
def test_a_fetch_fails_with_either_of_its_nodes(gone: NodeId) -> None:
    play = Play()
    play.fetch(B, play.put(A, "e0-1"))
    play.cluster.timeline.at(0.1, play.cluster.lose_node, play.cluster.nodes[gone])
    assert isinstance(play.hear_one(PartsNotFetched), PartsNotFetched)
    assert not play.cluster.prefetched.lying_on(
        B, play.cluster.nodes[B].life, ["prefetched segment"], 0
    )
    # While a node is down, nothing can be fetched from there or to there.
    play.cluster.nodes[gone].alive = False
    play.fetch(B, play.put(A, "e0-2"))
    assert isinstance(play.hear_one(PartsNotFetched), PartsNotFetched)


def test_a_lost_source_matters_only_to_those_who_still_read_from_it() -> None:
    play = Play()
    refs = play.outputs()
    play.fetch(B, refs[0], part=1)
    play.read()
    # The snapshot is taken before the loss; its first reader has to read from A.
    play.reduce(2, 1, refs)
    play.read()
    play.cluster.lose_node(play.cluster.nodes[A])
    play.reduce(1, 1, refs, "prefetched segment")
    play.reduce(2, 1, refs)
    heard = play.read()
    assert [each.attempt for each in heard if isinstance(each, TaskSucceeded)] == [2]
    assert [each.attempt for each in heard if isinstance(each, FetchFailed)] == [3]


def test_what_is_left_of_many_sources_is_still_sampled_by_turns() -> None:
    by_node = {NodeId(f"node-{number}"): 10.0 for number in range(320)}
    sources = Sources(by_node)
    rests = [sources.without({NodeId("node-0"): 10.0}) for _ in range(2)]
    assert rests[0].total == pytest.approx(3190.0)
    assert NodeId("node-0") not in rests[0].by_node
    assert rests[0].chosen()[0] != rests[1].chosen()[0]


def test_a_forgotten_shuffle_leaves_nothing_behind() -> None:
    play = Play()
    play.outputs()
    play.cluster.perform(DropShuffle(SHUFFLE))
    assert not play.cluster.prefetched._shuffles
    assert not play.cluster.prefetched._codes


def test_partitions_of_one_attempt_are_computed_one_after_another() -> None:
    play = Play()
    refs = play.outputs()
    play.reduce(1, 0, refs)
    first = play.cluster.executors[ExecutorId(1)].run
    assert first is not None
    first.command = first.command._replace(partitions=(0, 1))
    done = play.hear_one(TaskSucceeded)
    assert isinstance(done, TaskSucceeded) and len(done.made) == 2
    # Two of three outputs are elsewhere; each reducer takes a second.
    assert play.sent_bytes == pytest.approx(2e6)
    assert play.cluster.now_s() == pytest.approx(2.0 + 2 * 1.0, rel=1e-3)
    assert play.cluster.tally.waited_s == pytest.approx(2.0)
