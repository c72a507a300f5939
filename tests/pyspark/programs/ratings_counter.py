"""How often each rating was given."""

import collections
import random

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[2]").setAppName("RatingsHistogram")
sc = SparkContext(conf=conf)
rng = random.Random(5)
data = [
    "%d\t%d\t%d\t%d" % (rng.randint(1, 50), i, rng.randint(1, 5), 880000 + i) for i in range(400)
]
lines = sc.parallelize(data)
ratings = lines.map(lambda x: x.split()[2])
result = ratings.countByValue()
sortedResults = collections.OrderedDict(sorted(result.items()))
for key, value in sortedResults.items():
    print("%s %i" % (key, value))
