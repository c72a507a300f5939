"""The basics of a tutorial: map, flatMap, filter, reduce, lazily."""

from pyspark import SparkContext

sc = SparkContext("local", "basics")
nums = sc.parallelize([1, 2, 3, 4])
squared = nums.map(lambda x: x * x).collect()
for num in squared:
    print("%i " % (num))
lines = sc.parallelize(["hello world", "hi"])
words = lines.flatMap(lambda line: line.split(" "))
print(words.first())
print(lines.map(lambda line: line.split(" ")).collect())
print(nums.filter(lambda x: x % 2 == 1).collect(), nums.reduce(lambda x, y: x * y))
print(nums.map(str).reduce(lambda a, b: a + b))
print(sc.parallelize([1, 2, 3, 4, 5], 5).glom().collect())
print(nums.sortBy(lambda x: -x).collect(), nums.zip(nums.map(lambda x: x * x)).collect())
print(sc.range(3, 20, 5).collect(), sc.emptyRDD().isEmpty())
print(nums.map(lambda x: (x % 2, x)).reduceByKey(lambda a, b: a + b).collectAsMap())
