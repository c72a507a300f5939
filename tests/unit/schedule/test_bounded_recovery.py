"""The bound on recovery: lineage by kept RDDs, delays by rounds, and what is ordered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from conversation import Talk, map_stage, of_type, result_stage

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.cluster.sim.checkers.collections import CollectionChecks
from pyrite.ids import ExecutorId, NamespaceId, NodeId, Partition, RddId, ShuffleId
from pyrite.plan.checkpoints import measure
from pyrite.plan.program import NarrowInput, PlanStep, Shape
from pyrite.plan.recoveries import LineageGraph
from pyrite.plan.stages import StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.recoverybound import MapOutputs


def chain(id: int, rdds: list[int], partitions: int = 2) -> StageSpec:
    """A stage of RDDs that are each made of the one before."""
    steps = [
        PlanStep(RddId(rdd), (NarrowInput(place - 1, SAME),) if place else (), partitions)
        for place, rdd in enumerate(rdds)
    ]
    return replace(result_stage(id, partitions), shape=Shape(steps))


def joined(id: int, rdds: list[int], last: int) -> StageSpec:
    """A stage of one RDD that is made of others, which are sources."""
    steps = [PlanStep(RddId(rdd), (), 2) for rdd in rdds]
    inputs = tuple(NarrowInput(place, SAME) for place in range(len(rdds)))
    steps.append(PlanStep(RddId(last), inputs, 2))
    return replace(result_stage(id, 2), shape=Shape(steps))


class Lineages(Talk):
    """Two nodes of one executor each."""

    def __init__(self, bound_s: float = 10.0, **rules: object) -> None:
        super().__init__(executors=1, recovery_bound_s=bound_s, **rules)
        self.tell(ev.NodeJoined(NodeId("node-1"), 1 << 30))
        self.tell(ev.ExecutorJoined(ExecutorId(1), NodeId("node-1")))
        self.job = 0

    def keep(
        self, stage: StageSpec, rdd: int, delay_s: float, size: int = 100, persist: bool = True
    ) -> list[do.Command]:
        """Runs a job that computes and keeps an RDD."""
        if persist:
            self.tell(ev.RddPersisted(RddId(rdd)))
        log = len(self.log)
        self.submit(stage, id=self.job)
        self.job += 1
        while self.running:
            attempt, launch = next(iter(self.running.items()))
            found = [Partition(RddId(rdd), each) for each in launch.partitions]
            news = () if launch.stage != stage.id else found
            stored = tuple(ev.Stored(each, (), size, delay_s) for each in news)
            self.succeed(attempt, kept=ev.KeptNews(stored))
        return of_type(self.log[log:], do.WriteCheckpoints)


def test_a_path_above_the_bound_is_cut_at_the_cheapest_rdd() -> None:
    talk = Lineages(recovery_relax=1.0)
    assert talk.keep(chain(0, [1]), 1, 6.0, size=500) == []
    assert talk.keep(chain(1, [1, 2]), 2, 3.0, size=100) == []
    [order] = talk.keep(chain(2, [1, 2, 3]), 3, 4.0, size=300)
    assert order == do.WriteCheckpoints((RddId(2),), 13.0, 10.0, 200)
    # What is being written counts; what is written too.
    assert talk.keep(chain(3, [1, 2, 3, 4]), 4, 5.0) == []
    talk.tell(ev.CheckpointEnded(RddId(2), True))
    assert talk.keep(chain(4, [1, 2, 3, 4, 5]), 5, 1.0) == []
    [order] = talk.keep(chain(5, [1, 2, 3, 4, 5, 6]), 6, 1.0)
    assert order.longest_s == 11.0


def test_a_failed_write_is_ordered_again() -> None:
    talk = Lineages()
    talk.keep(chain(0, [1]), 1, 6.0)
    [first] = talk.keep(chain(1, [1, 2]), 2, 6.0)
    talk.tell(ev.CheckpointEnded(first.rdds[0], False, "the disk is full"))
    assert talk.keep(chain(2, [9]), 9, 0.0) == [first]


def test_unkept_rdds_between_count_for_their_child() -> None:
    talk = Lineages()
    talk.keep(chain(0, [1]), 1, 6.0)
    [order] = talk.keep(chain(1, [1, 7, 8, 2]), 2, 6.0)
    assert order.longest_s == 12.0
    assert talk.scheduler.bound._parents[RddId(2)] == (RddId(1),)


def test_branches_that_one_task_computes_are_added_up() -> None:
    talk = Lineages(recovery_relax=1.0)
    talk.keep(chain(0, [1]), 1, 6.0, size=500)
    talk.keep(chain(1, [2]), 2, 4.0, size=100)
    [order] = talk.keep(joined(2, [1, 2], 3), 3, 3.0, size=300)
    assert order == do.WriteCheckpoints((RddId(2),), 13.0, 10.0, 200)


def test_the_simulators_checker_notices_recoveries_that_are_taken_for_their_longest_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def path_s(lineage: LineageGraph[Any], step: Any) -> float:
        return measure(lineage.costs, lineage.parents).before_s[step]

    monkeypatch.setattr(LineageGraph, "recovery_s", path_s)
    talk = Lineages()
    talk.keep(chain(0, [1]), 1, 6.0)
    talk.keep(chain(1, [2]), 2, 4.0)
    assert talk.keep(joined(2, [1, 2], 3), 3, 3.0) == []
    with pytest.raises(CheckFailed, match=r"3 takes 13\.0 s to recover, above the bound of 10"):
        CollectionChecks(talk.scheduler).see(0.0, ev.RddReported(RddId(3)), [do.FinishJob(2, None)])


def test_a_stage_that_reads_several_rdds_is_checked_when_it_starts() -> None:
    """Each is within the bound; a task that lost both would take longer."""
    talk = Lineages(recovery_relax=1.0)
    talk.keep(chain(0, [1]), 1, 6.0)
    talk.keep(chain(1, [2]), 2, 6.0, size=50)
    talk.tell(ev.RddPersisted(RddId(3)))
    [order] = of_type(talk.submit(joined(2, [1, 2], 3), id=2), do.WriteCheckpoints)
    assert order == do.WriteCheckpoints((RddId(2),), 12.0, 10.0, 100)


def test_partitions_of_a_group_are_computed_again_by_one_task() -> None:
    """All four are one group, and so at one executor: another one computes them again."""
    talk = Lineages(bound_s=10.0)
    space = NamespaceId(0)
    talk.tell(ev.NamespaceMade(space, "hours", 4, 1))
    for number in (2, 3, 4, 5):
        talk.tell(ev.NodeJoined(NodeId(f"node-{number}"), 1 << 30))
        talk.tell(ev.ExecutorJoined(ExecutorId(number), NodeId(f"node-{number}")))
    talk.tell(ev.RddPersisted(RddId(1), space))
    [order] = talk.keep(replace(chain(0, [1], 4), namespace=space), 1, 3.0, persist=False)
    assert order.longest_s == 12.0


def test_paths_go_through_shuffles_unless_these_have_copies() -> None:
    for copies in (1, 2):
        talk = Lineages(output_copies=copies)
        talk.tell(ev.RddPersisted(RddId(11)))
        maps = map_stage(1, 2)
        talk.keep(result_stage(2, 2, maps), 21, 6.0)
        expected = () if copies == 2 else (MapOutputs(ShuffleId(1)),)
        assert talk.scheduler.bound._parents[RddId(21)] == expected
        assert talk.scheduler.bound._parents[MapOutputs(ShuffleId(1))] == (RddId(11),)


def test_delays_count_by_rounds() -> None:
    """Of six partitions three are on each node: three rounds for the one executor left."""
    talk = Lineages(bound_s=10.0)
    assert talk.keep(chain(0, [1], partitions=6), 1, 3.0) == []
    [order] = talk.keep(chain(1, [2], partitions=6), 2, 4.0)
    assert order.longest_s == 12.0 and order.rdds == (RddId(2),)


def test_edge_writes_the_latest() -> None:
    talk = Lineages(recovery_algorithm="EDGE")
    talk.keep(chain(0, [1]), 1, 6.0, size=1)
    [order] = talk.keep(chain(1, [1, 2]), 2, 6.0, size=1000)
    assert order.rdds == (RddId(2),)


def test_what_is_forgotten_stays_while_others_are_made_of_it() -> None:
    talk = Lineages()
    talk.keep(chain(0, [1]), 1, 6.0)
    talk.keep(chain(1, [1, 2]), 2, 3.0)
    talk.tell(ev.RddForgotten(RddId(1)))
    costs = talk.scheduler.bound.lineage().costs
    assert costs[RddId(1)] == (6.0, None) and costs[RddId(2)] == (3.0, 200)
    talk.tell(ev.RddForgotten(RddId(2)))
    assert not talk.scheduler.bound._parents and not talk.scheduler.bound._delays_s


def test_without_a_bound_nothing_is_measured() -> None:
    talk = Lineages(bound_s=0.0)
    assert talk.keep(chain(0, [1]), 1, 600.0) == []
    assert not talk.scheduler.bound._parents
