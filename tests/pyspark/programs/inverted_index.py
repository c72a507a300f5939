"""Which documents each word is in."""

from pyspark import SparkContext

documents = {
    "d1": "the quick brown fox jumps over the lazy dog",
    "d2": "the early bird catches the worm",
    "d3": "a bird in the hand is worth two in the bush",
    "d4": "every dog has its day",
}
sc = SparkContext("local[2]", "inverted-index")
index = (
    sc.parallelize(sorted(documents.items()))
    .flatMapValues(str.split)
    .map(lambda pair: (pair[1], pair[0]))
    .distinct()
    .groupByKey()
    .mapValues(sorted)
    .sortByKey()
)
for word, names in index.collect():
    print("%-8s %s" % (word, ", ".join(names)))
sc.stop()
