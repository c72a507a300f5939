"""The friends that two people have in common."""

from itertools import combinations

from pyspark import SparkContext

sc = SparkContext("local[2]", "friends")
lists = ["A,B C D", "B,A C D E", "C,A B D E", "D,A B C E", "E,B C D"]


def pairs(line):
    person, friends = line.split(",")
    friends = friends.split()
    for friend in friends:
        key = tuple(sorted((person, friend)))
        yield key, set(friends)


common = sc.parallelize(lists).flatMap(pairs).reduceByKey(lambda a, b: a & b)
for pair, friends in sorted(common.collect()):
    print(pair, sorted(friends))
suggestions = (
    sc.parallelize(lists)
    .map(lambda line: line.split(",")[1].split())
    .flatMap(lambda fs: combinations(sorted(fs), 2))
    .map(lambda p: (p, 1))
    .reduceByKey(lambda a, b: a + b)
)
print(suggestions.sortBy(lambda x: (-x[1], x[0])).take(5))
