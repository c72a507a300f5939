"""k-means on tuples, without numpy."""

import random

from pyspark import SparkContext


def closest(point, centers):
    best, best_distance = 0, float("+inf")
    for i, center in enumerate(centers):
        distance = sum((a - b) ** 2 for a, b in zip(point, center))
        if distance < best_distance:
            best, best_distance = i, distance
    return best


sc = SparkContext(appName="KMeans", master="local[2]")
random.seed(42)
points = [
    (random.gauss(x, 1), random.gauss(y, 1))
    for x, y in [(0, 0), (10, 10), (0, 10)]
    for _ in range(50)
]
data = sc.parallelize(points, 3).cache()
centers = data.takeSample(False, 3, 1)
centers = [points[0], points[60], points[120]]
shift = 1.0
rounds = 0
while shift > 1e-6:
    assigned = data.map(lambda p: (closest(p, centers), (p, 1)))
    sums = assigned.reduceByKey(
        lambda a, b: (tuple(x + y for x, y in zip(a[0], b[0])), a[1] + b[1])
    )
    new = sums.mapValues(lambda s: tuple(x / s[1] for x in s[0])).collect()
    shift = sum(sum((a - b) ** 2 for a, b in zip(centers[i], p)) for i, p in new)
    for i, p in new:
        centers[i] = p
    rounds += 1
print("rounds:", rounds)
for c in centers:
    print("(%.6f, %.6f)" % c)
sc.stop()
