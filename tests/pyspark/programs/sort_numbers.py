"""Sorts numbers of text lines by sortByKey."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("PythonSort").master("local[2]").getOrCreate()
lines = spark.sparkContext.parallelize(["4 -7 12", "3", "100 0 4"])
sortedCount = lines.flatMap(lambda x: x.split(" ")).map(lambda x: (int(x), 1)).sortByKey()
for num, unitcount in sortedCount.collect():
    print(num)
spark.stop()
