"""All actions of a textbook's table, one after another."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "actions")
rdd = sc.parallelize([1, 2, 3, 3])
print(rdd.collect())
print(rdd.count())
print(sorted(rdd.countByValue().items()))
print(rdd.take(2))
print(rdd.top(2))
print(rdd.takeOrdered(2, lambda x: -x))
print(rdd.reduce(lambda x, y: x + y))
print(rdd.fold(0, lambda x, y: x + y))
print(
    rdd.aggregate(
        (0, 0), lambda x, y: (x[0] + y, x[1] + 1), lambda x, y: (x[0] + y[0], x[1] + y[1])
    )
)
print(
    rdd.first(),
    rdd.isEmpty(),
    rdd.sum(),
    rdd.mean(),
    rdd.variance(),
    rdd.stdev(),
    rdd.max(),
    rdd.min(),
)
print(rdd.stats())
print(rdd.sampleVariance(), rdd.sampleStdev())
print(rdd.histogram(2), rdd.histogram([1, 2, 4]))
pairs = sc.parallelize([(1, 2), (3, 4), (3, 6)])
print(sorted(pairs.countByKey().items()), pairs.collectAsMap(), pairs.lookup(3))
print(list(rdd.toLocalIterator()), rdd.getNumPartitions(), rdd.glom().collect())
print(
    rdd.treeReduce(lambda a, b: a + b), rdd.treeAggregate(0, lambda a, b: a + b, lambda a, b: a + b)
)
print(rdd.keyBy(lambda x: x % 2).groupByKey().mapValues(list).sortByKey().collect())
