"""An inverted index with positions, over whole files."""

import os
import tempfile

from pyspark import SparkConf, SparkContext

folder = tempfile.mkdtemp()
for name, text in [
    ("a.txt", "to be or not to be"),
    ("b.txt", "to do is to be"),
    ("c.txt", "do be do be do"),
]:
    with open(os.path.join(folder, name), "w") as out:
        out.write(text)


def positions(entry):
    path, text = entry
    base = path.rsplit("/", 1)[-1]
    for place, word in enumerate(text.split()):
        yield word, (base, place)


with SparkContext(conf=SparkConf().setMaster("local[2]").setAppName("index")) as sc:
    files = sc.wholeTextFiles(folder)
    index = files.flatMap(positions).groupByKey().mapValues(lambda found: sorted(found))
    for word, found in sorted(index.collect()):
        print(word, found)
