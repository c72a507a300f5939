"""Connected components by spreading the smallest label."""

from pyspark import SparkConf, SparkContext

sc = SparkContext.getOrCreate(SparkConf().setMaster("local[2]"))
links = [(1, 2), (2, 3), (4, 5), (6, 7), (7, 8), (8, 9), (3, 10)]
edges = sc.parallelize(links).flatMap(lambda e: [e, (e[1], e[0])]).cache()
labels = edges.keys().distinct().map(lambda v: (v, v))
changed = 1
rounds = 0
while changed:
    spread = edges.join(labels).map(lambda x: (x[1][0], x[1][1]))
    new = labels.union(spread).reduceByKey(min).cache()
    changed = new.join(labels).filter(lambda x: x[1][0] != x[1][1]).count()
    labels = new
    rounds += 1
print("rounds", rounds)
for label, members in sorted(
    labels.map(lambda x: (x[1], x[0])).groupByKey().mapValues(sorted).collect()
):
    print(label, members)
