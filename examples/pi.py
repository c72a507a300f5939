"""Estimates pi from points thrown at a square: pi.py [PARTITIONS] [POINTS_PER_PARTITION]"""

import sys
from random import Random

from pyspark import SparkConf, SparkContext


def count_inside(seed: int, points: int) -> int:
    random = Random(seed)
    throws = ((random.random(), random.random()) for _ in range(points))
    return sum(x * x + y * y <= 1 for x, y in throws)


if __name__ == "__main__":
    partitions = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    points = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    with SparkContext(conf=SparkConf().setAppName("pi")) as sc:
        seeds = sc.parallelize(range(partitions), partitions)
        inside = seeds.map(lambda seed: count_inside(seed, points)).sum()
    print(f"pi is about {4 * inside / (partitions * points):.5f}")
