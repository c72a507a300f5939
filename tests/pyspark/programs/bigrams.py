"""Pairs of neighbouring words, within lines."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "bigrams")
text = ["to be or not to be", "that is the question", "to be is to do"]


def bigrams(line):
    words = line.split()
    return zip(words, words[1:])


counts = sc.parallelize(text).flatMap(bigrams).map(lambda b: (b, 1)).reduceByKey(lambda a, b: a + b)
for pair, n in counts.sortBy(lambda x: (-x[1], x[0])).take(5):
    print("%s %s: %d" % (pair[0], pair[1], n))
follow = (
    counts.map(lambda x: (x[0][0], (x[0][1], x[1])))
    .groupByKey()
    .mapValues(lambda v: max(v, key=lambda t: (t[1], t[0])))
)
print(sorted(follow.collect()))
