"""All transformations of pairs of a textbook's table."""

from pyspark import SparkContext

sc = SparkContext("local", "pairs")
rdd = sc.parallelize([(1, 2), (3, 4), (3, 6)])
print(rdd.reduceByKey(lambda x, y: x + y).collect())
print([(k, list(v)) for k, v in rdd.groupByKey().collect()])
print(rdd.mapValues(lambda x: x + 1).collect())
print(rdd.flatMapValues(lambda x: range(x, 6)).collect())
print(rdd.keys().collect(), rdd.values().collect())
print(rdd.sortByKey(ascending=False).collect())
print(rdd.combineByKey(lambda v: [v], lambda c, v: c + [v], lambda a, b: a + b).collect())
print(rdd.filter(lambda kv: kv[1] > 2).collect())
print(rdd.foldByKey(1, lambda a, b: a * b).collect())
print(rdd.groupWith(rdd, rdd).mapValues(lambda vs: [sorted(v) for v in vs]).collect())
print(rdd.reduceByKeyLocally(max))
print(sc.parallelize(["x", "yy", "zz"]).keyBy(len).groupByKey().mapValues(list).collect())
