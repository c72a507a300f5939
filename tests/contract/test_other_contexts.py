"""What belongs to a stopped context is never taken for what the next one has by the same ids."""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from marks import wait_until

from pyrite import SparkContext, StorageLevel
from pyrite.errors import ContextStopped, TaskFailed, UserError
from pyrite.execute.closures import NotSerializable

Start = Callable[..., SparkContext]


class Kept:
    """Things of a context, made alike in each, so that their ids are alike."""

    def __init__(self, sc: SparkContext, word: str) -> None:
        self.sc = sc
        self.rows = sc.parallelize([word] * 4, 2).cache()
        self.pairs = self.rows.map(lambda x: (0, x))
        self.grouped = self.pairs.groupByKey(2).mapValues(list)
        self.spread = self.pairs.partitionBy(2).persist(StorageLevel.OFF_HEAP)
        # More than travels with a stage: their rows lie in the pool.
        self.large = sc.parallelize([word * 1000] * 400, 2)
        self.empty = sc.emptyRDD()
        self.broadcast = sc.broadcast([word] * 1000)
        self.accumulator = sc.accumulator(0)
        self.grouped.count(), self.spread.count(), self.large.count()

    def check(self, word: str) -> None:
        """Everything still is what it was."""
        broadcast, accumulator = self.broadcast, self.accumulator
        assert self.rows.collect() == [word] * 4
        assert self.grouped.collect() == [(0, [word] * 4)]
        assert self.spread.values().collect() == [word] * 4
        assert set(self.large.collect()) == {word * 1000}
        assert self.rows.map(lambda x: broadcast.value[0]).collect() == [word] * 4
        before = accumulator.value
        self.rows.foreach(lambda x: accumulator.add(1))
        assert accumulator.value == before + 4


@pytest.fixture
def both(start: Start) -> tuple[Kept, Kept]:
    """The things of a stopped context, and those of the one that runs."""
    old = Kept(start(), "old")
    old.sc.stop()
    return old, Kept(start(), "new")


COMBINED: dict[str, Callable[[Kept, Kept], Any]] = {
    "union": lambda one, two: one.rows.union(two.rows),
    "+": lambda one, two: one.rows + two.rows,
    "union of alike ones": lambda one, two: one.spread.union(two.spread),
    "union with an empty one": lambda one, two: one.rows.union(two.empty),
    "zip": lambda one, two: one.rows.zip(two.rows),
    "cartesian": lambda one, two: one.rows.cartesian(two.large),
    "intersection": lambda one, two: one.rows.intersection(two.rows),
    "subtract": lambda one, two: one.rows.subtract(two.rows),
    "subtractByKey": lambda one, two: one.pairs.subtractByKey(two.pairs),
    "join": lambda one, two: one.pairs.join(two.pairs),
    "join of alike ones": lambda one, two: one.spread.join(two.spread, 2),
    "leftOuterJoin": lambda one, two: one.pairs.leftOuterJoin(two.pairs),
    "rightOuterJoin": lambda one, two: one.pairs.rightOuterJoin(two.pairs),
    "fullOuterJoin": lambda one, two: one.pairs.fullOuterJoin(two.grouped),
    "cogroup": lambda one, two: one.pairs.cogroup(two.pairs),
    "groupWith": lambda one, two: one.pairs.groupWith(one.pairs, two.pairs),
    "sc.union": lambda one, two: one.sc.union([one.rows, two.rows]),
    "sc.union of the other's": lambda one, two: one.sc.union([two.rows]),
    "runJob": lambda one, two: one.sc.runJob(two.rows, list),
}


class TestRdds:
    @pytest.mark.parametrize("how", COMBINED)
    def test_are_refused_beside_another_contexts(self, both: tuple[Kept, Kept], how: str) -> None:
        old, new = both
        with pytest.raises(ContextStopped) as caught:
            COMBINED[how](new, old)
        said = str(caught.value)
        assert f"at {os.path.basename(__file__)}:" in said
        assert "belongs to SparkContext(app=contract" in said and "created at adapters.py:" in said
        assert "which was stopped" in said and "make it again" in said
        with pytest.raises(ContextStopped, match="stopped"):
            COMBINED[how](old, new)
        new.check("new")

    def test_the_culprit_is_named_not_what_was_made_of_it(self, both: tuple[Kept, Kept]) -> None:
        old, new = both
        culprit = old.rows.setName("yesterday's rows")
        for combine in (new.rows.intersection, new.rows.subtract, new.rows.union):
            with pytest.raises(ContextStopped, match=r"^yesterday's rows RDD\[0\] at "):
                combine(culprit)
            with pytest.raises(ContextStopped, match=r"^yesterday's rows RDD\[0\] at "):
                getattr(culprit, combine.__name__)(new.rows)

    def test_are_not_kept_in_the_place_of_anothers(self, both: tuple[Kept, Kept]) -> None:
        old, new = both
        assert old.rows.id() == new.rows.id()
        old.rows.unpersist()
        old.spread.unpersist()
        old.grouped.cache()
        old.grouped.cleanShuffleDependencies()
        new.check("new")
        assert old.rows.getNumPartitions() == 2
        assert b"parallelize" in (old.rows.toDebugString() or b"")

    def test_that_go_take_nothing_of_another_with_them(self, start: Start) -> None:
        old = Kept(start(), "old")
        old.sc.stop()
        new = Kept(start(), "new")
        blocks = new.sc.memory()
        del old
        gc.collect()
        assert new.sc.memory().nodes == blocks.nodes
        new.check("new")


class TestBroadcasts:
    def test_are_refused_in_tasks_by_the_name_of_the_variable(
        self, both: tuple[Kept, Kept]
    ) -> None:
        old, new = both
        names = old.broadcast
        with pytest.raises(NotSerializable) as caught:
            new.rows.map(lambda x: names.value[0]).collect()
        assert caught.value.variable == "names"
        said = str(caught.value)
        assert "broadcast 0 of SparkContext(app=contract" in said and "was stopped" in said
        assert caught.value.cure in said and "again" in caught.value.cure
        with pytest.raises(NotSerializable, match="names"):
            new.pairs.reduceByKey(lambda a, b: names.value[0]).collect()

    def test_can_be_read_in_the_driver(self, both: tuple[Kept, Kept]) -> None:
        old, new = both
        assert old.broadcast.value[0] == "old"
        again = new.sc.broadcast(old.broadcast.value)
        assert new.rows.map(lambda x: again.value[0]).collect() == ["old"] * 4

    def test_that_are_dropped_drop_no_other(self, both: tuple[Kept, Kept]) -> None:
        old, new = both
        assert old.broadcast.id == new.broadcast.id
        old.broadcast.unpersist()
        old.broadcast.destroy()
        new.check("new")

    def test_that_come_by_other_ways_are_refused_too(self, start: Start, tmp_path: Path) -> None:
        old = Kept(start(), "old")
        pickled = pickle.dumps(old.broadcast)
        broadcast = old.broadcast
        old.rows.map(lambda x: broadcast).saveAsPickleFile(str(tmp_path / "rows"))
        old.sc.stop()
        new = Kept(start(), "new")
        new.check("new")
        with pytest.raises(TaskFailed, match="broadcast 0 belongs to another application"):
            new.rows.map(lambda x: pickle.loads(pickled).value[0]).collect()
        with pytest.raises(TaskFailed, match="broadcast 0 belongs to another application"):
            new.sc.pickleFile(str(tmp_path / "rows")).map(lambda b: b.value[0]).collect()
        new.check("new")

    def test_that_came_back_from_a_task_say_so(self, both: tuple[Kept, Kept]) -> None:
        broadcast = both[1].broadcast
        returned = both[1].rows.map(lambda x: broadcast).first()
        with pytest.raises(UserError, match="made for tasks: use what"):
            assert returned.value


def test_accumulators_count_in_any_context_as_pysparks_do(both: tuple[Kept, Kept]) -> None:
    old, new = both
    total, other = old.accumulator, new.accumulator
    new.rows.foreach(lambda x: total.add(1))
    assert (total.value, other.value) == (4, 0)


def test_the_status_tracker_of_a_stopped_context_tells_of_that(start: Start) -> None:
    old = start()
    tracker = old.statusTracker()
    old.setJobGroup("group", "")
    old.parallelize([1], 1).count()
    told = tracker.getJobIdsForGroup("group")
    old.stop()
    new = start()
    new.setJobGroup("group", "")
    new.parallelize([1], 1).count()
    new.parallelize([1], 1).count()
    assert tracker.getJobIdsForGroup("group") == told == [0]
    assert new.statusTracker().getJobIdsForGroup("group") == [0, 1]


def test_an_iterator_of_a_stopped_context_does_not_go_on_in_another(start: Start) -> None:
    old = start()
    rows = old.parallelize(range(10), 5).toLocalIterator(prefetchPartitions=True)
    assert next(rows) == 0
    old.stop()
    new = start()
    new.parallelize(range(100, 110), 5).count()
    with pytest.raises(ContextStopped):
        list(rows)
    del rows
    gc.collect()
    wait_until(lambda: not new._engine.waiters.by_job)
    assert new.parallelize([1, 2], 2).sum() == 3


def test_a_fork_refuses_what_its_parent_had(start: Start) -> None:
    parent = Kept(start(), "old")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = []
        try:
            child = Kept(SparkContext("local[1]", "child"), "new")
            for how in ("union", "join", "runJob"):
                try:
                    COMBINED[how](child, parent)
                except ContextStopped as error:
                    said.append("a fork of it" in str(error))
            names = parent.broadcast
            try:
                child.rows.map(lambda x: names.value).collect()
            except NotSerializable as error:
                said.append("a fork of it" in str(error) and error.variable == "names")
            child.check("new")
            child.sc.stop()
        finally:
            os.write(write, repr(said).encode())
            os._exit(0)
    os.close(write)
    with open(read) as pipe:
        assert pipe.read() == repr([True] * 4)
    os.waitpid(pid, 0)
    parent.check("old")
