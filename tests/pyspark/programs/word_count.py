"""The word count of every first lesson."""

import os
import tempfile
from operator import add

from pyspark import SparkContext

TEXT = """It was the best of times, it was the worst of times,
it was the age of wisdom, it was the age of foolishness,
it was the epoch of belief, it was the epoch of incredulity,
it was the season of Light, it was the season of Darkness"""

sc = SparkContext("local[2]", "Word Count")
path = os.path.join(tempfile.mkdtemp(), "book.txt")
with open(path, "w") as f:
    f.write(TEXT)
counts = sc.textFile(path).flatMap(lambda x: x.split(" ")).map(lambda x: (x, 1)).reduceByKey(add)
output = counts.collect()
for word, count in sorted(output):
    print("%s: %i" % (word, count))
sc.stop()
