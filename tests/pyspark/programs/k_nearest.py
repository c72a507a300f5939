"""The nearest neighbours of points, by a cartesian product."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "knn")
train = [(1, 1, "a"), (1, 2, "a"), (5, 5, "b"), (6, 5, "b"), (2, 1, "a"), (5, 6, "b")]
test = [(0, 0), (4, 4), (3, 3)]
K = 3
distances = (
    sc.parallelize(test)
    .cartesian(sc.parallelize(train))
    .map(lambda p: (p[0], ((p[0][0] - p[1][0]) ** 2 + (p[0][1] - p[1][1]) ** 2, p[1][2])))
)
nearest = distances.groupByKey().mapValues(lambda ds: sorted(ds)[:K])
votes = nearest.mapValues(
    lambda ds: sorted((sum(1 for _, l in ds if l == label), label) for label in "ab")[-1][1]
)
for point, label in sorted(votes.collect()):
    print(point, label)
