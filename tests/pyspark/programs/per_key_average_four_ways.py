"""The same averages with groupByKey, reduceByKey, aggregateByKey and foldByKey."""

from pyspark import SparkContext

sc = SparkContext.getOrCreate()
scores = [("alice", 80), ("bob", 91), ("alice", 70), ("carol", 55), ("bob", 64), ("alice", 99)]
rdd = sc.parallelize(scores, 3)

by_group = rdd.groupByKey().mapValues(lambda vs: sum(vs) / len(vs))
by_reduce = (
    rdd.mapValues(lambda v: (v, 1))
    .reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1]))
    .mapValues(lambda p: p[0] / p[1])
)
by_aggregate = rdd.aggregateByKey(
    (0, 0), lambda a, v: (a[0] + v, a[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1])
)
sums = rdd.foldByKey(0, lambda a, b: a + b)
print(by_group.sortByKey().collect())
print(by_reduce.sortByKey().collect() == by_group.sortByKey().collect())
print(sorted(by_aggregate.collect()))
print(dict(sorted(sums.collect())))
