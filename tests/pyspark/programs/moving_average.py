"""A moving average of a series, by keys that cover their neighbours."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "moving average")
series = [10, 13, 9, 15, 20, 18, 25, 21, 19, 30]
WINDOW = 3
indexed = sc.parallelize(series, 3).zipWithIndex().map(lambda vi: (vi[1], vi[0]))
spread = indexed.flatMap(lambda iv: [(iv[0] + d, (iv[0], iv[1])) for d in range(WINDOW)])
averages = (
    spread.groupByKey()
    .filter(lambda kv: len(kv[1]) == WINDOW)
    .mapValues(lambda vs: sum(v for _, v in vs) / WINDOW)
    .sortByKey()
)
for day, value in averages.collect():
    print(day, round(value, 3))
