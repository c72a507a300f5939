"""Checkpoints that bound recovery: chosen by what was measured, written beside jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from marks import Marks

from pyrite import HashPartitioner, SparkContext
from pyrite.errors import Refused
from pyrite.schedule.commands import WriteCheckpoints
from pyrite.schedule.events import CheckpointEnded
from pyrite.settings import BadSetting

Start = Callable[..., SparkContext]


class Orders:
    """Hears which checkpoints are ordered."""

    def __init__(self, sc: SparkContext) -> None:
        self.told: list[WriteCheckpoints] = []
        sc._engine.story.listeners.append(
            lambda _, event, commands: self.told.extend(
                each for each in commands if isinstance(each, WriteCheckpoints)
            )
        )


def settle(sc: SparkContext) -> None:
    """Waits for all writes under way."""
    sc._checkpoints.finish()
    sc.memory()


def states(sc: SparkContext, steps: int) -> list[Any]:
    """A running state, each made of the last one and of new rows (updateStateByKey)."""
    partitioner = HashPartitioner(4)
    made = []
    state = None
    for step in range(steps):
        new = sc.parallelize([(key % 50, step) for key in range(200)], 2)
        rows = new.localityPartitionBy(partitioner, "states")
        if state is not None:
            rows = state.union(rows).reduceByKey(int.__add__, 4)
        state = rows.cache()
        state.count()
        made.append(state)
    return made


def test_an_rdd_that_was_unpersisted_meanwhile_is_not_written(start: Start, tmp_path: Path) -> None:
    sc = start(spark__checkpoint__dir=tmp_path / "checkpoints")
    ended: list[CheckpointEnded] = []
    sc._engine.story.listeners.append(
        lambda _, event, commands: isinstance(event, CheckpointEnded) and ended.append(event)
    )
    rdd = sc.range(10).cache()
    rdd.count()
    rdd.unpersist()
    sc._checkpoints.force_by_id(rdd.id())
    sc.memory()
    assert [(each.rdd, each.is_written, each.reason) for each in ended] == [
        (rdd.id(), False, "it is no longer kept")
    ]
    assert not rdd.isCheckpointed()


def test_a_forced_checkpoint_is_written_from_kept_rows(
    start: Start, tmp_path: Path, marks: Marks
) -> None:
    sc = start(spark__checkpoint__dir=tmp_path / "checkpoints")

    def count(row: Any) -> Any:
        marks.add("computed")
        return row

    rdd = sc.parallelize(range(40), 4).map(count).cache()
    assert rdd.sum() == 780
    rdd.forceCheckpoint()
    rdd.forceCheckpoint()
    settle(sc)
    assert rdd.isCheckpointed() and marks.count("computed") == 40
    child = rdd.map(str)
    rdd.unpersist()
    # It is read from its checkpoint now, by what is made of it too.
    assert rdd.sum() == 780 and child.count() == 40 and marks.count("computed") == 40
    assert rdd.getCheckpointFile() is not None


def test_what_is_not_kept_is_refused(start: Start, tmp_path: Path) -> None:
    sc = start()
    with pytest.raises(Refused, match="setCheckpointDir"):
        sc.parallelize([1]).cache().forceCheckpoint()
    sc.setCheckpointDir(str(tmp_path))
    with pytest.raises(Refused, match="is not kept"):
        sc.parallelize([1]).forceCheckpoint()


def test_a_failed_write_is_logged_and_tried_again(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sc = start(spark__checkpoint__dir=tmp_path / "checkpoints")
    rdd = sc.parallelize(range(4), 2).cache()
    rdd.count()
    folder, sc._checkpoints.folder = sc._checkpoints.folder, str(tmp_path / "file" / "x")
    (tmp_path / "file").write_text("no folder")
    rdd.forceCheckpoint()
    settle(sc)
    assert not rdd.isCheckpointed() and "is tried again" in caplog.text
    sc._checkpoints.folder = folder
    assert rdd.count() == 4
    settle(sc)
    assert rdd.isCheckpointed()


def test_long_lineages_are_cut(start: Start, tmp_path: Path) -> None:
    # Any lineage of several RDDs takes longer than this.
    sc = start(spark__checkpoint__dir=tmp_path, pyrite__recovery__bound="1ms")
    orders = Orders(sc)
    made = states(sc, 4)
    settle(sc)
    assert orders.told and all(each.longest_s > each.bound_s == 0.001 for each in orders.told)
    written = [rdd for rdd in made if rdd.isCheckpointed()]
    assert written
    assert dict(made[-1].collect()) == dict.fromkeys(range(50), 4 * (0 + 1 + 2 + 3))


def test_short_lineages_are_not(start: Start, tmp_path: Path) -> None:
    sc = start(spark__checkpoint__dir=tmp_path, pyrite__recovery__bound="1h")
    orders = Orders(sc)
    made = states(sc, 3)
    assert not orders.told and not any(rdd.isCheckpointed() for rdd in made)


def test_the_delay_of_an_rdd_is_its_own(start: Start, tmp_path: Path) -> None:
    sc = start("local[2]", spark__checkpoint__dir=tmp_path, pyrite__recovery__bound="1h")

    def slowly(row: Any) -> Any:
        import time

        time.sleep(0.05)
        return row

    slow = sc.parallelize(range(4), 2).map(slowly).cache()
    fast = slow.map(str).map(len).cache()
    fast.count()
    delays = sc._engine.scheduler.bound._delays_s
    assert delays[slow.id()] >= 0.1 > delays[fast.id()]


def test_a_bound_needs_a_folder(start: Start, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"spark\.checkpoint\.dir"):
        start(pyrite__recovery__bound="10s")
    with pytest.raises(BadSetting, match="relax"):
        start(
            pyrite__recovery__bound="10s",
            pyrite__recovery__relax="0.5",
            spark__checkpoint__dir=tmp_path,
        )


def test_no_job_waits_for_a_write(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sc = start("local[2]", spark__checkpoint__dir=tmp_path)
    begun, go_on = Event(), Event()
    write = sc._checkpoints._write_folder

    def write_late(*given: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return write(*given)

    monkeypatch.setattr(sc._checkpoints, "_write_folder", write_late)
    rdd = sc.parallelize(range(4), 2).cache()
    rdd.count()
    rdd.forceCheckpoint()
    assert begun.wait(60)
    assert rdd.map(str).count() == 4 and not rdd.isCheckpointed()
    go_on.set()
    settle(sc)
    assert rdd.isCheckpointed()
