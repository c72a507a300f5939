"""Arrays that lie beside the pickle: which of them a task may change, and what it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from pyrite import RDD, SparkContext, StorageLevel
from pyrite.errors import BroadcastDestroyed, TaskFailed
from pyrite.execute.closures import NotSerializable

# Far above the size from which buffers are kept out of the pickle.
VALUES = 100_000


def arrays(sc: SparkContext) -> RDD[Any]:
    return sc.parallelize(range(4), 2).map(lambda n: numpy.full(VALUES, n))


def change(array: Any) -> int:
    array[0] += 1
    return int(array[0])


def on_disk(rdd: RDD[Any], folder: Path) -> RDD[Any]:
    kept = rdd.persist(StorageLevel.DISK_ONLY)
    kept.count()
    return kept


def shuffled(rdd: RDD[Any], folder: Path) -> RDD[Any]:
    return rdd.map(lambda array: (int(array[0]), array)).partitionBy(2).sortByKey().values()


def saved(rdd: RDD[Any], folder: Path) -> RDD[Any]:
    rdd.saveAsPickleFile(str(folder / "saved"))
    return rdd.ctx.pickleFile(str(folder / "saved"))


@pytest.mark.parametrize("way", [on_disk, shuffled, saved])
def test_rows_can_be_changed_whichever_way_they_came(
    sc: SparkContext, tmp_path: Path, way: Callable[[RDD[Any], Path], RDD[Any]]
) -> None:
    rows = way(arrays(sc), tmp_path)
    assert sorted(rows.map(change).collect()) == [1, 2, 3, 4]
    assert sorted(rows.map(change).collect()) == [1, 2, 3, 4]


def test_collected_arrays_can_be_changed(sc: SparkContext) -> None:
    assert [change(array) for array in arrays(sc).collect()] == [1, 2, 3, 4]


def test_a_task_that_changes_a_broadcast_array_is_told_to_copy_it(sc: SparkContext) -> None:
    held = sc.broadcast(numpy.zeros(VALUES))
    with pytest.raises(TaskFailed, match=r"read-only; large arrays of a broadcast .* copy"):
        sc.parallelize([1], 1).map(lambda _: change(held.value)).collect()
    assert sc.parallelize([1], 1).map(lambda _: change(held.value.copy())).collect() == [1]


def test_what_a_broadcast_holds_beside_arrays_can_be_changed(sc: SparkContext) -> None:
    held = sc.broadcast({"rows": [0] * VALUES})
    assert sc.parallelize([1], 1).map(lambda _: change(held.value["rows"])).collect() == [1]
    assert held.value["rows"][0] == 0


def test_a_destroyed_broadcast_says_what_to_do(sc: SparkContext) -> None:
    held = sc.broadcast([1])
    held.destroy()
    with pytest.raises(BroadcastDestroyed, match="Broadcast the value again"):
        _ = held.value
    with pytest.raises(NotSerializable, match=r"was destroyed") as caught:
        sc.parallelize([1], 1).map(lambda _: held.value).collect()
    assert caught.value.variable == "held"
    assert "Broadcast the value again" in str(caught.value)
    assert "inside the task" not in str(caught.value)
