"""What tables refuse."""

from tests.pyspark.api import submodule
from tests.pyspark.printing import functions, print_error, prints


def not_null():
    t = submodule("sql.types")
    return t.StructType([t.StructField("a", t.IntegerType(), False)])


@prints("toDF")
def schemas_that_can_not_be_inferred(spark):
    sc = spark.sparkContext
    print_error(lambda: sc.parallelize([1, 2]).toDF())
    print_error(lambda: sc.parallelize([]).toDF())
    print_error(lambda: sc.parallelize([(None,)] * 3).toDF())
    print_error(lambda: sc.parallelize([()]).toDF())
    print_error(lambda: spark.createDataFrame([]))
    print_error(lambda: spark.createDataFrame([(None,)]))
    print_error(lambda: spark.createDataFrame([([],)]))
    print_error(lambda: spark.createDataFrame([(1,), (1.5,)]))
    print_error(lambda: spark.createDataFrame([object()]))
    print_error(lambda: spark.createDataFrame([(1 + 2j,)]))
    print_error(lambda: spark.createDataFrame(["abc"]))
    print_error(lambda: spark.createDataFrame([[1, [1, 1.5]]]))


@prints("sc.createDataFrame")
def rows_that_do_not_fit_their_schema(spark):
    print_error(lambda: spark.createDataFrame([("x",)], "a int"))
    print_error(lambda: spark.createDataFrame([(1,)], "a double"))
    print_error(lambda: spark.createDataFrame([(1, 2)], "a int"))
    print_error(lambda: spark.createDataFrame([(None,)], not_null()))
    print_error(lambda: spark.createDataFrame([(300,)], "a tinyint"))
    print_error(lambda: spark.createDataFrame([([1, "x"],)], "a array<int>"))
    print_error(lambda: spark.createDataFrame([({1: None},)], "a map<string,int>"))
    spark.createDataFrame([(1,), (True,)], "a string").show()
    spark.createDataFrame([("x",), (7,)], "a int", verifySchema=False).show()


@prints("sc.createDataFrame")
def arguments_that_are_no_schema_and_no_rows(spark):
    print_error(lambda: spark.createDataFrame([(1,)], "a foo"))
    print_error(lambda: spark.createDataFrame([(1,)], 5))
    print_error(lambda: spark.createDataFrame(spark.range(1)))


@prints("sc.sql")
def names_that_are_not_there(spark):
    table = spark.createDataFrame([(1,)], ["a"])
    print_error(lambda: table.nope)
    print_error(lambda: table.select("nope"))
    print_error(lambda: table.filter("nope = 1"))
    print_error(lambda: spark.table("nowhere"))
    print_error(lambda: spark.sql("select * from nowhere"))
    print_error(lambda: spark.sql("selec 1"))
    print_error(lambda: table.filter("a ==== 1"))
    print_error(lambda: spark.read.csv("/nowhere/at/all"))
    print_error(lambda: bool(functions().col("a")))


@prints("sc.sql")
def folders_that_are_there_already(spark, folder):
    table = spark.createDataFrame([(1,)], ["a"])
    table.write.json(f"{folder}/out")
    print_error(lambda: table.write.json(f"{folder}/out"))
    table.write.mode("ignore").json(f"{folder}/out")
    table.write.mode("append").json(f"{folder}/out")
    print(spark.read.json(f"{folder}/out").count())
    table.write.mode("overwrite").json(f"{folder}/out")
    print(spark.read.json(f"{folder}/out").count())


@prints("sc.sql")
def names_that_two_columns_have(spark):
    a = spark.createDataFrame([(1, "x")], ["id", "a"])
    b = spark.createDataFrame([(1, "y")], ["id", "b"])
    both = a.join(b, a.id == b.id)
    print_error(lambda: both.select("id"))
    print_error(lambda: both.groupBy("id").count())
    both.select(a.id, "b").show()
    both.show()
    a.join(b, "id").select("id").show()
