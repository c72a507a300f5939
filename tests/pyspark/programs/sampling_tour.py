"""Samples with seeds, which are the same everywhere."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "sampling")
rdd = sc.parallelize(range(100), 4)
print(rdd.sample(False, 0.1, 81).collect())
print(rdd.sample(True, 0.1, 7).collect())
print(rdd.takeSample(False, 5, 3))
print(len(rdd.takeSample(True, 120, 1)), rdd.takeSample(False, 200, 1) != rdd.collect())
train, test = rdd.randomSplit([0.8, 0.2], seed=42)
print(train.count(), test.collect())
fractions = {"a": 0.2, "b": 0.6}
keyed = sc.parallelize([("a" if i % 3 else "b", i) for i in range(60)], 3)
print(sorted(keyed.sampleByKey(False, fractions, 11).collect()))
