"""Names, ids and lineages of RDDs as a program sees them."""

from pyspark import SparkContext

sc = SparkContext("local[2]", "names")
lines = sc.parallelize(["a b", "b c"], 2)
pairs = lines.flatMap(str.split).map(lambda w: (w, 1))
counts = pairs.reduceByKey(lambda a, b: a + b)
print(lines.id(), pairs.id(), counts.id())
counts.setName("counts").cache()
print(counts.name(), lines.name(), counts.count(), counts.is_cached)
joined = counts.join(pairs.distinct())
joined.count()
print(joined.id(), sc.parallelize([1]).id())
print(counts.getStorageLevel(), counts.context is sc)
