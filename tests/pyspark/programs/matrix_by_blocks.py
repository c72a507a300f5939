"""Matrix times vector with numpy blocks and a broadcast vector."""

import numpy as np

from pyspark import SparkContext

sc = SparkContext(master="local[2]", appName="blocks")
rng = np.random.RandomState(0)
matrix = rng.randint(0, 10, (12, 4))
vector = np.array([1, 2, 3, 4])
b = sc.broadcast(vector)
blocks = sc.parallelize([(i, matrix[i : i + 3]) for i in range(0, 12, 3)], 4)
products = blocks.mapValues(lambda block: block.dot(b.value))
result = np.concatenate([v for _, v in sorted(products.collect(), key=lambda kv: kv[0])])
print(result.tolist())
print(np.array_equal(result, matrix.dot(vector)))
gram = blocks.values().map(lambda m: m.T.dot(m)).reduce(lambda x, y: x + y)
print(gram.tolist())
