"""Logistic regression by gradient descent over numpy matrices, one per partition."""

from operator import add

import numpy as np

from pyspark.sql import SparkSession

D = 4


def readPointBatch(iterator):
    strs = list(iterator)
    matrix = np.zeros((len(strs), D + 1))
    for i, s in enumerate(strs):
        matrix[i] = np.fromstring(s.replace(",", " "), dtype=np.float32, sep=" ")
    return [matrix]


def gradient(matrix, w):
    Y = matrix[:, 0]
    X = matrix[:, 1:]
    return ((1.0 / (1.0 + np.exp(-Y * X.dot(w))) - 1.0) * Y * X.T).sum(1)


spark = SparkSession.builder.appName("PythonLR").master("local[2]").getOrCreate()
rng = np.random.RandomState(7)
rows = []
for i in range(200):
    y = 1 if i % 2 else -1
    x = rng.normal(0.7 * y, 1.0, D)
    rows.append(",".join([str(y)] + ["%.4f" % v for v in x]))
points = spark.sparkContext.parallelize(rows, 2).mapPartitions(readPointBatch).cache()
w = 2 * np.ones(D) - 1
for i in range(5):
    w -= 0.01 * points.map(lambda m: gradient(m, w)).reduce(add)
print("Final w: " + " ".join("%.6f" % v for v in w))
spark.stop()
