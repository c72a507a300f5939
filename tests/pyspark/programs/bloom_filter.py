"""A Bloom filter made by tasks, united by the driver, and broadcast."""

import zlib

from pyspark import SparkContext

BITS = 512


def places(word):
    return [zlib.crc32(("%d%s" % (i, word)).encode()) % BITS for i in range(3)]


def build(words):
    bits = 0
    for word in words:
        for place in places(word):
            bits |= 1 << place
    yield bits


sc = SparkContext("local[2]", "bloom")
members = sc.parallelize(["w%d" % i for i in range(40)], 4)
bits = sc.broadcast(members.mapPartitions(build).reduce(lambda a, b: a | b))
queries = sc.parallelize(["w%d" % i for i in range(0, 400, 13)])
maybe = queries.filter(lambda w: all(bits.value >> p & 1 for p in places(w)))
print(bin(bits.value).count("1"), maybe.collect())
