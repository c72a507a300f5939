"""Two sparse matrices multiplied by a join on the inner index."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "matrices")
A = [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0), (2, 0, -1.0)]
B = [(0, 1, 4.0), (1, 0, 5.0), (2, 2, 6.0), (2, 1, 0.5)]
left = sc.parallelize(A).map(lambda e: (e[1], (e[0], e[2])))
right = sc.parallelize(B).map(lambda e: (e[0], (e[1], e[2])))
product = (
    left.join(right)
    .map(lambda e: ((e[1][0][0], e[1][1][0]), e[1][0][1] * e[1][1][1]))
    .reduceByKey(lambda a, b: a + b)
)
for (i, j), v in product.sortByKey().collect():
    print(i, j, v)
dense = (
    product.map(lambda e: (e[0][0], (e[0][1], e[1])))
    .groupByKey()
    .mapValues(lambda row: [dict(row).get(j, 0.0) for j in range(3)])
)
print(dense.sortByKey().collect())
sc.stop()
