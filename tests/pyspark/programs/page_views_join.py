"""Co-partitioned tables joined again and again, as in a book's example of partitioning."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "views")
userData = (
    sc.parallelize([(u, ["topic%d" % ((u + k) % 4) for k in range(2)]) for u in range(20)])
    .partitionBy(4)
    .persist()
)
offTopic = 0
for hour in range(3):
    events = sc.parallelize([(u * (hour + 3) % 20, "topic%d" % (u % 4)) for u in range(15)])
    joined = userData.join(events)
    offTopic = joined.filter(lambda kv: kv[1][1] not in kv[1][0]).count()
    print("Number of visits to non-subscribed topics: %d" % offTopic)
print(joined.getNumPartitions(), userData.partitioner == userData.mapValues(len).partitioner)
