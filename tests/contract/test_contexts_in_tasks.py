"""A task makes a context of its own only where it is told to, and then both count apart."""

from __future__ import annotations

import pytest

from pyrite import SparkConf, SparkContext
from pyrite.errors import TaskFailed
from pyrite.pysparkerrors import PySparkRuntimeError


def inner_context(allowed: str) -> SparkContext:
    conf = SparkConf(False).set("spark.executor.allowSparkContext", allowed)
    return SparkContext("local[1]", "inner", conf=conf)


def test_a_context_in_a_task_is_refused(sc: SparkContext) -> None:
    with pytest.raises(TaskFailed) as caught:
        sc.parallelize([1], 1).foreach(lambda _: inner_context("false").stop())
    original = caught.value.original
    assert isinstance(original, PySparkRuntimeError)
    assert original.getCondition() == "CONTEXT_ONLY_VALID_ON_DRIVER"


def test_a_context_in_a_task_may_be_allowed(sc: SparkContext) -> None:
    outer = sc.accumulator(0)

    def count(size: int) -> tuple[int, int]:
        outer.add(1)
        with inner_context("true") as inner:
            total = inner.accumulator(0)
            rows = inner.parallelize(range(size), 2)
            rows.foreach(lambda x: total.add(x))
            return rows.count(), total.value

    assert sc.parallelize([3, 4], 2).map(count).collect() == [(3, 3), (4, 6)]
    assert outer.value == 2
