"""Reservoir samples: every row as likely, all rows where there are few, and where they go."""

from __future__ import annotations

from collections import Counter

import pytest

from pyrite import SparkConf, SparkContext
from pyrite.plan.stages import samples_of_maps
from pyrite.rdd.partitioner import Partitioner
from pyrite.rdd.reservoir import draw, sample_parts


def test_few_rows_are_all_drawn() -> None:
    assert draw(10, 0, iter("abc"), str.upper) == (["A", "B", "C"], 3)
    assert draw(0, 0, iter("abc"), str.upper) == ([], 3)


def test_each_row_is_as_likely() -> None:
    drawn: Counter[int] = Counter()
    for index in range(400):
        chosen, count = draw(5, index, iter(range(50)), int)
        assert count == 50 and len(chosen) == len(set(chosen)) == 5
        drawn.update(chosen)
    # 40 times each on average; six deviations from that would be chance once in a billion.
    assert set(drawn) == set(range(50)) and all(4 < times < 76 for times in drawn.values())


def test_a_sample_tells_where_rows_go() -> None:
    rows = [(key, None) for key in range(90)]
    sample = sample_parts(1000, Partitioner(3, lambda key: 0 if key < 60 else key), 0, iter(rows))
    assert sample is not None
    assert (sample.weight, sample.drawn, sample.parts) == (90, 90, ((0, 70), (1, 10), (2, 10)))


def test_a_function_that_fails_gives_no_sample() -> None:
    assert sample_parts(3, Partitioner(2, len), 0, iter([(1, 1)])) is None  # type: ignore[arg-type]
    assert sample_parts(3, Partitioner(2, int), 0, iter([7])) is None


def test_what_fails_before_it_is_no_matter_of_the_sample() -> None:
    with pytest.raises(ZeroDivisionError):
        sample_parts(3, Partitioner(2, int), 0, ((1 // number, 1) for number in (1, 0)))


@pytest.mark.parametrize(("wanted", "known"), [("0", False), ("3", True)])
def test_own_functions_are_sampled_if_that_is_wanted(wanted: str, known: bool) -> None:
    conf = SparkConf(False).setMaster("local[1]").setAppName("samples")
    with SparkContext(conf=conf.set("pyrite.shuffle.samples", wanted)) as sc:
        pairs = sc.parallelize([(key, key) for key in range(60)], 4)
        own = pairs.partitionBy(3, lambda key: key // 50)
        samples = samples_of_maps(own.dependencies[0])  # type: ignore[arg-type]
        assert (samples is not None) is known
        if samples is not None:
            assert [sample.weight for sample in samples] == [15] * 4
        hashed = pairs.partitionBy(3)
        assert samples_of_maps(hashed.dependencies[0]) is None  # type: ignore[arg-type]
        assert own.count() == 60
