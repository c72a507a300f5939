import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.rdd.approximate import BoundedFloat, DistinctSketch


def test_a_bounded_float_is_a_number_with_bounds():
    about = BoundedFloat(100.0, 0.95, 95.0, 105.0)
    assert (repr(about), about + 1) == ("100.0", 101.0)
    assert (about.confidence, about.low, about.high) == (0.95, 95.0, 105.0)
    copy = pickle.loads(pickle.dumps(about))
    assert (copy, copy.low, copy.high, copy.confidence) == (100.0, 95.0, 105.0, 0.95)


@pytest.mark.parametrize("relative_sd", [0.00001, 0, -1])
def test_too_much_accuracy_is_refused_as_in_pyspark(relative_sd):
    with pytest.raises(ValueError, match=r"^relativeSD should be greater than 0\.000017$"):
        DistinctSketch(relative_sd)


def test_the_smallest_allowed_relative_sd_costs_nothing_for_few_rows():
    assert DistinctSketch(0.000017).add_all(range(1000)).estimate() == 1000


# Hashes of different types may be equal, as those of 0 and None are.
@given(st.lists(st.integers(0, 2**60), max_size=50) | st.lists(st.text(), max_size=50))
def test_few_rows_are_counted_exactly(rows):
    assert DistinctSketch().add_all(rows).estimate() == len(set(rows))


def test_nothing_counts_as_zero():
    assert DistinctSketch().add_all([]).estimate() == 0


@pytest.mark.parametrize("relative_sd", [0.02, 0.05, 0.2, 0.5, 2.0])
@pytest.mark.parametrize("number", [1100, 5_000, 60_000])
def test_estimates_stay_within_three_deviations(relative_sd, number):
    rows = [i % number for i in range(number + number // 2)]
    estimate = DistinctSketch(relative_sd).add_all(rows).estimate()
    # The coarsest sketch has 16 registers, whatever less is asked for.
    deviation = min(relative_sd, 0.26)
    assert abs(estimate - number) <= 3 * deviation * number


def test_the_error_is_as_promised_on_average():
    squares = []
    for seed in range(40):
        rows = range(seed * 10_000, seed * 10_000 + 5_000)
        squares.append((DistinctSketch(0.1).add_all(rows).estimate() / 5_000 - 1) ** 2)
    assert (sum(squares) / len(squares)) ** 0.5 <= 0.1


@pytest.mark.parametrize(("left", "right"), [(300, 400), (300, 5000), (5000, 300), (5000, 6000)])
def test_merged_sketches_estimate_the_union(left, right):
    merged = DistinctSketch().add_all(range(left)).merge(DistinctSketch().add_all(range(right)))
    whole = DistinctSketch().add_all(range(max(left, right)))
    assert merged.estimate() == whole.estimate()


def test_a_sketch_travels():
    sketch = DistinctSketch().add_all(range(5000))
    assert pickle.loads(pickle.dumps(sketch)).estimate() == sketch.estimate()


def test_sketches_of_different_accuracy_do_not_merge():
    with pytest.raises(AssertionError, match="different accuracy"):
        DistinctSketch(0.05).merge(DistinctSketch(0.01))
