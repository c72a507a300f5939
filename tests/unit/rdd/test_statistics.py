"""Numbers: sums, moments, and answers from a part of the partitions."""

import math

import pytest
from plain import PlainContext

from pyrite.rdd import BoundedFloat
from pyrite.rdd.estimates import estimate_mean, estimate_sum, student_t
from pyrite.statcounter import StatCounter


def test_sums_are_exact_and_of_nothing_zero(sc: PlainContext) -> None:
    assert sc.parallelize([2**80, 1, -(2**80)], 2).sum() == 1
    assert sc.parallelize([], 2).sum() == 0


def test_moments_do_not_depend_on_partitions(sc: PlainContext) -> None:
    numbers = [1, 2, 3, 7.5, -4]
    one, many = sc.parallelize(numbers, 1).stats(), sc.parallelize(numbers, 7).stats()
    assert many.count() == one.count() == 5
    assert many.variance() == pytest.approx(one.variance())
    assert (many.min(), many.max()) == (-4.0, 7.5)


def test_histogram_is_bound_to_the_rdd(sc: PlainContext) -> None:
    rdd = sc.range(51, 3)
    assert rdd.histogram(2) == ([0, 25, 50], [25, 26])
    assert rdd.histogram([0, 5, 25, 50]) == ([0, 5, 25, 50], [5, 20, 26])


def test_approximate_answers_of_finished_jobs_are_exact(sc: PlainContext) -> None:
    rdd = sc.range(100, 4)
    assert rdd.countApprox(1000) == 100
    total, mean = rdd.sumApprox(1000), rdd.meanApprox(1000)
    assert (total, total.low, total.high, total.confidence) == (4950.0, 4950.0, 4950.0, 1.0)
    assert (mean, mean.low, mean.high, mean.confidence) == (49.5, 49.5, 49.5, 1.0)
    assert sc.emptyRDD().countApprox(10) == 0


def test_distinct_rows_are_counted_over_partitions(sc: PlainContext) -> None:
    assert sc.parallelize([n % 20 for n in range(1000)], 3).countApproxDistinct(0.02) == 20
    with pytest.raises(ValueError, match="relativeSD"):
        sc.emptyRDD().countApproxDistinct(0.00001)


def test_a_sum_is_scaled_from_the_partitions_that_finished() -> None:
    found = estimate_sum([10.0, 12.0, 14.0], 6, 0.95)
    assert found == 72.0
    assert found.low < 72.0 < found.high
    assert found.high - 72.0 == pytest.approx(72.0 - found.low)


def test_more_confidence_takes_wider_bounds() -> None:
    sure, unsure = (estimate_sum([10.0, 12.0, 14.0], 6, level) for level in (0.99, 0.5))
    assert sure.low < unsure.low < unsure.high < sure.high


def test_a_mean_is_bounded_by_its_standard_error() -> None:
    found = estimate_mean([StatCounter([1.0, 2.0]), StatCounter([3.0])], 4, 0.95)
    # Two degrees of freedom, standard error 1 / sqrt(3), quantile 4.3027.
    assert found == 2.0
    assert found.high == pytest.approx(2.0 + 4.3027 / math.sqrt(3), abs=1e-3)


def test_nothing_is_known_when_nothing_finished() -> None:
    for found in (estimate_sum([], 3, 0.95), estimate_mean([], 3, 0.95)):
        assert bounds(found) == (0.0, 0.0, -math.inf, math.inf)


def test_one_value_has_no_bounds() -> None:
    assert bounds(estimate_sum([5.0], 3, 0.95)) == (15.0, 0.95, -math.inf, math.inf)
    assert bounds(estimate_mean([StatCounter([5.0])], 3, 0.95)) == (5.0, 0.95, -math.inf, math.inf)


def bounds(found: BoundedFloat) -> tuple[float, float, float, float]:
    return (float(found), found.confidence, found.low, found.high)


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (10, 2.2281), (100, 1.9840)]
)
def test_quantiles_of_students_distribution(freedom: int, expected: float) -> None:
    assert student_t(0.975, freedom) == pytest.approx(expected, rel=0.03)
