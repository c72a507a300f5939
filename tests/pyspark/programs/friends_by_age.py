"""The average number of friends by age."""

import random

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[2]").setAppName("FriendsByAge")
sc = SparkContext(conf=conf)


def parseLine(line):
    fields = line.split(",")
    age = int(fields[2])
    numFriends = int(fields[3])
    return (age, numFriends)


random.seed(3)
people = [
    "%d,Name%d,%d,%d" % (i, i, random.randint(18, 30), random.randint(1, 500)) for i in range(300)
]
lines = sc.parallelize(people, 4)
rdd = lines.map(parseLine)
totalsByAge = rdd.mapValues(lambda x: (x, 1)).reduceByKey(lambda x, y: (x[0] + y[0], x[1] + y[1]))
averagesByAge = totalsByAge.mapValues(lambda x: x[0] / x[1])
results = averagesByAge.collect()
for result in sorted(results):
    print(result)
