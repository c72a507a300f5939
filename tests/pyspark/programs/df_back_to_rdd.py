"""From an RDD to a table and back again."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").appName("there and back").getOrCreate()
rdd = spark.sparkContext.parallelize([(i, chr(97 + i % 3), i * 1.5) for i in range(9)], 3)
df = spark.createDataFrame(rdd, "id int, letter string, value double")
back = df.filter("id % 2 = 0").rdd
print(
    back.map(lambda row: (row.letter, row["value"]))
    .reduceByKey(lambda a, b: a + b)
    .sortByKey()
    .collect()
)
print(df.select("letter").distinct().rdd.map(lambda r: r[0]).sortBy(lambda x: x).collect())
row = df.orderBy("id").first()
print(row, row.asDict(), tuple(row), len(row))
df.withColumn("double", df.value * 2).drop("letter").orderBy("id").show(3)
spark.stop()
