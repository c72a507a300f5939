"""Pseudo set operations on RDDs."""

from pyspark import SparkContext

sc = SparkContext("local", "sets")
rdd1 = sc.parallelize(["coffee", "coffee", "panda", "monkey", "tea"])
rdd2 = sc.parallelize(["coffee", "monkey", "kitty"])
print("distinct", sorted(rdd1.distinct().collect()))
print("union", rdd1.union(rdd2).collect())
print("intersection", sorted(rdd1.intersection(rdd2).collect()))
print("subtract", sorted(rdd1.subtract(rdd2).collect()))
print("cartesian", sc.parallelize([1, 2]).cartesian(sc.parallelize(["a", "b"])).collect())
print("plus", (rdd1 + rdd2).count())
pairs = sc.parallelize([(1, 2), (3, 4), (3, 6)])
other = sc.parallelize([(3, 9)])
print(pairs.subtractByKey(other).collect())
print(sorted(pairs.join(other).collect()))
print(sorted(pairs.rightOuterJoin(other).collect()))
print(sorted(pairs.leftOuterJoin(other).collect()))
print([(k, [list(v) for v in vs]) for k, vs in sorted(pairs.cogroup(other).collect())])
