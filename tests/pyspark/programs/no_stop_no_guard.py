"""A script that neither stops its context nor guards its main part, and prints from tasks."""

import sys

from pyspark import SparkContext

sc = SparkContext()
rdd = sc.parallelize(["to", "stdout"], 2)


def shout(word):
    print("in a task:", word)
    return word.upper()


print(rdd.map(shout).collect())
rdd.foreach(print)
sys.stdout.write("done\n")
