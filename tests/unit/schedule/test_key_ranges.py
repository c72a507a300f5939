"""Tasks whose input has keys go by the ranges of their nodes."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from conversation import Talk, launched, of_type, result_stage, stored

from pyrite.driver.log.journal import Journal, restore
from pyrite.ids import AttemptId, BlockRef, ExecutorId, NodeId, RddId
from pyrite.place.laf import KEYS
from pyrite.plan.program import Shape
from pyrite.plan.stages import StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import LafRule, Rules
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.timer import LocalityWait

NODES = [NodeId(f"node-{number}") for number in range(4)]
QUARTER = KEYS // 4


class Four(Talk):
    """Four nodes of one executor each: executor i is on node i, and has the i-th quarter."""

    def __init__(self, laf: LafRule | None = None, **rules: Any) -> None:
        super().__init__(executors=0)
        self.scheduler = Scheduler(Rules(laf=laf or LafRule(), **rules))
        for node in NODES:
            self.tell(ev.NodeJoined(node, 1 << 30))
        for number, node in enumerate(NODES):
            self.tell(ev.ExecutorJoined(ExecutorId(number), node))


def keyed(id: int, *keys: int | None) -> StageSpec:
    """A stage whose tasks read what has these keys."""
    spec = result_stage(id, len(keys))
    first, *others = spec.shape.steps
    return replace(spec, shape=Shape([first._replace(keys=keys), *others]))


def at(quarter: float) -> int:
    return int(quarter * QUARTER)


def places(talk: Talk, stage: StageSpec, job: int = 0) -> dict[int, int]:
    return {partition: executor for _, partition, executor in launched(talk.submit(stage, id=job))}


def test_tasks_go_to_the_nodes_that_have_their_keys() -> None:
    assert places(Four(), keyed(0, at(3.5), at(2.5), at(1.5), at(0.5))) == {0: 3, 1: 2, 2: 1, 3: 0}


def test_the_same_key_goes_to_the_same_node_whatever_its_index() -> None:
    talk = Four()
    first = places(talk, keyed(0, at(1.2)))
    talk.succeed_all()
    assert first == {0: 1}
    assert places(talk, keyed(1, None, at(1.2)), job=1)[1] == 1


def test_an_idle_executor_takes_the_task_that_is_nearest_to_its_range() -> None:
    talk = Four()
    # All in the range of the first: the others take from the end that is next to them.
    found = places(talk, keyed(0, at(0.1), at(0.5), at(0.6), at(0.9)))
    assert found[3] == 1, "the nearest to the second quarter"
    assert 0 in (found[0], found[1], found[2])
    assert set(found.values()) == {0, 1, 2, 3}


def test_the_circle_has_no_end() -> None:
    talk = Four()
    found = places(talk, keyed(0, at(1.5), at(1.5), at(1.6), at(0.01)))
    assert found[3] == 0
    talk.succeed_all()
    talk.submit(keyed(1, *[at(1.5)] * 3), id=1)
    # The last quarter is next to the first.
    assert places(talk, keyed(2, at(0.01), at(2.0)), job=2)


def test_strict_tasks_wait_for_their_node() -> None:
    talk = Four(LafRule(wait_s=inf))
    assert places(talk, keyed(0, at(0.1), at(0.2), at(0.3), at(3.5))) == {0: 0, 3: 3}
    assert not of_type(talk.log, do.SetTimer), "there is no end to wait for"
    talk.succeed_all()
    assert [each.executor for each in of_type(talk.log, do.LaunchTask)] == [0, 3, 0, 0]
    assert talk.ended() == {0: None}


def test_strict_tasks_get_another_node_when_theirs_is_lost() -> None:
    talk = Four(LafRule(wait_s=inf))
    talk.submit(keyed(0, at(0.1), at(0.2)))
    talk.running.clear()
    talk.tell(ev.NodeLost(NODES[0], "gone"))
    assert len(talk.running) >= 1, "its range has others now"
    talk.succeed_all()
    assert talk.ended() == {0: None}


def test_delayed_tasks_go_elsewhere_after_their_wait() -> None:
    talk = Four(LafRule(alpha=0.0, wait_s=5.0))
    assert places(talk, keyed(0, at(0.1), at(0.2), at(0.3))) == {0: 0}
    [timer] = of_type(talk.log, do.SetTimer)
    assert timer.at_s == talk.now_s + 5.0
    found = launched(talk.tell(ev.TimerFired(LocalityWait(timer.timer.stage)), at_s=timer.at_s))
    assert sorted(partition for _, partition, _ in found) == [1, 2]
    assert 0 not in {executor for _, _, executor in found}


def test_ranges_follow_the_keys_of_tasks() -> None:
    talk = Four(LafRule(alpha=1.0, window=8))
    talk.submit(keyed(0, *[at(0.1 + 0.1 * index) for index in range(8)]))
    talk.succeed_all()
    # All that came lay in the first quarter: it is shared now.
    ranges = talk.scheduler.ranges
    assert {node for index in range(8) for node in ranges.owners(at(0.1 + 0.1 * index))} == {*NODES}
    found = places(talk, keyed(1, at(0.1), at(0.3), at(0.5), at(0.7)), job=1)
    assert found == {0: 0, 1: 1, 2: 2, 3: 3}


def test_a_hot_key_has_several_strict_owners() -> None:
    talk = Four(LafRule(alpha=1.0, wait_s=inf, window=4))
    talk.submit(keyed(0, *[at(0.5)] * 4))
    talk.succeed_all()
    assert set(places(talk, keyed(1, *[at(0.5)] * 4), job=1).values()) == {0, 1, 2, 3}


def test_two_executors_of_a_node_have_a_double_range() -> None:
    talk = Talk(executors=3)
    talk.tell(ev.NodeJoined(NODES[1], 1 << 30))
    talk.tell(ev.ExecutorJoined(ExecutorId(3), NODES[1]))
    found = places(talk, keyed(0, at(0.5), at(1.5), at(2.5), at(3.5)))
    assert found[3] == 3


def test_kept_blocks_come_before_keys_and_keys_before_homes() -> None:
    talk = Four()
    talk.tell(ev.RddPersisted(RddId(0)))
    stage = keyed(0, at(3.5), at(0.5))
    assert places(talk, stage) == {0: 3, 1: 0}
    [attempt] = [id for id, each in talk.running.items() if each.partitions == (0,)]
    talk.succeed(attempt, kept=stored(0, 0, BlockRef(NODES[2], "kept", 0, 10, "disk")))
    talk.succeed_all()
    assert places(talk, keyed(0, at(3.5), at(3.5)), job=1) == {0: 2, 1: 3}


def test_tasks_without_keys_keep_their_homes() -> None:
    found = places(Four(), keyed(0, None, at(3.5)))
    assert found == {0: 0, 1: 3}


def test_without_laf_keys_do_not_matter() -> None:
    talk = Talk(executors=0)
    talk.scheduler = Scheduler(Rules(laf=None))
    for node in NODES:
        talk.tell(ev.NodeJoined(node, 1 << 30))
    for number, node in enumerate(NODES):
        talk.tell(ev.ExecutorJoined(ExecutorId(number), node))
    assert places(talk, keyed(0, at(3.5), at(2.5))) == {0: 0, 1: 1}


def test_ranges_survive_a_restart(tmp_path: Path) -> None:
    talk = Four(LafRule(alpha=1.0, window=4))
    talk.submit(keyed(0, *[at(0.1 * index) for index in range(6)]))
    journal = Journal(str(tmp_path), "ranges", talk.scheduler)
    twin, _ = restore(journal.path)
    journal.close()
    for _ in range(6):
        attempt = next(iter(talk.running))
        del talk.running[attempt]
        event = ev.TaskSucceeded(AttemptId(attempt), (ev.TaskOutput(b"r"),))
        assert launched(twin.handle(event, talk.now_s + 1.0)) == launched(talk.tell(event))
    assert twin.ranges.cuts == talk.scheduler.ranges.cuts > 0


@pytest.mark.parametrize("wait_s", [0.0, inf])
def test_no_event_leaves_an_owner_idle(wait_s: float) -> None:
    talk = Four(LafRule(alpha=1.0, wait_s=wait_s, window=1))
    # The checks after each event say so; the ranges have moved with every task.
    talk.submit(keyed(0, *[at(4 * (index * 7 % 40) / 40) for index in range(40)]))
    talk.succeed_all()
    assert talk.ended() == {0: None}
