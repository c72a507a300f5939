"""A secondary sort with repartitionAndSortWithinPartitions and a partitioner of its own."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "secondary sort")
readings = [("s%d" % (i % 4), (i * 7919) % 100, i) for i in range(40)]


def by_station(key):
    return int(key[0][1:])


keyed = sc.parallelize(readings, 3).map(lambda r: ((r[0], r[1]), r[2]))
ordered = keyed.repartitionAndSortWithinPartitions(numPartitions=2, partitionFunc=by_station)
print([len(part) for part in ordered.glom().collect()])
for part in ordered.glom().collect():
    print([(s, v) for (s, v), _ in part][:8])
descending = keyed.repartitionAndSortWithinPartitions(2, by_station, False, lambda k: k[1])
print(descending.glom().map(lambda p: [k[1] for k, _ in p]).collect())
sc.stop()
