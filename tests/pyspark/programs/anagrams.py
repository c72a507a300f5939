"""Words grouped by their sorted letters."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "anagrams")
words = "listen silent enlist google elgoog banana cat act tac dog god".split()
groups = sc.parallelize(words, 3).map(lambda w: ("".join(sorted(w)), w)).groupByKey()
found = groups.filter(lambda g: len(g[1]) > 1).map(lambda g: sorted(g[1]))
for group in sorted(found.collect()):
    print(" ".join(group))
