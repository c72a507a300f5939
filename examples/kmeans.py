"""Finds the centres of clouds of points with k-means: kmeans.py [CENTRES] [POINTS]

Uses numpy where it is installed.
"""

import sys
from random import Random

from pyspark.sql import SparkSession

try:
    import numpy
except ImportError:
    numpy = None

CLOUDS = [(0.0, 0.0), (8.0, 8.0), (0.0, 9.0), (9.0, 0.0)]


def cloud_points(seed, count):
    random = Random(seed)
    for _ in range(count):
        x, y = CLOUDS[random.randrange(len(CLOUDS))]
        yield random.gauss(x, 1.0), random.gauss(y, 1.0)


def nearest(point, centres):
    if numpy is not None:
        offsets = numpy.asarray(centres) - numpy.asarray(point)
        return int(numpy.argmin((offsets**2).sum(axis=1)))
    distances = [(point[0] - x) ** 2 + (point[1] - y) ** 2 for x, y in centres]
    return distances.index(min(distances))


def add_up(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def move(points, centres):
    """The middle of the points that are nearest to each centre."""
    near = points.map(lambda point: (nearest(point, centres), (*point, 1)))
    sums = near.reduceByKey(add_up).mapValues(lambda sums: (sums[0] / sums[2], sums[1] / sums[2]))
    middles = sums.collectAsMap()
    return [middles.get(index, centre) for index, centre in enumerate(centres)]


def main(wanted: int, count: int) -> None:
    spark = SparkSession.builder.appName("k-means").getOrCreate()
    seeds = spark.sparkContext.parallelize(range(4), 4)
    points = seeds.flatMap(lambda seed: cloud_points(seed, count // 4)).cache()
    centres = points.take(wanted)
    moved = 1.0
    while moved > 1e-9:
        before, centres = centres, move(points, centres)
        moved = max(abs(x - u) + abs(y - v) for (x, y), (u, v) in zip(before, centres, strict=True))
    for x, y in sorted(centres):
        print(f"{x:7.3f} {y:7.3f}")
    spark.stop()


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 4,
        int(sys.argv[2]) if len(sys.argv) > 2 else 4000,
    )
