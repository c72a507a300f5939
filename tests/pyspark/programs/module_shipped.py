"""A module that the program writes, ships with addPyFile, and imports in tasks."""

import os
import tempfile

from pyspark import SparkContext, SparkFiles

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "shipped_helper.py"), "w") as f:
    f.write("RATE = 3\n\ndef convert(x):\n    return x * RATE\n")
with open(os.path.join(folder, "table.txt"), "w") as f:
    f.write("a 1\nb 2\n")

sc = SparkContext("local[2]", "modules")
sc.addPyFile(os.path.join(folder, "shipped_helper.py"))
sc.addFile(os.path.join(folder, "table.txt"))


def convert(x):
    import shipped_helper

    return shipped_helper.convert(x)


def look_up(key):
    with open(SparkFiles.get("table.txt")) as f:
        return dict(line.split() for line in f)[key]


print(sc.parallelize([1, 2, 3]).map(convert).collect())
print(sc.parallelize(["a", "b"]).map(look_up).collect())
