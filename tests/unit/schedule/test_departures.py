"""Nodes with executors that leave: what they wait for, and who waits for them in vain."""

from __future__ import annotations

from dataclasses import replace

from conversation import map_stage, of_type, result_stage
from threenodes import NODES, Nodes

from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev


def barrier(talk: Nodes, tasks: int = 3) -> list[do.Command]:
    return talk.submit(result_stage(7, tasks, barrier=True), id=7)


def lose(talk: Nodes, number: int) -> list[do.Command]:
    for attempt in [a for a, each in talk.running.items() if each.executor == number]:
        del talk.running[attempt]
    return talk.tell(ev.NodeLost(NODES[number], "gone"))


def test_a_node_waits_for_results_beside_outputs_that_can_not_be_copied() -> None:
    talk = Nodes(prefetch=False)
    talk.submit(result_stage(1, 1, map_stage(0, 1)))
    [(attempt, launch)] = talk.running.items()
    where = NODES[launch.executor]
    del talk.running[attempt]
    # Without sizes it can't be copied; a large result lies beside it.
    output = BlockRef(where, "e9-1", 0, 10, "disk")
    talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(output=output),)))
    result = BlockRef(where, "e9-1", 10, 10, "disk")
    talk.submit(result_stage(5, 1), id=5)
    attempt = next(a for a, each in talk.running.items() if each.stage == 5)
    del talk.running[attempt]
    talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput((result,)),)))
    [attempt] = talk.running
    assert of_type(talk.tell(ev.NodeLeaves(where)), do.ReleaseNode) == []
    talk.finish(attempt)
    assert do.ReleaseNode(where) not in talk.log
    assert do.ReleaseNode(where) in talk.tell(ev.BlocksReleased((result,)))


def refuse(talk: Nodes, copies: list[do.FetchParts]) -> list[do.Command]:
    """Lets copies fail, and whatever is tried then; returns all that was answered."""
    answers: list[do.Command] = []
    while copies:
        found = talk.tell(ev.PartsNotFetched(copies.pop(0).fetch, "no room"))
        copies += of_type(found, do.FetchParts)
        answers += found
    return answers


def leave_with_an_output(talk: Nodes, replayable: bool) -> tuple[NodeId, list[do.Command]]:
    """A reducer reads an output that has no room elsewhere, and whose node is asked to leave."""
    maps = replace(map_stage(0, 1), replayable=replayable)
    talk.submit(result_stage(1, 2, maps))
    where = NODES[next(iter(talk.running.values())).executor]
    talk.make(10, 10)
    reducer = next(a for a, each in talk.running.items() if NODES[each.executor] != where)
    for attempt in [a for a in talk.running if a != reducer]:
        talk.finish(attempt)
    answer = talk.tell(ev.NodeLeaves(where))
    return where, answer + refuse(talk, of_type(answer, do.FetchParts))


def test_a_node_stays_for_outputs_that_can_neither_be_copied_nor_made_alike() -> None:
    talk = Nodes(prefetch=False)
    where, answer = leave_with_an_output(talk, replayable=False)
    assert do.ReleaseNode(where) not in answer
    talk.finish()
    assert talk.ended() == {0: None}
    assert do.ReleaseNode(where) in talk.tell(ev.ShuffleForgotten(ShuffleId(0)))


def test_a_node_does_not_stay_for_a_shuffle_of_which_another_output_was_lost() -> None:
    talk = Nodes(prefetch=False)
    talk.submit(result_stage(1, 2, replace(map_stage(0, 2), replayable=False)))
    first, second = (launch.executor for launch in talk.running.values())
    talk.make(10, 10)
    talk.make(10, 10)
    answer = talk.tell(ev.NodeLeaves(NODES[first]))
    assert do.ReleaseNode(NODES[first]) not in answer + refuse(talk, of_type(answer, do.FetchParts))
    answer = lose(talk, second)
    for attempt in list(talk.running):
        del talk.running[attempt]
        answer += talk.tell(ev.TaskCancelled(attempt))
    # Copies are tried again when a node was lost.
    refuse(talk, of_type(answer, do.FetchParts))
    assert talk.ended()[0] is not None
    assert do.ReleaseNode(NODES[first]) in talk.log


def test_they_are_copied_when_a_node_joins_that_has_room() -> None:
    talk = Nodes(prefetch=False)
    where, _ = leave_with_an_output(talk, replayable=False)
    copies = of_type(talk.tell(ev.NodeJoined(NodeId("node-3"), 1 << 30)), do.FetchParts)
    assert [each.node for each in copies] != [] and do.ReleaseNode(where) in talk.arrive(*copies)


def test_a_node_leaves_with_outputs_that_are_made_again_alike() -> None:
    talk = Nodes(prefetch=False)
    where, answer = leave_with_an_output(talk, replayable=True)
    assert do.ReleaseNode(where) in answer


def test_a_barrier_fails_when_a_node_has_left_that_it_needs() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 1))
    assert of_type(barrier(talk), do.LaunchTask) == []
    talk.tell(ev.NodeLeaves(NODES[2]))
    assert "3 tasks that must run at once, but there are 2 executors" in str(talk.ended()[7])


def test_a_barrier_waits_for_a_lost_node_until_it_is_gone_for_good() -> None:
    talk = Nodes()
    barrier(talk)
    lose(talk, 1)
    for attempt in list(talk.running):
        del talk.running[attempt]
        talk.tell(ev.TaskCancelled(attempt))
    assert 7 not in talk.ended()
    talk.tell(ev.NodeWithdrawn(NODES[1]))
    assert "there are 2 executors" in str(talk.ended()[7])


def test_a_barrier_that_starts_again_fails_if_a_node_has_left_meanwhile() -> None:
    talk = Nodes(max_failures=4)
    barrier(talk)
    talk.tell(ev.NodeLeaves(NODES[2]))
    assert 7 not in talk.ended()
    attempt = next(a for a, each in talk.running.items() if each.executor == 0)
    del talk.running[attempt]
    talk.tell(ev.TaskRaised(attempt, ev.Failure("OSError", "bad")))
    for attempt in list(talk.running):
        del talk.running[attempt]
        talk.tell(ev.TaskCancelled(attempt))
    assert "there are 2 executors" in str(talk.ended()[7])


def test_a_withdrawn_node_that_is_there_stays() -> None:
    talk = Nodes()
    talk.tell(ev.NodeWithdrawn(NODES[1]))
    assert len(of_type(barrier(talk), do.LaunchTask)) == 3
