"""A model as a class whose instances travel to the tasks."""

import numpy as np

from pyspark import SparkContext


class Model(object):
    def __init__(self, size):
        self.weights = np.zeros(size)

    def predict(self, x):
        return float(self.weights.dot(x))

    def gradient(self, point):
        x, y = point
        return (self.predict(x) - y) * x

    def fit(self, data, rounds, rate):
        n = data.count()
        for _ in range(rounds):
            self.weights = self.weights - rate / n * data.map(self.gradient).sum()
        return self


sc = SparkContext("local[2]", "model")
rng = np.random.RandomState(3)
xs = rng.rand(50, 3)
points = [(x, float(x.dot([1.0, -2.0, 0.5]))) for x in xs]
model = Model(3).fit(sc.parallelize(points, 2).cache(), 20, 0.8)
print(" ".join("%.5f" % w for w in model.weights))
print("%.6f" % sc.parallelize(points).map(lambda p: (model.predict(p[0]) - p[1]) ** 2).mean())
