"""People as Rows: a schema that is inferred, a view, and SQL."""

from pyspark.sql import Row, SparkSession

DATA = """Michael, 29
Andy, 30
Justin, 19"""
spark = SparkSession.builder.master("local[2]").appName("people").getOrCreate()
sc = spark.sparkContext
parts = sc.parallelize(DATA.split("\n")).map(lambda l: l.split(","))
people = parts.map(lambda p: Row(name=p[0], age=int(p[1])))
schemaPeople = spark.createDataFrame(people)
schemaPeople.createOrReplaceTempView("people")
teenagers = spark.sql("SELECT name FROM people WHERE age >= 13 AND age <= 19")
teenNames = teenagers.rdd.map(lambda p: "Name: " + p.name).collect()
for name in teenNames:
    print(name)
schemaPeople.printSchema()
spark.sql("SELECT age, name FROM people ORDER BY age").show()
spark.stop()
