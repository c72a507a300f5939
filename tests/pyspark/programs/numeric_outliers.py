"""Removes outliers with the statistics of an RDD."""

import math

from pyspark import SparkContext

sc = SparkContext("local[2]", "outliers")
distances = ["10.1", "9.8", "10.4", "100.5", "9.9", "10.0", "-80", "10.2"]
distanceNumerics = sc.parallelize(distances).map(lambda string: float(string))
stats = distanceNumerics.stats()
stddev = stats.stdev()
mean = stats.mean()
reasonable = distanceNumerics.filter(lambda x: math.fabs(x - mean) < 1 * stddev)
print("%.6f %.6f" % (mean, stddev))
print(reasonable.collect())
print(distanceNumerics.histogram(4))
