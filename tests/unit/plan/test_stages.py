"""What a stage that is cut says of the shuffle it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sampled_rows import rows_by_samples

from pyrite import SparkContext
from pyrite.conf import SparkConf
from pyrite.place.predict import Sample
from pyrite.plan.stages import StageSpec
from pyrite.rdd import RDD
from pyrite.rdd.dependency import ShuffleDependency
from pyrite.rdd.functions import gather
from pyrite.rdd.partitioner import RangeFunc


@pytest.fixture(scope="module")
def sc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkContext]:
    folder: Path = tmp_path_factory.mktemp("stages")
    conf = SparkConf(loadDefaults=False).setMaster("local[1]").setAppName("stages")
    context = SparkContext(conf=conf.set("spark.local.dir", str(folder)))
    yield context
    context.stop()


def writer(rdd: RDD[Any]) -> StageSpec:
    """The stage that writes the one shuffle that the RDD reads."""
    engine = rdd.ctx._engine
    last, _ = engine.cutter.result_stage(rdd, engine.freezer.copy(rdd, gather))
    assert (last.routing, last.samples) == (None, None)
    (stage,) = last.parents.values()
    return stage


def pairs(sc: SparkContext) -> RDD[tuple[int, str]]:
    return sc.parallelize([(n * 7 % 60, "x") for n in range(60)], 4)


SORTS: list[Callable[[RDD[Any]], RDD[Any]]] = [
    lambda rdd: rdd.sortByKey(numPartitions=3),
    lambda rdd: rdd.sortByKey(False, 3, lambda key: -key),
    lambda rdd: rdd.sortBy(lambda row: row[0], numPartitions=3),
    lambda rdd: rdd.sortBy(lambda row: -row[0], False, 3),
]


@pytest.mark.parametrize("sort", SORTS)
def test_a_sort_has_a_sample_of_each_map_partition(
    sc: SparkContext, sort: Callable[[RDD[Any]], RDD[Any]]
) -> None:
    done = sort(pairs(sc))
    stage = writer(done)
    assert stage.routing == "range"
    assert stage.samples is not None
    assert [each.weight for each in stage.samples] == [15, 15, 15, 15]
    assert (
        rows_by_samples(stage.samples, 3)
        == done.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    )


def test_ranges_that_were_cut_for_another_rdd_tell_nothing(sc: SparkContext) -> None:
    rows = pairs(sc)
    func = rows.sortByKey(numPartitions=3).partitioner.partitionFunc  # type: ignore[union-attr]
    assert writer(rows.partitionBy(3, func)).samples is not None
    other = writer(rows.mapValues(len).partitionBy(3, func))
    assert (other.routing, other.samples) == ("range", None)
    assert writer(rows.partitionBy(2, func)).samples is None
    assert writer(rows.reduceByKey(max, 3, func)).samples is None


def test_samples_of_fewer_partitions_than_there_are_tell_nothing(sc: SparkContext) -> None:
    done = pairs(sc).sortByKey(numPartitions=3)
    func: Any = done.partitioner.partitionFunc  # type: ignore[union-attr]
    func.sampled = func.sampled._replace(samples=func.sampled.samples[1:])
    assert writer(done).samples is None


def test_other_shuffles_say_by_what_they_send(sc: SparkContext) -> None:
    rows = pairs(sc)
    made = [rows.groupByKey(), rows.partitionBy(2, lambda key: key // 30), rows.repartition(3)]
    stages = [writer(each) for each in made]
    assert [each.routing for each in stages] == ["hash", "custom", "place"]
    assert [each.samples for each in stages] == [None, None, None]


def test_samples_are_not_pickled_with_the_stage(sc: SparkContext) -> None:
    func: Any = pairs(sc).sortByKey(numPartitions=3).partitioner.partitionFunc  # type: ignore[union-attr]
    done = pairs(sc).partitionBy(3, func)
    done.count()
    (dependency,) = done.dependencies
    assert isinstance(dependency, ShuffleDependency)
    assert dependency.cut is not None
    closure = b"".join(dependency.cut.program.links)
    assert RangeFunc.__name__.encode() in closure
    assert Sample.__module__.encode() not in closure
