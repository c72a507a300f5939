"""Friends by age with the functions of tables."""

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as func

spark = SparkSession.builder.master("local[2]").appName("FriendsByAge").getOrCreate()
people = spark.sparkContext.parallelize(range(60)).map(
    lambda i: Row(id=i, age=20 + i % 7, friends=(i * 37) % 100)
)
df = people.toDF()
friendsByAge = df.select("age", "friends")
friendsByAge.groupBy("age").avg("friends").sort("age").show()
friendsByAge.groupBy("age").agg(
    func.round(func.avg("friends"), 2).alias("friends_avg"), func.max("friends")
).sort("age").show(4)
df.filter(df.friends > 90).sort(func.desc("friends"), "id").show(5, False)
print(df.agg(func.sum("friends"), func.countDistinct("age")).collect())
spark.stop()
