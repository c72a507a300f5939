"""Triangles of an undirected graph."""

from pyspark import SparkContext

EDGES = [(1, 2), (2, 3), (1, 3), (3, 4), (4, 5), (3, 5), (5, 6), (1, 6), (2, 6), (2, 1), (6, 6)]

sc = SparkContext("local[2]", "triangles")
edges = (
    sc.parallelize(EDGES)
    .filter(lambda e: e[0] != e[1])
    .map(lambda e: (min(e), max(e)))
    .distinct()
    .cache()
)
wedges = edges.join(edges).filter(lambda w: w[1][0] < w[1][1]).map(lambda w: (w[1], w[0]))
triangles = wedges.join(edges.map(lambda e: (e, None))).map(lambda t: (t[1][0], *t[0]))
print(triangles.count())
for triangle in sorted(triangles.collect()):
    print(triangle)
degrees = edges.flatMap(lambda e: [(e[0], 1), (e[1], 1)]).reduceByKey(lambda a, b: a + b)
print(sorted(degrees.collect()))
sc.stop()
