"""Placement policies: each alone, all in their order, and one more that a test brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversation import Talk, launched, result_stage, stored
from hashranges import HashRanges, key_of, owner

from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId
from pyrite.plan.program import NarrowInput, PlanStep, Shape
from pyrite.plan.stages import StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import events as ev
from pyrite.schedule.locality import default_policies
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

NODES = [NodeId(f"node-{number}") for number in range(3)]


class Nodes(Talk):
    """Three nodes of one executor each: executor i is on node i."""

    def __init__(self, policies: Sequence[Any] | None = None, **rules: Any) -> None:
        super().__init__(executors=0)
        self.scheduler = Scheduler(Rules(**rules), policies)
        for node in NODES:
            self.tell(ev.NodeJoined(node, 1 << 30))
        for number, node in enumerate(NODES):
            self.tell(ev.ExecutorJoined(ExecutorId(number), node))


def located(id: int, locations: Sequence[Sequence[str]]) -> StageSpec:
    """A stage over a source that names nodes, and a map of it that names none."""
    named = tuple(tuple(each) for each in locations)
    source = PlanStep(RddId(10 * id), (), len(named), locations=named)
    child = PlanStep(RddId(10 * id + 1), (NarrowInput(0, SAME),), len(named))
    return StageSpec(result_stage(id, 1).id, "located", len(named), Shape([source, child]), {})


def places(talk: Nodes, stage: StageSpec, job: int = 0) -> dict[int, int]:
    return {partition: executor for _, partition, executor in launched(talk.submit(stage, id=job))}


def test_tasks_go_to_their_preferred_locations() -> None:
    stage = located(0, [["node-2"], ["node-0"], ["elsewhere", "node-1"]])
    assert places(Nodes(), stage) == {0: 2, 1: 0, 2: 1}


def test_a_location_that_is_not_there_leaves_a_task_its_home() -> None:
    assert places(Nodes(), located(0, [["elsewhere"], [], ["node-2"]])) == {0: 0, 1: 1, 2: 2}


def test_a_location_is_not_waited_for() -> None:
    talk = Nodes()
    talk.submit(located(0, [["node-1"]]))
    assert places(talk, located(1, [["node-1"]]), job=1) != {0: 1}


def test_kept_blocks_come_before_preferred_locations() -> None:
    talk = Nodes()
    talk.tell(ev.RddPersisted(RddId(0)))
    stage = located(0, [["node-1"]])
    talk.submit(stage)
    [attempt] = talk.running
    talk.succeed(attempt, kept=stored(0, 0, BlockRef(NODES[2], "kept", 0, 10, "disk")))
    assert places(talk, located(0, [["node-1"]]), job=1) == {0: 2}


def test_a_policy_is_one_file_and_one_line() -> None:
    keys = {index: key_of(f"partition {index}") for index in range(3)}
    rules = Rules()
    talk = Nodes([*default_policies(rules), HashRanges(keys)])
    ring = sorted((key_of(node), node) for node in NODES)
    found = places(talk, result_stage(0, 3))
    owners = {index: NODES.index(owner(ring, key)) for index, key in keys.items()}
    # Of tasks that share an owner the first is there; idle executors take the others.
    first = {owner: index for index, owner in reversed(owners.items())}
    assert {found[index]: index for index in first.values()} == first
    assert found != {0: 0, 1: 1, 2: 2}, "the homes by index are others"


def test_live_rows_come_before_every_other_policy() -> None:
    talk = Nodes([*default_policies(Rules()), HashRanges(dict.fromkeys(range(1), 0))])
    talk.tell(ev.RddPersisted(RddId(0)))
    talk.submit(result_stage(0, 1))
    [attempt] = talk.running
    where = talk.running[attempt].executor
    talk.succeed(attempt, kept=stored(0, 0))
    assert places(talk, result_stage(0, 1), job=1) == {0: where}
