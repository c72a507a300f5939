"""A chain of jobs over files, each reading what the one before has written."""

import os
import tempfile

from pyspark import SparkConf, SparkContext


def extract(sc, source, target):
    sc.parallelize(source, 2).filter(lambda l: not l.startswith("#")).saveAsTextFile(target)


def transform(sc, source, target):
    rows = sc.textFile(source).map(lambda l: l.split(";")).filter(lambda f: len(f) == 3)
    rows.map(lambda f: (f[0], int(f[1]) * float(f[2]))).reduceByKey(lambda a, b: a + b).map(
        lambda kv: "%s=%.2f" % kv
    ).saveAsTextFile(target)


def load(sc, source):
    return dict(line.split("=") for line in sc.textFile(source).collect())


if __name__ == "__main__":
    work = tempfile.mkdtemp()
    raw = ["# item;amount;price", "pen;3;1.20", "ink;1;7.5", "pen;2;1.10", "broken;1", "book;1;20"]
    sc = SparkContext(conf=SparkConf().setAppName("pipeline").setMaster("local[2]"))
    extract(sc, raw, os.path.join(work, "raw"))
    transform(sc, os.path.join(work, "raw"), os.path.join(work, "sums"))
    for key, value in sorted(load(sc, os.path.join(work, "sums")).items()):
        print(key, value)
    sc.stop()
