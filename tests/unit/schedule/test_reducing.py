"""Reducers have their homes where their input lies, and no node has much more than the others."""

from __future__ import annotations

from conversation import Talk, map_stage, result_stage

from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId
from pyrite.place.sizes import encode
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev

NODES = [NodeId(f"node-{number}") for number in range(3)]
MIB = 1 << 20


class Nodes(Talk):
    """Three nodes with an executor each, whose map outputs have parts of given sizes."""

    def __init__(self, **rules: object) -> None:
        super().__init__(executors=1, **rules)
        for number in (1, 2):
            self.tell(ev.NodeJoined(NODES[number], 1 << 30))
            self.tell(ev.ExecutorJoined(ExecutorId(number), NODES[number]))

    def make(self, attempt: int, sizes: list[int] | None) -> list[do.Command]:
        launch = self.running.pop(AttemptId(attempt))
        node = NODES[launch.executor]
        output = BlockRef(node, f"made-{attempt}", 0, sum(sizes or [1]), "disk")
        code = None if sizes is None else encode(sizes)
        return self.tell(
            ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(output=output, sizes=code),))
        )


def reduced(talk: Nodes, *sizes: list[int] | None) -> dict[int, int]:
    """Which executor gets which of three reducers, after maps whose outputs have these sizes."""
    talk.submit(result_stage(1, 3, map_stage(0, 3)))
    maps = {launch.partitions[0]: attempt for attempt, launch in talk.running.items()}
    answers = [talk.make(maps[partition], each) for partition, each in enumerate(sizes)]
    launches = [each for each in answers[-1] if isinstance(each, do.LaunchTask)]
    return {each.partitions[0]: each.executor for each in launches}


def test_reducers_go_where_their_input_lies() -> None:
    # Map i ran on node i and made nearly all that reducer i + 1 reads.
    talk = Nodes()
    assert reduced(talk, [1, MIB, 1], [1, 1, MIB], [MIB, 1, 1]) == {0: 2, 1: 0, 2: 1}
    [told] = [each for each in talk.log if isinstance(each, do.ReducersPlaced)]
    assert told.stage == 1 and told.network_bytes == 6
    assert told.heaviest_bytes == told.mean_bytes > 0.95 * MIB


def test_small_shuffles_keep_their_homes() -> None:
    talk = Nodes()
    assert reduced(talk, [1, 90, 1], [1, 1, 90], [90, 1, 1]) == {0: 0, 1: 1, 2: 2}
    assert not any(isinstance(each, do.ReducersPlaced) for each in talk.log)
    placed = reduced(Nodes(small_shuffle_bytes=0), [1, 90, 1], [1, 1, 90], [90, 1, 1])
    assert placed == {0: 2, 1: 0, 2: 1}


def test_sizes_that_are_not_told_place_nothing() -> None:
    assert reduced(Nodes(), [1, MIB, 1], None, [MIB, 1, 1]) == {0: 0, 1: 1, 2: 2}


def test_no_node_gets_all_though_it_has_all() -> None:
    # All lies on node 0: the three reducers are dealt out, one to each.
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, 1)))
    [attempt] = talk.running
    launch = talk.running.pop(attempt)
    output = BlockRef(NODES[0], "made-0", 0, 3 * MIB, "disk")
    sizes = encode([MIB] * 3)
    answer = talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(output=output, sizes=sizes),)))
    assert launch.partitions[0] == 0
    executors = [each.executor for each in answer if isinstance(each, do.LaunchTask)]
    assert sorted(executors) == [0, 1, 2]


def test_an_output_that_is_made_again_has_its_new_sizes() -> None:
    talk = Nodes()
    reduced(talk, [1, MIB, 1], [1, 1, MIB], [MIB, 1, 1])
    outputs = talk.scheduler.outputs._shuffles[next(iter(talk.scheduler.outputs._shuffles))]
    talk.tell(ev.NodeLost(NODES[1], "gone"))
    assert [code is None for code in outputs.sizes] == [ref is None for ref in outputs.refs]
