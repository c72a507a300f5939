"""A line fitted by sums, and by stochastic descent in rounds."""

from random import Random

from pyspark import SparkContext

sc = SparkContext("local[2]", "regression")
rng = Random(4)
points = [(x / 10.0, 3.0 * x / 10.0 + 2.0 + rng.uniform(-0.5, 0.5)) for x in range(100)]
rdd = sc.parallelize(points, 4).cache()
n, sx, sy, sxx, sxy = rdd.map(lambda p: (1, p[0], p[1], p[0] ** 2, p[0] * p[1])).reduce(
    lambda a, b: tuple(x + y for x, y in zip(a, b))
)
slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
print("slope %.6f intercept %.6f" % (slope, (sy - slope * sx) / n))
w, b = 0.0, 0.0
for step in range(15):
    gw, gb = rdd.map(lambda p: ((w * p[0] + b - p[1]) * p[0], w * p[0] + b - p[1])).reduce(
        lambda a, c: (a[0] + c[0], a[1] + c[1])
    )
    w, b = w - 0.02 * gw / n, b - 0.02 * gb / n
print("w %.6f b %.6f" % (w, b))
