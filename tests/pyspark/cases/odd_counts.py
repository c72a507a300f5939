"""Numbers of partitions, rows and levels that make no sense, or only just."""

from operator import add

from tests.pyspark.registry import outcome
from tests.pyspark.tables import add_programs

COUNTS = {
    "zero": lambda: 0,
    "negative": lambda: -1,
    "many": lambda: 17,
    "fraction": lambda: 2.5,
    "text": lambda: "2",
    "none": lambda: None,
    "true": lambda: True,
}
HUGE = {"huge": lambda: 2**70}


def numbers(sc):
    return sc.parallelize([3, 1, 2, 3, 0], 3)


def pairs(sc):
    return sc.parallelize([(3, "a"), (1, "b"), (3, "c"), (0, "d")], 3)


def laid(rdd):
    """How many partitions, and their rows in any order."""
    return rdd.getNumPartitions(), [sorted(part, key=repr) for part in rdd.glom().collect()]


def groups(rdd):
    return laid(rdd.mapValues(lambda held: sorted(held)))


PARTITIONS = {
    "parallelize": lambda sc, folder, n: laid(sc.parallelize([3, 1, 2], n)),
    "parallelize_nothing": lambda sc, folder, n: laid(sc.parallelize([], n)),
    "range": lambda sc, folder, n: laid(sc.range(5, numSlices=n)),
    "coalesce": lambda sc, folder, n: laid(numbers(sc).coalesce(n)),
    "coalesce_by_shuffle": lambda sc, folder, n: numbers(sc).coalesce(n, True).getNumPartitions(),
    "repartition": lambda sc, folder, n: sorted(numbers(sc).repartition(n).collect()),
    "partitionBy": lambda sc, folder, n: laid(pairs(sc).partitionBy(n)),
    "distinct": lambda sc, folder, n: laid(numbers(sc).distinct(n)),
    "groupByKey": lambda sc, folder, n: groups(pairs(sc).groupByKey(n)),
    "reduceByKey": lambda sc, folder, n: laid(pairs(sc).reduceByKey(max, n)),
    "join": lambda sc, folder, n: laid(pairs(sc).join(pairs(sc), n)),
    "subtract": lambda sc, folder, n: laid(numbers(sc).subtract(sc.parallelize([3]), n)),
    "sortBy": lambda sc, folder, n: laid(numbers(sc).sortBy(lambda x: -x, True, n)),
    "sortByKey": lambda sc, folder, n: laid(pairs(sc).sortByKey(False, n)),
    "repartitionAndSortWithinPartitions": lambda sc, folder, n: laid(
        pairs(sc).repartitionAndSortWithinPartitions(n)
    ),
}
ROWS = {
    "take": lambda sc, folder, n: numbers(sc).take(n),
    "top": lambda sc, folder, n: numbers(sc).top(n),
    "takeOrdered": lambda sc, folder, n: numbers(sc).takeOrdered(n),
    "takeSample": lambda sc, folder, n: numbers(sc).takeSample(False, n, 3),
    "takeSample_with_replacement": lambda sc, folder, n: numbers(sc).takeSample(True, n, 3),
    "treeReduce": lambda sc, folder, n: numbers(sc).treeReduce(add, n),
    "treeAggregate": lambda sc, folder, n: numbers(sc).treeAggregate(10, add, add, n),
    "histogram": lambda sc, folder, n: numbers(sc).histogram(n),
    "countApproxDistinct": lambda sc, folder, n: numbers(sc).countApproxDistinct(n),
    "sample": lambda sc, folder, n: numbers(sc).sample(False, n, 3).collect(),
    "sample_with_replacement": lambda sc, folder, n: numbers(sc).sample(True, n, 3).collect(),
    "sample_seed": lambda sc, folder, n: numbers(sc).sample(False, 0.5, n or 0).collect(),
    "randomSplit": lambda sc, folder, n: [
        part.collect() for part in numbers(sc).randomSplit([1, n], 3)
    ],
    "lookup": lambda sc, folder, n: pairs(sc).lookup(n),
    "range_end": lambda sc, folder, n: sc.range(n).count(),
    "range_step": lambda sc, folder, n: sc.range(0, 5, n).collect(),
    "runJob": lambda sc, folder, n: outcome(lambda: sc.runJob(numbers(sc), list, [n])),
}

BOUNDED = ("take", "top", "takeOrdered", "treeReduce", "lookup", "sample_seed")

add_programs("odd_counts", PARTITIONS, COUNTS)
add_programs("odd_counts", ROWS, COUNTS)
# Others would go on for as long.
add_programs("odd_counts", {name: ROWS[name] for name in BOUNDED}, HUGE)
