"""Highs, lows and daily returns of stocks, with windows made by sorting groups."""

from pyspark import SparkContext
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("stocks").master("local[2]").getOrCreate()
sc = spark.sparkContext
assert isinstance(sc, SparkContext)
lines = [
    "%s,2020-01-%02d,%.2f" % (s, d, 100 + (d * (i + 3)) % 11)
    for i, s in enumerate(["AAA", "BBB"])
    for d in range(1, 9)
]
rows = sc.parallelize(lines).map(lambda l: l.split(",")).map(lambda f: (f[0], (f[1], float(f[2]))))
extremes = rows.mapValues(lambda v: (v[1], v[1])).reduceByKey(
    lambda a, b: (min(a[0], b[0]), max(a[1], b[1]))
)
print(sorted(extremes.collect()))


def returns(days):
    days = sorted(days)
    return [
        (day, round(price / before - 1, 4)) for (_, before), (day, price) in zip(days, days[1:])
    ]


best = rows.groupByKey().flatMapValues(returns).map(lambda r: (r[0], r[1][0], r[1][1]))
df = best.toDF(["symbol", "day", "change"])
df.orderBy("symbol", "day").show(5)
print(best.sortBy(lambda r: (-r[2], r[0])).first())
spark.stop()
