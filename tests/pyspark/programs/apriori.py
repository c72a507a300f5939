"""Frequent item sets, level by level."""

from itertools import combinations

from pyspark import SparkContext

BASKETS = [
    "milk bread butter",
    "beer bread",
    "milk bread beer butter",
    "milk butter",
    "bread butter beer",
    "milk bread butter eggs",
]


class Apriori:
    def __init__(self, sc, baskets, support):
        self.baskets = sc.parallelize(baskets).map(lambda b: frozenset(b.split())).cache()
        self.support = support

    def singles(self):
        counted = (
            self.baskets.flatMap(lambda b: b)
            .map(lambda i: (frozenset([i]), 1))
            .reduceByKey(lambda a, b: a + b)
        )
        support = self.support
        return counted.filter(lambda kv: kv[1] >= support)

    def level(self, candidates):
        support = self.support
        found = self.baskets.flatMap(lambda b: [(c, 1) for c in candidates if c <= b])
        return found.reduceByKey(lambda a, b: a + b).filter(lambda kv: kv[1] >= support)

    def run(self):
        frequent = dict(self.singles().collect())
        level = list(frequent)
        while level:
            size = len(level[0]) + 1
            items = sorted(set().union(*level))
            candidates = [
                frozenset(c)
                for c in combinations(items, size)
                if all(frozenset(s) in frequent for s in combinations(c, size - 1))
            ]
            found = dict(self.level(candidates).collect()) if candidates else {}
            frequent.update(found)
            level = list(found)
        return frequent


sc = SparkContext("local[2]", "apriori")
result = Apriori(sc, BASKETS, 3).run()
for items, n in sorted(result.items(), key=lambda kv: (len(kv[0]), -kv[1], sorted(kv[0]))):
    print(" ".join(sorted(items)), n)
