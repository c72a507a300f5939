"""Blocks of a ring in the pools: found by key, bounded, and gone before anything else."""

from __future__ import annotations

from math import inf
from typing import Any

from conversation import Talk, of_type
from test_key_ranges import NODES, Four, at, keyed

from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import LafRule

LIMIT = 100


class Caching(Four):
    """Four nodes whose pools hold 200 bytes, of which 100 may be input."""

    def __init__(self, **rules: Any) -> None:
        super().__init__(input_cache_bytes=LIMIT, **rules)
        for pool in self.scheduler.storage.ledger.pools.values():
            pool.capacity_bytes = 200
        self.jobs = 0

    def launch(self, key: int) -> do.LaunchTask:
        self.jobs += 1
        self.submit(keyed(self.jobs, key), id=self.jobs)
        return next(reversed(self.running.values()))

    def ask(self, launch: do.LaunchTask, size: int) -> NodeId | None:
        segment = f"e{launch.executor}-{self.now_s:.0f}"
        node = self.node(launch)
        wanted = ev.SpaceWanted(node, launch.executor, segment, size, False, cached=True)
        [answer] = of_type(self.tell(wanted), do.GrantSpace)
        self.asked = BlockRef(node, segment, 0, size)
        place: NodeId | None = answer.place
        return place

    def node(self, launch: do.LaunchTask) -> NodeId:
        executor = self.scheduler.fleet.get(launch.executor)
        assert executor is not None
        return executor.node

    def read(self, key: int, size: int = 40) -> BlockRef:
        """A task reads a block, and leaves it in its node's pool."""
        launch = self.launch(key)
        assert self.ask(launch, size) == self.node(launch)
        self.succeed(launch.attempt, kept=ev.KeptNews(inputs=(ev.InputNews(key, self.asked),)))
        return self.asked

    def found(self, key: int) -> BlockRef | None:
        """Where a task with this key is told to find its block; the task ends at once."""
        launch = self.launch(key)
        [(_, ref)] = launch.cached
        self.succeed(launch.attempt)
        return ref

    def cached(self, node: NodeId = NODES[0]) -> int:
        return self.scheduler.storage.ledger.pools[node].input_bytes


def test_the_next_task_with_the_key_finds_the_block() -> None:
    talk = Caching()
    ref = talk.read(at(2.5))
    assert ref.node == NODES[2]
    assert talk.found(at(2.5)) == ref
    assert talk.found(at(2.6)) is None
    assert talk.scheduler.storage.book.inputs == (1, 2)


def test_an_idle_node_that_has_the_block_is_asked_before_the_one_that_has_the_range() -> None:
    talk = Caching()
    busy, reader = talk.launch(at(0.2)), talk.launch(at(0.5))
    assert talk.ask(reader, 40) == NODES[1]
    ref = talk.asked
    # The first node is free before the second, and so asked before it.
    talk.succeed(busy.attempt)
    talk.succeed(reader.attempt, kept=ev.KeptNews(inputs=(ev.InputNews(at(0.5), ref),)))
    # As many tasks as executors, so that all are asked.
    talk.submit(keyed(9, at(0.5), at(2.5), at(3.2), at(3.5)), id=9)
    [launch] = [each for each in talk.running.values() if each.partitions == (0,)]
    assert (talk.node(launch), launch.cached[0].ref) == (ref.node, ref)
    # The first node has taken what is nearest of the rest.
    assert sorted(map(talk.node, talk.running.values())) == sorted(NODES)


class Writing(Caching):
    """Tasks write blocks that later tasks read."""

    def write(self, launch: do.LaunchTask, key: int, size: int = 40) -> BlockRef | None:
        segment = f"w{launch.executor}-{self.now_s:.0f}"
        node = self.node(launch)
        wanted = ev.SpaceWanted(node, launch.executor, segment, size, False, cached=True, key=key)
        [answer] = of_type(self.tell(wanted), do.GrantSpace)
        return None if answer.place is None else BlockRef(answer.place, segment, 0, size)


def test_what_a_task_writes_lies_on_the_node_of_its_key() -> None:
    talk = Writing()
    launch = talk.launch(at(0.5))
    ref = talk.write(launch, at(2.5))
    assert ref is not None and ref.node == NODES[2] != talk.node(launch)
    talk.succeed(launch.attempt, kept=ev.KeptNews(inputs=(ev.InputNews(at(2.5), ref),)))
    assert talk.cached(NODES[2]) == 40 and talk.cached() == 0
    assert talk.found(at(2.5)) == ref
    # Nobody has lent or borrowed anything.
    assert talk.scheduler.storage.ledger.pools[NODES[0]].borrowed_bytes == 0


def test_an_idle_node_that_is_given_a_block_is_asked_again() -> None:
    strict = Writing(laf=LafRule(0.0, wait_s=inf))
    writer = strict.launch(at(0.5))
    busy = strict.launch(at(1.5))
    ref = strict.write(writer, at(2.5))
    assert ref is not None and ref.node == NODES[2]
    # It waits for the second node, which is busy.
    strict.jobs += 1
    strict.submit(keyed(strict.jobs, at(1.6)), id=strict.jobs)
    assert len(strict.running) == 2
    # A block of that key comes to the third one, which is idle.
    news = ev.KeptNews(inputs=(ev.InputNews(at(1.6), ref),))
    strict.succeed(writer.attempt, kept=news)
    [launch] = [each for each in strict.running.values() if each.attempt != busy.attempt]
    assert strict.node(launch) == NODES[2] and launch.cached[0].ref == ref


def test_what_a_task_writes_lies_on_its_own_node_where_the_keys_has_no_room() -> None:
    talk = Writing()
    talk.tell(ev.SpaceWanted(NODES[2], ExecutorId(2), "output", 180))
    ref = talk.write(talk.launch(at(0.5)), at(2.5))
    assert ref is not None and ref.node == NODES[0]
    talk.tell(ev.NodeLost(NODES[2], "gone"))
    launch = talk.launch(at(0.5))
    assert talk.write(launch, at(2.9), LIMIT + 1) is None


def test_what_a_task_writes_pushes_older_input_out() -> None:
    talk = Writing()
    old = [talk.read(at(2.1)), talk.read(at(2.2))]
    launch = talk.launch(at(0.5))
    ref = talk.write(launch, at(2.5))
    assert ref is not None and ref.node == NODES[2]
    assert dropped(talk) == [old[0].segment]


def test_what_a_failed_task_has_written_goes() -> None:
    talk = Writing()
    launch = talk.launch(at(0.5))
    ref = talk.write(launch, at(2.5))
    assert ref is not None
    talk.fail(launch.attempt)
    assert talk.cached(NODES[2]) == 0 and ref.segment in dropped(talk)


def test_what_was_written_to_a_node_that_is_lost_is_forgotten() -> None:
    talk = Writing()
    launch = talk.launch(at(0.5))
    ref = talk.write(launch, at(2.5))
    assert ref is not None
    talk.tell(ev.NodeLost(NODES[2], "gone"))
    talk.succeed(launch.attempt, kept=ev.KeptNews(inputs=(ev.InputNews(at(2.5), ref),)))
    assert talk.found(at(2.5)) is None


def test_the_least_recently_used_goes_first() -> None:
    talk = Caching()
    first, second = talk.read(at(0.1)), talk.read(at(0.2))
    assert talk.found(at(0.1)) == first
    third = talk.read(at(0.3))
    assert talk.cached() == 80
    assert talk.found(at(0.2)) is None and second.segment in dropped(talk)
    assert talk.found(at(0.1)) == first and talk.found(at(0.3)) == third


def test_what_a_task_reads_does_not_go() -> None:
    talk = Caching()
    first = talk.read(at(0.1), 60)
    reader = talk.launch(at(0.1))
    assert reader.cached[0].ref == first
    other = talk.launch(at(0.2))
    assert talk.node(other) != NODES[0] or talk.ask(other, 60) is None
    assert first.segment not in dropped(talk)


def test_a_block_larger_than_the_limit_finds_no_room() -> None:
    talk = Caching()
    assert talk.ask(talk.launch(at(0.1)), LIMIT + 1) is None


def test_input_gives_way_to_everything_else() -> None:
    talk = Caching()
    first, second = talk.read(at(0.1)), talk.read(at(0.2))
    for number, size in enumerate((150, 40)):
        wanted = ev.SpaceWanted(NODES[0], ExecutorId(0), f"output-{number}", size)
        answer = talk.tell(wanted)
        [grant] = of_type(answer, do.GrantSpace)
        assert grant.place == NODES[0]
        # Room is made before it is granted.
        drops = [i for i, each in enumerate(answer) if isinstance(each, do.DropSegments)]
        assert all(index < answer.index(grant) for index in drops)
    assert {first.segment, second.segment} <= set(dropped(talk))
    assert talk.cached() == 0


def test_input_takes_no_room_from_anything_else() -> None:
    talk = Caching()
    talk.tell(ev.RddPersisted(RddId(7)))
    talk.tell(ev.SpaceWanted(NODES[0], ExecutorId(0), "output", 180))
    assert talk.ask(talk.launch(at(0.1)), 40) is None


def test_lost_blocks_and_lost_nodes_are_forgotten() -> None:
    talk = Caching()
    ref = talk.read(at(1.5))
    launch = talk.launch(at(1.5))
    talk.succeed(launch.attempt, kept=ev.KeptNews(inputs=(ev.InputNews(at(1.5), ref, True),)))
    assert talk.found(at(1.5)) is None and ref.segment in dropped(talk)
    again = talk.read(at(1.5))
    talk.tell(ev.NodeLost(again.node, "gone"))
    assert talk.found(at(1.5)) is None


def test_the_same_block_of_two_tasks_is_kept_once() -> None:
    talk = Caching()
    first, second = talk.launch(at(0.1)), talk.launch(at(0.1))
    assert talk.ask(first, 40) is not None
    ref = talk.asked
    talk.succeed(first.attempt, kept=ev.KeptNews(inputs=(ev.InputNews(at(0.1), ref),)))
    assert talk.ask(second, 40) is not None
    other = talk.asked
    talk.succeed(second.attempt, kept=ev.KeptNews(inputs=(ev.InputNews(at(0.1), other),)))
    assert talk.found(at(0.1)) == ref
    assert other.node != ref.node or other.segment in dropped(talk)


def test_a_task_that_fails_leaves_nothing() -> None:
    talk = Caching()
    launch = talk.launch(at(0.1))
    assert talk.ask(launch, 40) is not None
    talk.fail(launch.attempt)
    assert talk.cached() == 0 and talk.asked.segment in dropped(talk)


def test_a_task_goes_where_its_block_is_before_its_range() -> None:
    talk = Caching()
    talk.launch(at(0.1))
    # Its own node is busy: another takes it, and keeps the block.
    stolen = talk.launch(at(0.2))
    assert talk.node(stolen) != NODES[0]
    assert talk.ask(stolen, 40) is not None
    news = ev.KeptNews(inputs=(ev.InputNews(at(0.2), talk.asked),))
    talk.succeed(stolen.attempt, kept=news)
    talk.succeed_all()
    assert talk.node(talk.launch(at(0.2))) == talk.asked.node


def test_another_ranges_block_takes_no_room_from_the_own() -> None:
    talk = Caching()
    for quarter in range(4):
        talk.read(at(quarter + 0.3))
        talk.read(at(quarter + 0.4))
    talk.launch(at(0.1))
    stolen = talk.launch(at(0.2))
    assert talk.node(stolen) != NODES[0] and stolen.cached == ()


def test_idle_executors_leave_what_others_have_in_memory() -> None:
    talk = Caching()
    talk.read(at(0.9))
    talk.launch(at(0.5))
    talk.jobs += 1
    talk.submit(keyed(talk.jobs, at(0.9), at(0.2)), id=talk.jobs, partitions=(0, 1))
    by_key = {each.cached[0].key: each for each in talk.running.values() if each.cached}
    # The first node is busy; its neighbour is nearer to 0.9, which is in the first one's memory.
    took = [each for each in (at(0.9), at(0.2)) if each in by_key]
    assert took


def test_migration_reads_a_neighbours_memory() -> None:
    talk = Caching(laf=LafRule(migrates=True))
    ref = talk.read(at(0.9))
    talk.launch(at(0.5))
    reader = talk.launch(at(0.9))
    assert talk.node(reader) == NODES[1]
    assert reader.cached[0].ref == ref
    other = Caching()
    other.read(at(0.9))
    other.launch(at(0.5))
    assert other.launch(at(0.9)).cached[0].ref is None


def test_without_a_limit_nothing_is_cached() -> None:
    talk = Four()
    assert of_type(talk.submit(keyed(0, at(0.1))), do.LaunchTask)[0].cached == ()


def dropped(talk: Talk) -> list[str]:
    return [name for each in of_type(talk.log, do.DropSegments) for name in each.segments]
