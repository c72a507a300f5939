"""Two tables joined, and the same as RDDs."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").appName("joins").getOrCreate()
sc = spark.sparkContext
emp = [(1, "Smith", 10), (2, "Rose", 20), (3, "Williams", 10), (4, "Jones", 30), (5, "Brown", 50)]
dept = [("Finance", 10), ("Marketing", 20), ("Sales", 30), ("IT", 40)]
e = spark.createDataFrame(emp, ["emp_id", "name", "dept_id"])
d = spark.createDataFrame(dept, schema=["dept_name", "dept_id"])
e.join(d, "dept_id").orderBy("emp_id").show()
e.join(d, e.dept_id == d.dept_id, "left").select("emp_id", "dept_name").orderBy("emp_id").show()
left = sc.parallelize(emp).keyBy(lambda r: r[2])
right = sc.parallelize(dept).map(lambda r: (r[1], r[0]))
print(sorted(left.fullOuterJoin(right).collect(), key=repr))
spark.stop()
