"""The best of each group by three ways: groups, heaps in aggregateByKey, and a custom merge."""

import heapq
from random import Random

from pyspark import SparkContext

N = 3
sc = SparkContext("local[2]", "top-n")
rng = Random(9)
rows = [(rng.choice("abcd"), rng.randrange(1000)) for _ in range(200)]
rdd = sc.parallelize(rows, 5)


def push(heap, value):
    heapq.heappush(heap, value)
    if len(heap) > N:
        heapq.heappop(heap)
    return heap


def merge(one, two):
    for value in two:
        one = push(one, value)
    return one


first = rdd.groupByKey().mapValues(lambda vs: sorted(vs, reverse=True)[:N])
second = rdd.aggregateByKey([], push, merge).mapValues(lambda h: sorted(h, reverse=True))
third = rdd.combineByKey(lambda v: [v], push, merge).mapValues(lambda h: heapq.nlargest(N, h))
print(sorted(first.collect()))
print(sorted(first.collect()) == sorted(second.collect()) == sorted(third.collect()))
print(rdd.top(4), rdd.top(2, key=lambda kv: kv[1]), rdd.values().takeOrdered(3))
