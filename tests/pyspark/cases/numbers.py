"""Statistics, histograms and approximate answers."""

import math

from tests.pyspark.api import submodule
from tests.pyspark.registry import case, outcome


def close(value):
    """A number without its last digits, which depend on the order of additions."""
    return float(f"{float(value):.11g}")


@case("sum")
def sum_of_ints_and_floats(sc):
    return (
        sc.parallelize([1, 2, 3], 2).sum(),
        sc.parallelize([1.0, 2.5], 2).sum(),
        sc.parallelize([True, True], 1).sum(),
    )


@case("sum")
def sum_of_nothing(sc):
    return sc.emptyRDD().sum(), sc.parallelize([], 2).sum()


@case("sum")
def sum_of_text_fails(sc):
    return outcome(lambda: sc.parallelize(["a"], 1).sum())


@case("sum")
def sum_of_large_ints_is_exact(sc):
    return sc.parallelize([2**80, 1, -(2**80)], 2).sum()


@case("mean")
def mean_of_numbers(sc):
    return close(sc.parallelize([1, 2, 4], 2).mean()), close(sc.parallelize([5], 3).mean())


@case("variance", "sampleVariance", "stdev", "sampleStdev")
def spread_of_numbers(sc):
    rdd = sc.parallelize([1, 2, 3, 7.5, -4], 3)
    return [
        close(each)
        for each in (rdd.variance(), rdd.sampleVariance(), rdd.stdev(), rdd.sampleStdev())
    ]


@case("variance", "sampleVariance", "stdev", "sampleStdev")
def spread_of_one_number(sc):
    rdd = sc.parallelize([3], 2)
    return [
        close(each)
        for each in (rdd.variance(), rdd.sampleVariance(), rdd.stdev(), rdd.sampleStdev())
    ]


@case("mean", "variance", "stats")
def statistics_of_nothing(sc):
    rdd = sc.parallelize([], 2)
    return [
        outcome(lambda: close(rdd.mean())),
        outcome(lambda: close(rdd.variance())),
        outcome(lambda: close(rdd.sampleStdev())),
        outcome(lambda: close(sc.emptyRDD().mean())),
    ]


@case("stats", "StatCounter")
def stats_fields(sc):
    stats = sc.parallelize([1, 2, 3, 10], 2).stats()
    return (
        type(stats).__name__,
        stats.count(),
        close(stats.mean()),
        close(stats.sum()),
        close(stats.min()),
        close(stats.max()),
        close(stats.stdev()),
        close(stats.variance()),
    )


@case("stats")
def stats_show_themselves(sc):
    return str(sc.parallelize([1, 3], 1).stats()).replace("np.float64", "")


@case("stats")
def stats_of_nothing_show_extremes(sc):
    stats = sc.parallelize([], 2).stats()
    return stats.count(), close(stats.min()), close(stats.max()), math.isnan(stats.variance())


@case("stats")
def stats_with_infinity_and_nan(sc):
    stats = sc.parallelize([1.0, math.inf], 1).stats()
    nan = sc.parallelize([1.0, math.nan], 1).stats()
    return close(stats.max()), close(stats.mean()), close(nan.mean())


@case("StatCounter", context="none")
def stat_counter_by_hand():
    StatCounter = submodule("statcounter").StatCounter
    counter = StatCounter([1, 2])
    merged = counter.merge(9)
    return merged is counter, counter.count(), close(counter.mean()), close(counter.sum())


@case("StatCounter", context="none")
def stat_counter_merges_another():
    StatCounter = submodule("statcounter").StatCounter
    left, right = StatCounter([1, 2, 3]), StatCounter([10.0])
    merged = left.mergeStats(right)
    return merged is left, left.count(), close(left.variance()), close(left.max()), right.count()


@case("StatCounter", context="none")
def stat_counter_merges_itself():
    StatCounter = submodule("statcounter").StatCounter
    counter = StatCounter([1, 2])
    counter.mergeStats(counter)
    return counter.count(), close(counter.sum())


@case("StatCounter", context="none")
def stat_counter_copies():
    StatCounter = submodule("statcounter").StatCounter
    counter = StatCounter([1])
    copied = counter.copy()
    copied.merge(5)
    return counter.count(), copied.count()


@case("StatCounter", context="none")
def stat_counter_as_dict():
    StatCounter = submodule("statcounter").StatCounter
    counter = StatCounter([1, 2, 4])
    plain = {key: close(value) for key, value in counter.asDict().items()}
    sample = {key: close(value) for key, value in counter.asDict(sample=True).items()}
    return plain, sample


@case("StatCounter", context="none")
def stat_counter_rejects_other_objects():
    StatCounter = submodule("statcounter").StatCounter
    return outcome(lambda: StatCounter([1]).mergeStats([2]))


@case("histogram")
def histogram_of_even_buckets(sc):
    rdd = sc.parallelize(range(51), 2)
    return rdd.histogram(2), rdd.histogram(buckets=5), rdd.histogram(1)


@case("histogram")
def histogram_of_given_buckets(sc):
    rdd = sc.parallelize(range(51), 2)
    return (
        rdd.histogram([0, 5, 25, 50]),
        rdd.histogram([0, 15, 30, 45, 60]),
        rdd.histogram((10, 20, 30)),
        rdd.histogram([100, 200]),
    )


@case("histogram")
def histogram_of_text(sc):
    rdd = sc.parallelize(["ab", "ac", "b", "bd", "ef"], 2)
    return rdd.histogram(("a", "b", "c")), outcome(lambda: rdd.histogram(2))


@case("histogram")
def histogram_of_floats(sc):
    rdd = sc.parallelize([0.5, 1.5, 2.5, 9.75], 2)
    return rdd.histogram(3), rdd.histogram([0.0, 1.0, 5.0, 9.75])


@case("histogram")
def histogram_of_equal_numbers(sc):
    return (
        sc.parallelize([7, 7, 7], 2).histogram(3),
        outcome(lambda: sc.parallelize([7], 1).histogram([7, 7])),
    )


@case("histogram")
def histogram_leaves_out_nan_and_none(sc):
    rdd = sc.parallelize([1.0, math.nan, 3.0, None], 2)
    return rdd.histogram([0, 2, 4]), outcome(lambda: rdd.histogram(2))


@case("histogram")
def histogram_of_infinity(sc):
    return outcome(lambda: sc.parallelize([1.0, math.inf], 2).histogram(2))


@case("histogram")
def histogram_of_nothing(sc):
    rdd = sc.parallelize([], 2)
    return outcome(lambda: rdd.histogram(2)), outcome(lambda: rdd.histogram([0, 1]))


@case("histogram")
def histogram_of_wrong_buckets(sc):
    rdd = sc.parallelize(range(10), 2)
    wrong = [0, -1, [], [1], [3, 1], [1, 1, 1], [1, "a"], 2.5, "ab", None]
    return [outcome(lambda: rdd.histogram(buckets)) for buckets in wrong]  # noqa: B023


@case("histogram")
def histogram_of_uneven_buckets_with_unsorted_data(sc):
    rdd = sc.parallelize([9, 1, 5, 3, 3, 7, 100, -2], 3)
    return rdd.histogram([0, 1, 5, 9])


@case("countApprox")
def count_approx_of_a_fast_job(sc):
    return sc.parallelize(range(1000), 4).countApprox(60_000, 1.0)


@case("countApprox")
def count_approx_of_nothing(sc):
    return sc.parallelize([], 2).countApprox(timeout=60_000, confidence=0.9)


@case("sumApprox")
def sum_approx_of_a_fast_job(sc):
    result = sc.parallelize(range(1000), 4).sumApprox(60_000)
    return (
        type(result).__name__,
        isinstance(result, float),
        close(result),
        close(result.low),
        close(result.high),
        float(result.confidence),
    )


@case("meanApprox")
def mean_approx_of_a_fast_job(sc):
    result = sc.parallelize(range(1000), 4).meanApprox(timeout=60_000, confidence=0.9)
    return close(result), type(result).__name__


@case("countApproxDistinct")
def count_approx_distinct_of_ints(sc):
    rdd = sc.parallelize(range(1000), 2)
    twice = rdd.union(rdd)
    return 900 < rdd.map(str).countApproxDistinct() < 1100, 900 < twice.countApproxDistinct() < 1100


@case("countApproxDistinct")
def count_approx_distinct_of_few(sc):
    return sc.parallelize([n % 20 for n in range(1000)], 2).countApproxDistinct(0.02)


@case("countApproxDistinct")
def count_approx_distinct_of_nothing(sc):
    return sc.parallelize([], 2).countApproxDistinct(relativeSD=0.1)


@case("countApproxDistinct")
def count_approx_distinct_of_a_wrong_precision(sc):
    rdd = sc.parallelize([1], 1)
    return (
        outcome(lambda: rdd.countApproxDistinct(0.5)),
        outcome(lambda: rdd.countApproxDistinct(0.00000001)),
        rdd.countApproxDistinct(0.37),
    )
