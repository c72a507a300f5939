"""Items that are bought together, with support, confidence and lift."""

from itertools import permutations

from pyspark import SparkContext

sc = SparkContext("local[2]", "baskets")
BASKETS = [
    ("t%d" % t, item)
    for t, items in enumerate(["abc", "ab", "bc", "abd", "ac", "bcd", "a"])
    for item in items
]
rows = sc.parallelize(BASKETS, 3)
n = rows.keys().distinct().count()
single = dict(rows.values().countByValue())
pairs = (
    rows.groupByKey()
    .flatMap(lambda kv: permutations(sorted(kv[1]), 2))
    .map(lambda p: (p, 1))
    .reduceByKey(lambda a, b: a + b)
)
rules = pairs.map(
    lambda pc: (
        pc[0],
        pc[1] / n,
        pc[1] / single[pc[0][0]],
        pc[1] * n / (single[pc[0][0]] * single[pc[0][1]]),
    )
)
for (left, right), support, confidence, lift in rules.sortBy(lambda r: (-r[3], r[0])).take(6):
    print(
        "%s -> %s  support %.3f confidence %.3f lift %.3f"
        % (left, right, support, confidence, lift)
    )
