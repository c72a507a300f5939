"""How many executors there should be, and which nodes leave when they are idle."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from conversation import Talk, map_stage, of_type, result_stage, stored

from pyrite.cluster.timers import Timers
from pyrite.ids import BlockRef, ExecutorId, JobId, NodeId, RddId, ShuffleId
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import AllocationRule, SpeculationRule
from pyrite.schedule.timer import AllocationCheck, LeaveBy

POOL_BYTES = 1000
A, B, C = (NodeId(f"node-{number}") for number in range(3))


class Growing(Talk):
    """A cluster that starts nodes as it is told to, when the test says so."""

    def __init__(
        self,
        nodes: int = 1,
        size: int = 1,
        speculation: SpeculationRule | None = None,
        **rule: Any,
    ) -> None:
        rule = {"backlog_s": 1.0, "sustained_s": 2.0, "idle_s": 10.0, **rule}
        allocation = AllocationRule(node_executors=size, **rule)
        self.timers = Timers()
        super().__init__(executors=0, allocation=allocation, speculation=speculation)
        self.size = size
        self.nodes = 0
        self.executors = 0
        self.told = 0
        for _ in range(nodes):
            self.join(0.0)

    def tell(self, event: ev.Event, at_s: float | None = None) -> list[do.Command]:
        answer = super().tell(event, at_s)
        for command in answer:
            if isinstance(command, do.WantExecutors):
                self.told = command.executors
            elif isinstance(command, do.SetTimer):
                self.timers.set(command)
        return answer

    def join(self, at_s: float | None = None) -> list[do.Command]:
        """A further node comes."""
        at_s = self.now_s if at_s is None else at_s
        node = NodeId(f"node-{self.nodes}")
        self.nodes += 1
        answer = self.tell(ev.NodeJoined(node, POOL_BYTES, executors=self.size), at_s)
        for _ in range(self.size):
            answer += self.tell(ev.ExecutorJoined(ExecutorId(self.executors), node), at_s)
            self.executors += 1
        return answer

    def work(self, tasks: int, id: int = 0, at_s: float | None = None) -> list[do.Command]:
        stage = result_stage(100 + id, tasks)
        return self.tell(ev.JobSubmitted(job(id, stage)), self.now_s if at_s is None else at_s)

    def wait(self, until_s: float) -> list[do.Command]:
        """Time passes, and timers fire; gives all answers."""
        answer: list[do.Command] = []
        while (at_s := self.timers.next_s()) is not None and at_s <= until_s:
            for fired in self.timers.take_due(at_s):
                answer += self.tell(fired, at_s)
        self.now_s = until_s
        return answer

    def end(self, at_s: float) -> None:
        """All that runs succeeds at that time."""
        while self.running:
            attempt = next(iter(self.running))
            del self.running[attempt]
            self.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),)), at_s)

    def wanted(self, answer: list[do.Command]) -> list[int]:
        return [each.executors for each in of_type(answer, do.WantExecutors)]


def job(id: int, stage: StageSpec) -> JobSpec:
    return JobSpec(JobId(id), stage, tuple(range(stage.partitions)))


# More


def test_executors_are_added_by_doubling_while_tasks_wait() -> None:
    talk = Growing()
    assert talk.told == 0
    talk.work(100, at_s=5.0)
    assert talk.wanted(talk.wait(5.9)) == []
    grown = [talk.wanted(talk.wait(at_s)) for at_s in (6.0, 8.0, 10.0, 12.0)]
    assert grown == [[2], [4], [8], [16]]


def test_no_more_are_wanted_than_tasks_can_use() -> None:
    talk = Growing()
    talk.work(4, at_s=0.0)
    assert [talk.wanted(talk.wait(at_s)) for at_s in (1.0, 3.0, 5.0)] == [[2], [4], []]


def test_the_ratio_says_how_many_executors_a_task_is_worth() -> None:
    talk = Growing(ratio=0.5)
    talk.work(8, at_s=0.0)
    assert [talk.wanted(talk.wait(at_s)) for at_s in (1.0, 3.0, 5.0)] == [[2], [4], []]


def test_there_is_a_limit() -> None:
    talk = Growing(most=3)
    talk.work(100, at_s=0.0)
    assert [talk.wanted(talk.wait(at_s)) for at_s in (1.0, 3.0, 5.0)] == [[2], [3], []]


@pytest.mark.parametrize(("most", "grown"), [(100, [4, 8]), (7, [4, 6])])
def test_nodes_come_whole_and_no_more_than_fit(most: int, grown: list[int]) -> None:
    talk = Growing(size=2, most=most)
    talk.work(50, at_s=0.0)
    assert talk.wanted(talk.wait(1.0)) == grown[:1]
    talk.join(1.5)
    # Two more than there are, then four more.
    talk.wait(3.0)
    talk.wait(5.0)
    assert talk.told >= grown[1] and talk.told <= most


def test_a_copy_of_a_slow_task_waits_as_other_tasks_do() -> None:
    talk = Growing(nodes=2, initial=2, speculation=SpeculationRule(1.5, 0.5, 0.1))
    talk.work(4, at_s=0.0)
    slow, *others = list(talk.running)
    for done_s in (0.1, 0.2, 0.3):
        [attempt] = others
        del talk.running[attempt]
        talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),)), done_s)
        others = [each for each in talk.running if each != slow]
    # The node that could run the copy goes before the task is found to be slow.
    talk.tell(ev.NodeLost(B, "crash"), 0.35)
    talk.tell(ev.NodeWithdrawn(B), 0.35)
    assert talk.told == 1
    assert talk.wanted(talk.wait(5.0)) == [2]
    [copy] = of_type(talk.join(5.0), do.LaunchTask)
    assert copy.number == 1
    # It runs: nothing waits any more, and both attempts have an executor.
    assert talk.wanted(talk.wait(9.0)) == [] and talk.told == 2


def test_who_does_not_come_is_not_wanted_when_the_tasks_are_done() -> None:
    talk = Growing()
    talk.work(20, at_s=0.0)
    for at_s in (1.0, 3.0, 5.0):
        talk.wait(at_s)
    assert talk.told == 8
    talk.tell(ev.CancelRequested("enough"), 5.5)
    # What still runs may use an executor.
    assert talk.told == 1
    assert talk.wanted(talk.wait(7.0)) == []


def test_a_pause_begins_the_doubling_anew() -> None:
    talk = Growing(most=50)
    talk.work(100, at_s=0.0)
    for at_s in (1.0, 3.0, 5.0):
        talk.wait(at_s)
    talk.tell(ev.CancelRequested("enough"), 5.5)
    [attempt] = talk.running
    del talk.running[attempt]
    talk.tell(ev.TaskCancelled(attempt), 5.6)
    talk.work(100, id=1, at_s=6.0)
    assert talk.wanted(talk.wait(6.5)) == []
    assert talk.wanted(talk.wait(7.0)) == [2]


def test_the_first_executors_stay_until_the_first_job() -> None:
    talk = Growing(nodes=3, initial=3)
    assert talk.told == 3
    talk.work(1, at_s=1.0)
    assert talk.told == 1


def test_the_first_executors_leave_if_there_is_no_job() -> None:
    talk = Growing(nodes=3, initial=3, least=1)
    assert of_type(talk.wait(9.9), do.NodeDismissed) == []
    assert len(of_type(talk.wait(10.0), do.NodeDismissed)) == 2
    assert talk.told == 1


def test_without_a_node_the_first_job_gets_one() -> None:
    talk = Growing(nodes=0)
    assert not talk.told
    assert talk.work(2, at_s=0.0) == [do.SetTimer(AllocationCheck(), 1.0)]
    assert talk.wanted(talk.wait(0.9)) == []
    assert talk.wanted(talk.wait(1.0)) == [1]
    assert of_type(talk.join(4.0), do.LaunchTask)


def test_a_node_that_is_removed_is_replaced_where_it_is_needed() -> None:
    talk = Growing(nodes=2, least=2)
    answer = talk.tell(ev.NodeLeaves(B), 1.0)
    # It went at once: the order stands, and the cluster has one fewer.
    assert answer == [do.ReleaseNode(B)] and talk.told == 2
    talk.work(2, at_s=1.0)
    talk.tell(ev.NodeLost(B, "it was asked to leave"), 1.1)
    talk.join(2.0)
    assert talk.tell(ev.NodeLeaves(C), 3.0) == [do.WantExecutors(2, (C,))]


def test_partitions_without_room_want_pools() -> None:
    talk = Growing(nodes=1, most=4)
    talk.tell(ev.RddPersisted(RddId(1)), 0.0)
    talk.work(1, at_s=0.0)
    for number in range(3):
        talk.tell(
            ev.SpaceWanted(A, ExecutorId(0), f"e0-{number}", 900, packs=False, rdd=RddId(1)), 0.5
        )
    # Two of three found none, and each takes nearly a pool.
    grown = [talk.wanted(talk.wait(at_s)) for at_s in (1.5, 3.5, 5.5)]
    assert grown == [[2], [3], []]


# Fewer


def test_an_idle_node_leaves() -> None:
    talk = Growing(nodes=2)
    talk.work(2, at_s=0.0)
    talk.end(5.0)
    assert of_type(talk.wait(14.9), do.NodeDismissed) == []
    answer = talk.wait(15.0)
    assert of_type(answer, do.NodeDismissed) == [
        do.NodeDismissed(A, 10.0),
        do.NodeDismissed(B, 10.0),
    ]
    assert of_type(answer, do.ReleaseNode) == [do.ReleaseNode(A), do.ReleaseNode(B)]


def test_no_fewer_executors_than_the_least_stay() -> None:
    talk = Growing(nodes=3, least=2)
    talk.work(3, at_s=0.0)
    talk.end(5.0)
    assert len(of_type(talk.wait(15.0), do.ReleaseNode)) == 1
    assert of_type(talk.wait(100.0), do.ReleaseNode) == []
    # And no timer is set for what can't leave.
    assert talk.timers.next_s() is None


def test_a_node_of_two_does_not_leave_for_one_too_many() -> None:
    talk = Growing(nodes=2, size=2, least=3)
    talk.work(4, at_s=0.0)
    talk.end(5.0)
    assert of_type(talk.wait(15.0), do.ReleaseNode) == []


def test_a_node_with_a_task_is_not_idle() -> None:
    talk = Growing(nodes=2, size=2)
    talk.work(4, at_s=0.0)
    # One executor of each node goes on.
    for number in (0, 2):
        attempt = next(a for a, each in talk.running.items() if each.executor == number)
        del talk.running[attempt]
        talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),)), 1.0)
    assert of_type(talk.wait(20.0), do.NodeDismissed) == []
    talk.end(21.0)
    assert len(of_type(talk.wait(31.0), do.NodeDismissed)) == 2


def test_work_makes_the_time_begin_anew() -> None:
    talk = Growing(nodes=1)
    talk.work(1, at_s=0.0)
    talk.end(5.0)
    talk.work(1, id=1, at_s=14.0)
    talk.end(14.5)
    assert of_type(talk.wait(15.0), do.NodeDismissed) == []
    assert of_type(talk.wait(24.5), do.NodeDismissed) == [do.NodeDismissed(A, 10.0)]


@pytest.mark.parametrize("way", ["rows", "block"])
def test_kept_partitions_hold_their_node_longer(way: str) -> None:
    talk = Growing(nodes=1, cached_idle_s=50.0)
    talk.tell(ev.RddPersisted(RddId(1)), 0.0)
    talk.work(1, at_s=0.0)
    [attempt] = talk.running
    del talk.running[attempt]
    ref = BlockRef(A, "e0-1", 0, 10, "disk") if way == "block" else None
    talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),), stored(1, 0, ref)), 5.0)
    assert of_type(talk.wait(15.0), do.NodeDismissed) == []
    assert of_type(talk.wait(54.9), do.NodeDismissed) == []
    assert of_type(talk.wait(55.0), do.NodeDismissed) == [do.NodeDismissed(A, 50.0)]


def test_what_is_forgotten_holds_no_node() -> None:
    talk = Growing(nodes=1, cached_idle_s=inf)
    talk.tell(ev.RddPersisted(RddId(1)), 0.0)
    talk.work(1, at_s=0.0)
    [attempt] = talk.running
    del talk.running[attempt]
    talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),), stored(1, 0)), 5.0)
    assert of_type(talk.wait(15.0), do.NodeDismissed) == []
    answer = talk.tell(ev.RddForgotten(RddId(1)), 40.0)
    assert of_type(answer, do.NodeDismissed) == [do.NodeDismissed(A, 35.0)]


def made_output(talk: Growing) -> NodeId:
    """A job whose only map output stays, as its RDD does; returns the output's node."""
    talk.tell(ev.JobSubmitted(job(0, result_stage(1, 2, map_stage(0, 1)))), 0.0)
    [attempt] = talk.running
    executor = talk.scheduler.fleet.get(talk.running.pop(attempt).executor)
    assert executor is not None
    output = BlockRef(executor.node, "e0-1", 0, 100, "disk")
    made = ev.TaskOutput(output=output, sizes=bytes([9, 9]))
    talk.tell(ev.TaskSucceeded(attempt, (made,)), 1.0)
    talk.end(2.0)
    return executor.node


def test_map_outputs_move_before_their_node_goes() -> None:
    talk = Growing(nodes=2)
    assert made_output(talk) == A
    # The other node has a task.
    talk.tell(ev.JobSubmitted(JobSpec(JobId(1), result_stage(50, 2), (1,))), 3.0)
    assert [each.executor for each in talk.running.values()] == [1]
    answer = talk.wait(12.0)
    assert [each.node for each in of_type(answer, do.NodeDismissed)] == [A]
    assert of_type(answer, do.ReleaseNode) == []
    [order] = of_type(answer, do.FetchParts)
    answer = talk.tell(ev.PartsFetched(order.fetch), 13.0)
    assert of_type(answer, do.ReleaseNode) == [do.ReleaseNode(A)]


def test_the_last_node_stays_with_its_map_outputs() -> None:
    talk = Growing(nodes=1)
    node = made_output(talk)
    assert of_type(talk.wait(100.0), do.NodeDismissed) == []
    answer = talk.tell(ev.ShuffleForgotten(ShuffleId(0)), 101.0)
    assert of_type(answer, do.ReleaseNode) == [do.ReleaseNode(node)]


# Drains and barriers


def test_a_drain_of_a_node_that_leaves_already_gives_it_a_deadline() -> None:
    talk = Growing(nodes=2)
    talk.work(2, at_s=0.0)
    talk.tell(ev.NodeLeaves(B), 1.0)
    answer = talk.tell(ev.NodeLeaves(B, 30.0), 2.0)
    assert do.SetTimer(LeaveBy(B), 30.0) in answer
    assert of_type(talk.tell(ev.TimerFired(LeaveBy(B)), 30.0), do.ReleaseNode) == [
        do.ReleaseNode(B)
    ]


def test_a_barrier_waits_for_executors_that_may_come() -> None:
    talk = Growing(nodes=1, most=3)
    talk.tell(ev.JobSubmitted(job(0, result_stage(1, 3, barrier=True))), 0.0)
    assert [talk.wanted(talk.wait(at_s)) for at_s in (1.0, 3.0)] == [[2], [3]]
    talk.join()
    assert len(of_type(talk.join(), do.LaunchTask)) == 3


def test_a_barrier_wider_than_the_most_fails_at_once() -> None:
    talk = Growing(nodes=1, most=2)
    talk.tell(ev.JobSubmitted(job(0, result_stage(1, 3, barrier=True))), 0.0)
    assert "there are 2 executors" in str(talk.ended()[0])
