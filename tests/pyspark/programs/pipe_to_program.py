"""Rows piped through programs of the system."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "pipe")
print(sc.parallelize(["b", "a", "c"], 1).pipe("sort").collect())
print(sc.parallelize(range(6), 2).pipe("wc -l").map(lambda s: s.strip()).collect())
print(sc.parallelize(["1 2", "3 4"], 1).pipe("tr ' ' '+'").collect())
print(sc.parallelize(["x"], 1).pipe("printenv GREETING", {"GREETING": "hi"}).collect())
