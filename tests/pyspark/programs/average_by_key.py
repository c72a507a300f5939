"""Averages by key with combineByKey."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "averages")
data = sc.parallelize([("panda", 0), ("pink", 3), ("pirate", 3), ("panda", 1), ("pink", 4)])
sumCount = data.combineByKey(
    lambda value: (value, 1),
    lambda x, value: (x[0] + value, x[1] + 1),
    lambda x, y: (x[0] + y[0], x[1] + y[1]),
)
averageByKey = sumCount.map(lambda label: (label[0], label[1][0] / label[1][1]))
print(sorted(averageByKey.collectAsMap().items()))
nums = sc.parallelize([1, 2, 3, 4, 5, 6, 7])
total = nums.aggregate(
    (0, 0), lambda acc, v: (acc[0] + v, acc[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1])
)
print(total, total[0] / float(total[1]))
sc.stop()
