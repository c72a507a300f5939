"""Random topics of words with seeds per partition, and counts of them."""

import random
from collections import Counter

from pyspark import SparkContext

sc = SparkContext("local[2]", "topics")
docs = sc.parallelize(["apple banana apple", "cat dog cat", "banana apple dog", "cat cat cat"], 2)


def assign(index, lines):
    rng = random.Random(index)
    for line in lines:
        yield [(word, rng.randrange(2)) for word in line.split()]


topics = docs.mapPartitionsWithIndex(assign).cache()
counts = topics.map(Counter).reduce(lambda a, b: a + b)
for (word, topic), n in sorted(counts.items()):
    print(word, topic, n)
print(topics.map(len).sum(), topics.flatMap(lambda d: d).values().sum())
