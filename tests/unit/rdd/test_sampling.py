"""Samples have exactly the rows that PySpark 4 gives for the same seed and partitions."""

from itertools import pairwise
from random import Random

import pytest

from pyrite.rdd.sampling import (
    RangeSampler,
    Sampler,
    StratifiedSampler,
    fresh_seed,
    poisson,
)


def cut(rows, number):
    """The partitions that parallelize makes."""
    return [rows[len(rows) * i // number : len(rows) * (i + 1) // number] for i in range(number)]


def run(sampler, rows, number):
    parts = enumerate(cut(list(rows), number))
    return [row for index, part in parts for row in sampler(index, iter(part))]


def test_without_replacement():
    assert run(Sampler(False, 0.1, 42), range(100), 4) == (
        [0, 3, 10, 17, 18, 31, 42, 45, 48, 52, 56, 66, 84, 86, 98]
    )


def test_with_replacement():
    assert run(Sampler(True, 0.2, 42), range(100), 4) == (
        [15, 18, 22, 24, 27, 27, 34, 36, 46, 55, 63, 65, 76, 86, 93, 94, 99]
    )


def test_with_replacement_and_a_large_mean():
    rows = run(Sampler(True, 25.0, 7), range(3), 2)
    assert [rows.count(row) for row in range(3)] == [34, 27, 27]


def test_by_key_without_replacement():
    pairs = [(i % 3, i) for i in range(60)]
    found = run(StratifiedSampler(False, {0: 0.2, 1: 0.5, 2: 0}, 5), pairs, 3)
    values = [1, 6, 10, 13, 15, 18, 19, 25, 28, 30, 34, 40, 49, 51, 52, 54, 55]
    assert found == [(value % 3, value) for value in values]


def test_by_key_with_replacement():
    pairs = [(i % 3, i) for i in range(60)]
    found = run(StratifiedSampler(True, {0: 0.2, 1: 0.5, 2: 0}, 5), pairs, 3)
    values = [0, 6, 7, 13, 13, 22, 25, 25, 28, 33, 46, 58]
    assert found == [(value % 3, value) for value in values]


def test_a_key_without_a_fraction_fails():
    with pytest.raises(KeyError):
        run(StratifiedSampler(False, {0: 0.2}, 5), [(1, 1)], 1)


def test_ranges_of_one_seed_share_out_the_rows():
    bounds = [0.0, 0.25, 0.75, 1.0]
    assert [run(RangeSampler(*bound, 17), range(20), 3) for bound in pairwise(bounds)] == [
        [6, 7, 18],
        [1, 4, 5, 8, 10, 12, 13, 19],
        [0, 2, 3, 9, 11, 14, 15, 16, 17],
    ]


def test_a_sampler_without_a_seed_keeps_the_one_it_draws():
    sampler = Sampler(False, 0.5)
    assert run(sampler, range(100), 2) == run(sampler, range(100), 2)
    assert fresh_seed() != fresh_seed()


@pytest.mark.parametrize("mean", [0.0, 0.5, 4.0, 19.9, 20.0, 60.0])
def test_poisson_draws_have_their_mean(mean):
    draw = poisson(Random(1), mean)
    draws = [draw() for _ in range(2000)]
    assert sum(draws) / len(draws) == pytest.approx(mean, rel=0.1)
