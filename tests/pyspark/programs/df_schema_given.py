"""A schema that the program gives, as types."""

from pyspark.sql import SparkSession
from pyspark.sql.types import FloatType, IntegerType, StringType, StructField, StructType

spark = SparkSession.builder.master("local[2]").appName("schema").getOrCreate()
schema = StructType(
    [
        StructField("stationID", StringType(), True),
        StructField("date", IntegerType(), True),
        StructField("measure_type", StringType(), True),
        StructField("temperature", FloatType(), True),
    ]
)
rows = [
    ("ITE1", 18000101, "TMIN", -148.0),
    ("EZE1", 18000101, "TMIN", -135.0),
    ("ITE1", 18000102, "TMIN", -125.5),
    ("EZE1", 18000102, "TMAX", None),
]
df = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), schema)
df.printSchema()
minTemps = df.filter(df.measure_type == "TMIN").select("stationID", "temperature")
minTemps.groupBy("stationID").min("temperature").orderBy("stationID").show()
for row in df.orderBy("stationID", "date").collect():
    print(row["stationID"], row.date, row.temperature)
print(df.schema.simpleString())
spark.stop()
