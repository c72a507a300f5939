"""Collections: who holds their partitions, groups as tasks, splits, and where things start."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

from conversation import Talk, launched, map_stage, of_type, result_stage

from pyrite.ids import ExecutorId, NamespaceId, NodeId, Partition, RddId
from pyrite.plan.stages import StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import CollectionRule

HOURS = NamespaceId(0)
NODES = [NodeId(f"node-{number}") for number in range(4)]


class Cluster(Talk):
    """Four nodes with an executor each, and a namespace."""

    def __init__(self, partitions: int = 8, groups: int = 4, extendable: bool = True, **rules: Any):
        rules.setdefault("collections", CollectionRule(least_group_bytes=0))
        super().__init__(executors=0, **rules)
        for number, node in enumerate(NODES):
            self.tell(ev.NodeJoined(node, 1 << 30))
            self.tell(ev.ExecutorJoined(ExecutorId(number), node))
        self.tell(ev.NamespaceMade(HOURS, "hours", partitions, groups, extendable))

    def persist(self, id: int) -> None:
        """Persists the RDD of stage `id` that reads its input."""
        self.tell(ev.RddPersisted(RddId(10 * id), HOURS))

    def finish(self, id: int | None = None, size: int = 100) -> dict[tuple[int, ...], int]:
        """Lets all tasks succeed; those of stage `id` keep its RDD. Gives where each ran."""
        ran = {}
        while self.running:
            attempt, launch = next(iter(self.running.items()))
            ran[launch.partitions] = launch.executor
            news = ev.KeptNews()
            if launch.stage == id:
                partitions = [Partition(RddId(10 * id), each) for each in launch.partitions]
                news = ev.KeptNews(tuple(ev.Stored(each, (), size) for each in partitions))
            self.succeed(attempt, kept=news)
        return ran

    def groups(self) -> list[tuple[int, int]]:
        [collection] = self.scheduler.collections
        return [tuple(each) for each in collection.tree.groups()]


def member(id: int, partitions: int = 8, **changes: Any) -> StageSpec:
    return replace(result_stage(id, partitions), namespace=HOURS, **changes)


def test_a_task_is_a_group_and_results_come_by_partition() -> None:
    talk = Cluster()
    talk.submit(member(1))
    assert sorted(talk.finish()) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    delivered = of_type(talk.log, do.DeliverResult)
    assert sorted(each.partition for each in delivered) == list(range(8))


def test_a_job_for_some_partitions_computes_only_these() -> None:
    talk = Cluster()
    talk.submit(member(1), partitions=(1, 2, 3, 6))
    assert sorted(talk.finish()) == [(1,), (2, 3), (6,)]


def test_map_stages_are_grouped_and_barriers_are_not() -> None:
    talk = Cluster()
    maps = replace(map_stage(1, 8), namespace=HOURS)
    talk.submit(result_stage(2, 1, maps))
    sizes = [len(each.partitions) for each in talk.running.values()]
    assert sizes == [2, 2, 2, 2]
    talk.finish()
    talk.submit(member(3, 4, barrier=True), id=1)
    assert [len(each.partitions) for each in talk.running.values()] == [1, 1, 1, 1]


def test_a_failed_group_is_retried_by_partition() -> None:
    talk = Cluster(max_failures=2)
    talk.submit(member(1), partitions=(0, 1))
    talk.fail(0)
    assert sorted(each.partitions for each in talk.running.values()) == [(0,), (1,)]
    talk.finish()
    assert talk.ended() == {0: None}


def test_further_rdds_go_where_the_first_is() -> None:
    talk = Cluster(locality_wait_s=10.0)
    talk.persist(1)
    talk.submit(member(1))
    first = talk.finish(1)
    talk.persist(2)
    # Executor 3 is busy when the second RDD is loaded: its tasks wait for it.
    talk.submit(result_stage(9, 1), id=1)
    [(_, _, busy)] = launched(talk.log)[-1:]
    talk.submit(member(2), id=2)
    second = {each.partitions: each.executor for each in talk.running.values() if each.stage == 2}
    assert len(second) == 3 and busy not in second.values()
    assert second.items() <= first.items()
    assert talk.finish(2) == {(0,): busy, **first}


def test_merged_groups_compute_nothing_again() -> None:
    rule = CollectionRule(most_group_bytes=1 << 20, least_group_bytes=1 << 19)
    talk = Cluster(collections=rule)
    talk.persist(1)
    talk.submit(member(1))
    places = talk.finish(1)
    assert talk.groups() == [(0, 8)]
    # What is kept is read where it is, ...
    talk.submit(member(1), id=1)
    assert talk.finish() == places
    # ... and the next RDD is loaded by one task.
    talk.submit(member(2), id=2)
    assert list(talk.finish()) == [tuple(range(8))]


def test_what_waited_in_vain_goes_to_the_least_contended_executor() -> None:
    talk = Cluster(partitions=4, groups=4, locality_wait_s=0.5)
    talk.persist(1)
    talk.submit(member(1, 4), partitions=(0, 1, 2))
    places = talk.finish(1)
    [empty] = {0, 1, 2, 3} - set(places.values())
    # Two tasks of one partition: the second finds its executor busy.
    talk.submit(member(1, 4), id=1, partitions=(0,))
    talk.submit(member(3, 4), id=2, partitions=(0,))
    assert len(talk.running) == 1
    timers = of_type(talk.log, do.SetTimer)
    answer = talk.tell(ev.TimerFired(timers[-1].timer), at_s=timers[-1].at_s)
    assert launched(answer) == [(3, 0, empty)]


def test_the_set_shrinks_with_unpersist_and_death() -> None:
    talk = Cluster()
    talk.persist(1)
    talk.submit(member(1))
    places = talk.finish(1)
    [collection] = talk.scheduler.collections
    asked = talk.tell(ev.CollectionsAsked(1))
    [report] = of_type(asked, do.TellCollections)[0].report
    assert {(each.first, each.last): each.executors for each in report.groups} == {
        (group[0], group[-1]): (executor,) for group, executor in places.items()
    }
    assert [each.bytes for each in report.groups] == [200] * 4 and report.rdds == (10,)
    talk.lose(places[0, 1])
    [report] = of_type(talk.tell(ev.CollectionsAsked(2)), do.TellCollections)[0].report
    assert report.groups[0].executors == ()
    talk.tell(ev.RddForgotten(RddId(10)))
    assert not any(talk.scheduler.collections.counts().values())
    assert not collection.members


def test_groups_split_and_merge_by_what_is_kept() -> None:
    rule = CollectionRule(most_group_bytes=300, least_group_bytes=150)
    talk = Cluster(collections=rule)
    for id in (1, 2):
        talk.persist(id)
        talk.submit(member(id), id=id)
        talk.finish(id)
    # Each group has two partitions of two RDDs: 400 bytes.
    assert talk.groups() == [(index, index + 1) for index in range(8)]
    told = of_type(talk.log, do.GroupsResized)
    assert [each.bytes for each in told] == [400] * 4 and {each.version for each in told} == {1}
    # Tasks are single partitions now; running stages keep their groups.
    talk.submit(member(3), id=3)
    assert {len(each.partitions) for each in talk.running.values()} == {1}
    talk.finish()
    talk.tell(ev.RddForgotten(RddId(10)))
    talk.tell(ev.RddForgotten(RddId(20)))
    talk.persist(4)
    talk.submit(member(4), id=4)
    talk.finish(4, size=1)
    assert talk.groups() == [(0, 8)]
    log = len(talk.log)
    talk.tell(ev.RddReported(RddId(40)))
    assert of_type(talk.log[log:], do.GroupsResized) == []


def test_only_the_last_rdds_count() -> None:
    rule = CollectionRule(most_group_bytes=250, least_group_bytes=0, last_rdds=1)
    talk = Cluster(collections=rule)
    for id in (1, 2, 3):
        talk.persist(id)
        talk.submit(member(id), id=id)
        talk.finish(id)
    assert len(talk.groups()) == 4


def test_without_reports_groups_stay_until_the_user_asks() -> None:
    rule = CollectionRule(report=False, most_group_bytes=100, least_group_bytes=0)
    talk = Cluster(collections=rule)
    talk.persist(1)
    talk.submit(member(1))
    talk.finish(1)
    assert len(talk.groups()) == 4
    talk.tell(ev.RddReported(RddId(10)))
    assert len(talk.groups()) == 8


def test_a_split_leaves_one_executor_the_heavier_half_and_computes_nothing_again() -> None:
    rule = CollectionRule(most_group_bytes=300, least_group_bytes=0)
    talk = Cluster(partitions=4, groups=1, collections=rule)
    talk.persist(1)
    talk.submit(member(1, 4))
    [where] = talk.finish(1).values()
    assert talk.groups() == [(0, 2), (2, 4)]
    # The kept rows are read where they are...
    talk.submit(member(1, 4), id=1)
    assert set(talk.finish().values()) == {where}
    # ... and another RDD is loaded at two executors.
    talk.submit(member(2, 4), id=2)
    assert len(set(talk.finish().values())) == 2


def test_a_query_of_old_rows_takes_back_nothing_that_a_split_ceded() -> None:
    rule = CollectionRule(most_group_bytes=300, least_group_bytes=0, report=False)
    talk = Cluster(partitions=4, groups=1, collections=rule, locality_wait_s=10.0)
    for id in (4, 1):
        talk.persist(id)
        talk.submit(member(id, 4), id=id)
        [old] = talk.finish(id, size=50).values()
    talk.tell(ev.RddReported(RddId(10)))
    assert talk.groups() == [(0, 2), (2, 4)]
    talk.persist(2)
    talk.submit(member(2, 4), id=2)
    loading = {each.partitions: (a, each.executor) for a, each in talk.running.items()}
    new = loading[2, 3][1]
    assert loading[0, 1][1] == old != new
    # The executor of the old rows is free before the other half is loaded.
    kept = tuple(ev.Stored(Partition(RddId(20), each), (), 100) for each in (0, 1))
    talk.succeed(loading[0, 1][0], kept=ev.KeptNews(kept))
    answer = talk.submit(member(1, 4), id=5, partitions=(2, 3))
    assert launched(answer) == [(1, 2, old)]
    assert of_type(answer, do.PartitionsStarted) == []
    talk.finish(2)
    talk.persist(3)
    talk.submit(member(3, 4), id=3)
    assert talk.finish(3) == {(0, 1): old, (2, 3): new}


def test_a_namespace_without_groups_never_splits() -> None:
    rule = CollectionRule(most_group_bytes=1, least_group_bytes=0)
    talk = Cluster(partitions=4, groups=4, extendable=False, collections=rule)
    talk.persist(1)
    talk.submit(member(1, 4))
    talk.finish(1)
    assert len(talk.groups()) == 4


def test_a_dropped_namespace_is_forgotten_with_its_stages_under_way() -> None:
    talk = Cluster()
    talk.persist(1)
    talk.submit(member(1))
    talk.tell(ev.NamespaceDropped(HOURS))
    talk.finish(1)
    assert talk.ended() == {0: None} and not talk.scheduler.collections
    talk.submit(member(2), id=1)
    assert {len(each.partitions) for each in talk.running.values()} == {1}


def test_the_journal_restores_all() -> None:
    rule = CollectionRule(most_group_bytes=300, least_group_bytes=0)
    talk = Cluster(partitions=4, groups=1, collections=rule)
    talk.persist(1)
    talk.submit(member(1, 4))
    talk.finish(1)
    other = pickle.loads(pickle.dumps(talk.scheduler.collections))
    [before], [after] = list(talk.scheduler.collections), list(other)
    assert before.tree.groups() == after.tree.groups() == [(0, 2), (2, 4)]
    assert (before.homes, before.ceded, before.members) == (after.homes, after.ceded, after.members)
    assert other.counts() == talk.scheduler.collections.counts()


def test_the_story_says_where_partitions_start_and_who_gets_the_halves_of_a_group() -> None:
    rule = CollectionRule(most_group_bytes=300, least_group_bytes=0)
    talk = Cluster(partitions=4, groups=2, collections=rule)
    talk.persist(1)
    talk.submit(member(1, 4))
    told = of_type(talk.log, do.PartitionsStarted)
    assert [each.partitions for each in told] == [(0, 1), (2, 3)]
    assert [each.contention for each in told] == [0, 0]
    assert len({each.executor for each in told}) == 2
    places = talk.finish(1, size=200)
    one, two = places[0, 1], places[2, 3]
    resized = of_type(talk.log, do.GroupsResized)
    assert [each.after for each in resized] == [((0, 1), (1, 2)), ((2, 3), (3, 4))]
    assert [each.executors for each in resized] == [((one,), ()), ((two,), ())]
    # What nobody holds now starts at those with the fewest partitions.
    log = len(talk.log)
    talk.persist(2)
    talk.submit(member(2, 4), id=1)
    starts = of_type(talk.log[log:], do.PartitionsStarted)
    assert {index for each in starts for index in each.partitions} == {1, 3}
    assert not {each.executor for each in starts} & {one, two}
    assert [each.contention for each in starts] == [0, 0]
