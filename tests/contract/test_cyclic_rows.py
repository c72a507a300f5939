"""Rows that refer to themselves are garbage only for the collector, and still go under pressure."""

from typing import Any

import pytest

from pyrite import SparkConf, SparkContext

KIBIBYTE = 1 << 10
ROWS = 40_000


class Ring:
    """A row that no count of references frees."""

    def __init__(self, number: int, size: int) -> None:
        self.me = self
        self.number = number
        self.held = b"x" * size


@pytest.fixture
def sc() -> Any:
    conf = SparkConf().setMaster("local[1]").set("spark.executor.memory", "128m")
    with SparkContext(conf=conf) as context:
        yield context


@pytest.mark.parametrize("size", [100, 2 * KIBIBYTE])
def test_rings_are_freed_while_a_task_runs(sc: Any, size: int) -> None:
    rings = sc.range(ROWS * 8).map(lambda n: Ring(n, size))
    assert rings.map(lambda ring: ring.number & 1).sum() == rings.count() // 2


def test_rings_are_freed_before_an_aggregation_spills(sc: Any) -> None:
    pairs = sc.range(ROWS).map(lambda n: (Ring(n, 6 * KIBIBYTE).number % 10, 1))
    assert sorted(pairs.reduceByKey(lambda a, b: a + b).collect()) == [
        (key, ROWS // 10) for key in range(10)
    ]
