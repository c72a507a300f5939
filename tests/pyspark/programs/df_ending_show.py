"""A word count that ends in a table."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("WordCountTable").master("local[2]").getOrCreate()
lines = spark.sparkContext.parallelize(["hello spark", "hello world", "goodbye world world"])
counts = lines.flatMap(lambda l: l.split(" ")).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b)
df = counts.toDF(["word", "count"])
df.printSchema()
df.orderBy(df["count"].desc(), "word").show()
print(df.count(), df.columns)
spark.stop()
