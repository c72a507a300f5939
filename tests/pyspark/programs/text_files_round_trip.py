"""Writes text, reads it again, and again as pairs of names and contents."""

import os
import shutil
import tempfile

from pyspark import SparkContext

sc = SparkContext("local[2]", "files")
folder = tempfile.mkdtemp()
try:
    numbers = sc.parallelize(range(10), 3)
    numbers.map(lambda x: "%d,%d" % (x, x * x)).saveAsTextFile(folder + "/squares")
    print(sorted(n for n in os.listdir(folder + "/squares") if not n.startswith(".")))
    squares = sc.textFile(folder + "/squares").map(lambda l: tuple(map(int, l.split(","))))
    print(sorted(squares.collect()))
    print(sc.textFile(folder + "/squares/part-0000[01]").count())
    print(
        sorted(os.path.basename(p) for p in sc.wholeTextFiles(folder + "/squares").keys().collect())
    )
    try:
        numbers.saveAsTextFile(folder + "/squares")
    except Exception as e:
        print("already there", "already exists" in str(e))
    numbers.saveAsTextFile(folder + "/zipped", "org.apache.hadoop.io.compress.GzipCodec")
    print(
        sorted(n for n in os.listdir(folder + "/zipped") if n.endswith(".gz")),
        sc.textFile(folder + "/zipped").map(int).sum(),
    )
    try:
        sc.textFile(folder + "/none").count()
    except Exception as e:
        print("not there", "does not exist" in str(e))
finally:
    shutil.rmtree(folder)
    sc.stop()
