"""The area of a circle by throwing darts, each task with a generator of its own."""

import sys
from random import Random

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("PythonPi").getOrCreate()
partitions = int(sys.argv[1]) if len(sys.argv) > 1 else 2
n = 5000 * partitions


def throw(index, numbers):
    rng = Random(index)
    for _ in numbers:
        x = rng.random() * 2 - 1
        y = rng.random() * 2 - 1
        yield 1 if x**2 + y**2 <= 1 else 0


count = (
    spark.sparkContext.parallelize(range(1, n + 1), partitions)
    .mapPartitionsWithIndex(throw)
    .reduce(lambda a, b: a + b)
)
print("Pi is roughly %f" % (4.0 * count / n))
spark.stop()
