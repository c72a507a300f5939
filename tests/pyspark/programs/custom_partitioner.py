"""Pages by their domain, in partitions of a function of its own."""

from urllib.parse import urlparse

from pyspark import SparkContext


def domain_hash(url):
    return sum(map(ord, urlparse(url).netloc))


sc = SparkContext("local[2]", "partitioner")
urls = (
    ["http://a.com/%d" % i for i in range(4)]
    + ["http://bb.org/%d" % i for i in range(3)]
    + ["http://c.net/x"]
)
rdd = sc.parallelize([(u, len(u)) for u in urls])
placed = rdd.partitionBy(3, domain_hash).persist()
print(placed.getNumPartitions(), placed.partitioner is not None, rdd.partitioner)
for i, part in enumerate(placed.glom().collect()):
    print(i, sorted(u for u, _ in part))
print(placed.mapPartitionsWithIndex(lambda i, it: [(i, sum(v for _, v in it))]).collect())
even = sc.parallelize(range(10)).map(lambda x: (x, x)).partitionBy(2, lambda k: k)
print(even.keys().glom().collect())
print(even.mapValues(str).partitioner == even.partitioner, even.map(lambda kv: kv).partitioner)
