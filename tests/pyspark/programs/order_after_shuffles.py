"""Prints rows as they come out of shuffles by numbers, without sorting them."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "order")
rdd = sc.parallelize([(i % 7, i) for i in range(30)], 3)
print(rdd.reduceByKey(lambda a, b: a + b).collect())
print(rdd.groupByKey().mapValues(list).collect())
print(rdd.groupByKey(2).mapValues(sum).collect())
print(rdd.distinct().count(), sc.parallelize([5, 3, 5, 1, 3, 8]).distinct().collect())
print(rdd.join(sc.parallelize([(k, str(k)) for k in range(0, 7, 2)])).collect()[:8])
print(rdd.countByKey())
print(sc.parallelize(range(20), 4).repartition(2).glom().map(sorted).collect() != [])
print(sc.parallelize(range(20), 4).coalesce(2).glom().collect())
print(rdd.aggregateByKey(0, lambda a, b: a + 1, lambda a, b: a + b).collect())
