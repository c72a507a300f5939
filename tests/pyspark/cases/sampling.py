"""Samples with fixed seeds: the very records."""

import sys

from tests.pyspark.registry import case, outcome


@case("sample")
def sample_without_replacement(sc):
    return sc.parallelize(range(100), 4).sample(False, 0.1, 81).glom().collect()


@case("sample")
def sample_with_replacement(sc):
    return sc.parallelize(range(20), 3).sample(withReplacement=True, fraction=1.5, seed=7).collect()


@case("sample")
def sample_with_replacement_of_a_large_fraction(sc):
    return sc.parallelize(range(5), 2).sample(True, 10.0, 3).countByValue()[2]


@case("sample")
def sample_of_nothing_and_everything(sc):
    rdd = sc.parallelize(range(5), 2)
    return (
        rdd.sample(False, 0.0, 1).collect(),
        rdd.sample(False, 1.0, 1).collect(),
        rdd.sample(True, 0.0, 1).collect(),
    )


@case("sample")
def sample_of_more_than_everything(sc):
    return outcome(lambda: sc.parallelize(range(5), 2).sample(False, 2.0, 1), lambda r: r.collect())


@case("sample")
def sample_of_a_negative_fraction(sc):
    rdd = sc.parallelize(range(5), 2)
    return (
        outcome(lambda: rdd.sample(False, -0.1)),
        outcome(lambda: rdd.sample(False, float("nan"))),
    )


@case("sample")
def sample_without_a_seed_stays_the_same(sc):
    rdd = sc.parallelize(range(1000), 2).sample(False, 0.5)
    return rdd.collect() == rdd.collect()


@case("sample")
def sample_with_large_and_negative_seeds(sc):
    rdd = sc.parallelize(range(30), 2)
    return rdd.sample(False, 0.2, 2**40).collect(), rdd.sample(False, 0.2, -3).collect()


@case("sample")
def sample_keeps_the_partitioner(sc):
    rdd = sc.parallelize([(n, n) for n in range(6)], 2).partitionBy(3)
    return rdd.sample(False, 0.5, 1).partitioner == rdd.partitioner


@case("takeSample")
def take_sample_without_replacement(sc):
    return sc.parallelize(range(10), 2).takeSample(False, 5, 2)


@case("takeSample")
def take_sample_with_replacement(sc):
    return sc.parallelize(range(10), 2).takeSample(withReplacement=True, num=20, seed=1)


@case("takeSample")
def take_sample_of_more_than_there_are(sc):
    return sc.parallelize(range(10), 2).takeSample(False, 15, 3)


@case("takeSample")
def take_sample_of_nothing(sc):
    return (
        sc.emptyRDD().takeSample(False, 2, 1),
        sc.parallelize([], 2).takeSample(True, 2, 1),
        sc.parallelize([1], 1).takeSample(False, 0, 1),
    )


@case("takeSample")
def take_sample_of_a_wrong_size(sc):
    rdd = sc.parallelize(range(10), 2)
    return outcome(lambda: rdd.takeSample(False, -1)), outcome(
        lambda: rdd.takeSample(False, sys.maxsize)
    )


@case("takeSample")
def take_sample_of_a_few_of_many(sc):
    return sc.parallelize(range(1000), 3).takeSample(False, 4, 42)


@case("takeSample")
def take_sample_with_replacement_of_a_few(sc):
    return sc.parallelize(range(1000), 3).takeSample(True, 4, 42)


@case("takeSample")
def take_sample_without_a_seed(sc):
    taken = sc.parallelize(range(100), 2).takeSample(False, 30)
    return len(taken), len(set(taken))


@case("randomSplit")
def random_split_by_weights(sc):
    first, second = sc.parallelize(range(20), 2).randomSplit([2, 3], 17)
    return first.glom().collect(), second.glom().collect()


@case("randomSplit")
def random_split_into_three(sc):
    parts = sc.parallelize(range(30), 3).randomSplit(weights=[0.2, 0.5, 0.3], seed=11)
    return [part.collect() for part in parts]


@case("randomSplit")
def random_split_loses_nothing(sc):
    parts = sc.parallelize(range(100), 4).randomSplit([1, 1, 1])
    return sorted(row for part in parts for row in part.collect()) == list(range(100))


@case("randomSplit")
def random_split_by_zero_weight(sc):
    parts = sc.parallelize(range(10), 2).randomSplit([0, 1], 5)
    return [part.collect() for part in parts]


@case("randomSplit")
def random_split_by_wrong_weights(sc):
    rdd = sc.parallelize(range(10), 2)
    return [
        outcome(lambda: rdd.randomSplit([-1, 2])),
        outcome(lambda: rdd.randomSplit([0, 0])),
        outcome(lambda: rdd.randomSplit([])),
    ]


@case("sampleByKey")
def sample_by_key(sc):
    rdd = sc.parallelize([(key, n) for key in "ab" for n in range(20)], 2)
    return rdd.sampleByKey(False, {"a": 0.2, "b": 0.1}, 2).collect()


@case("sampleByKey")
def sample_by_key_with_replacement(sc):
    rdd = sc.parallelize([(n % 2, n) for n in range(20)], 2)
    return rdd.sampleByKey(withReplacement=True, fractions={0: 1.5, 1: 0.2}, seed=3).collect()


@case("sampleByKey")
def sample_by_key_needs_every_fraction(sc):
    rdd = sc.parallelize([("a", 1), ("b", 2)], 1)
    return (
        outcome(lambda: rdd.sampleByKey(False, {"a": 1.0}, 1), lambda r: r.collect()),
        outcome(lambda: rdd.sampleByKey(False, {"a": -1.0}, 1)),
    )
