import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.statcounter import StatCounter


# What PySpark 4 prints.
@pytest.mark.parametrize(
    ("counter", "shown"),
    [
        (
            StatCounter([1, 2, 3, 4.5]),
            "(count: 4, mean: 2.625, stdev: 1.2930100540985752, max: 4.5, min: 1.0)",
        ),
        (StatCounter(), "(count: 0, mean: 0.0, stdev: nan, max: -inf, min: inf)"),
        (
            StatCounter(range(100)).mergeStats(StatCounter([1, 2, 3, 4.5])),
            "(count: 104, mean: 47.69711538461539, stdev: 29.707339991512228, max: 99.0, min: 0.0)",
        ),
        (
            StatCounter([1, 2]).mergeStats(StatCounter(range(100, 150))),
            "(count: 52, mean: 119.76923076923077, stdev: 27.56364340702844, max: 149.0, min: 1.0)",
        ),
        (
            StatCounter([0.1 * i for i in range(10)]).mergeStats(StatCounter([0.3, 0.7])),
            "(count: 12, mean: 0.4583333333333333, stdev: 0.2752524094152291, max: 0.9, min: 0.0)",
        ),
        (
            StatCounter([1, float("nan"), 3]),
            "(count: 3, mean: nan, stdev: nan, max: nan, min: nan)",
        ),
        (
            StatCounter().mergeStats(StatCounter([5])),
            "(count: 1, mean: 5.0, stdev: 0.0, max: 5.0, min: 5.0)",
        ),
        (
            StatCounter([True, False]),
            "(count: 2, mean: 0.5, stdev: 0.5, max: 1.0, min: 0.0)",
        ),
        (
            StatCounter([2, numpy.array([1, 5])]),
            "(count: 2, mean: [1.5 3.5], stdev: [0.5 1.5], max: [2. 5.], min: [1. 2.])",
        ),
        (
            StatCounter([numpy.array([1.0, 2.0]), numpy.array([3.0, 1.0])]),
            "(count: 2, mean: [2.  1.5], stdev: [1.  0.5], max: [3. 2.], min: [1. 1.])",
        ),
    ],
)
def test_it_reads_as_pysparks(counter, shown):
    assert repr(counter) == shown


def test_as_dict_has_the_sample_variance_by_default_as_in_pyspark():
    counter = StatCounter([1, 2, 3, 4.5])
    assert counter.asDict() == {
        "count": 4,
        "mean": 2.625,
        "sum": 10.5,
        "min": 1.0,
        "max": 4.5,
        "stdev": 1.4930394055974097,
        "variance": 2.2291666666666665,
    }
    assert counter.asDict(sample=True)["variance"] == 1.671875
    assert counter.asDict(sample=True)["stdev"] == 1.2930100540985752


def test_too_few_numbers_have_no_variance():
    assert math.isnan(StatCounter().variance())
    assert math.isnan(StatCounter([7]).sampleVariance())
    assert math.isnan(StatCounter([7]).sampleStdev())
    assert StatCounter([7]).variance() == 0.0


def test_merging_with_itself_doubles_it():
    counter = StatCounter([1, 2, 6])
    counter.mergeStats(counter)
    assert (counter.count(), counter.mean(), counter.sum()) == (6, 3.0, 18.0)
    assert counter.variance() == StatCounter([1, 2, 6]).variance()


def test_a_copy_goes_its_own_way():
    counter = StatCounter([1])
    copy = counter.copy()
    copy.merge(5)
    assert (counter.count(), copy.count(), copy.max()) == (1, 2, 5.0)


def test_only_counters_merge():
    with pytest.raises(TypeError, match="Can only merge StatCounter but got <class 'int'>"):
        StatCounter().mergeStats(3)


@given(st.lists(st.lists(st.integers(-1000, 1000), max_size=20), max_size=5))
def test_parts_merge_into_the_whole(parts):
    merged = StatCounter()
    for part in parts:
        merged.mergeStats(StatCounter(part))
    whole = StatCounter(value for part in parts for value in part)
    assert (merged.count(), merged.min(), merged.max()) == (whole.count(), whole.min(), whole.max())
    assert merged.mean() == pytest.approx(whole.mean())
    assert merged.variance() == pytest.approx(whole.variance(), nan_ok=True)
