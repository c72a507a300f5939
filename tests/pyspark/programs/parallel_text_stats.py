"""The longest line, the mean length of words, letters by frequency."""

from pyspark import SparkContext

TEXT = """Alice was beginning to get very tired of sitting by her sister on the bank
and of having nothing to do
once or twice she had peeped into the book her sister was reading
but it had no pictures or conversations in it"""

sc = SparkContext("local[2]", "stats")
lines = sc.parallelize(TEXT.split("\n"))
print("lines", lines.count())
print("longest", lines.reduce(lambda a, b: a if len(a) > len(b) else b))
print("most words", lines.map(lambda l: len(l.split())).max())
words = lines.flatMap(str.split)
print("mean %.4f" % words.map(len).mean())
letters = (
    words.flatMap(list)
    .filter(str.isalpha)
    .map(lambda c: (c.lower(), 1))
    .reduceByKey(lambda a, b: a + b)
)
print(letters.sortBy(lambda lc: (-lc[1], lc[0])).take(6))
stats = words.map(len).stats()
print(stats.count(), stats.min(), stats.max(), "%.4f" % stats.stdev())
print(
    words.map(lambda w: (len(w), w))
    .groupByKey()
    .mapValues(lambda ws: sorted(set(ws)))
    .sortByKey(False)
    .take(3)
)
