"""Columns and functions of them, with the names that nobody gave them."""

from tests.pyspark.api import submodule
from tests.pyspark.printing import functions, prints


def people(spark):
    rows = [("Alice", 34, 1.5), ("Bob", 45, 2.25), ("Carol", None, 3.0), ("Dan", 34, None)]
    return spark.createDataFrame(rows, "name string, age int, score double")


@prints("sc.sql")
def columns_without_names(spark):
    F, p = functions(), people(spark)
    p.select("name", p.age + 1, (p.score * 2).alias("double")).show()
    p.select(F.upper(p.name), F.upper(F.lower("name"))).show()
    p.select("*", F.lit(1), F.lit("x"), F.lit(None)).show()
    p.select(p["age"] > 40, p.age.isNull(), -p.age, p.age % 2, p.age / 2).show()
    p.select(p.age.cast("string"), (p.age + 1).cast("string")).show()
    p.select(F.when(p.age > 40, "old").otherwise("young"), p.age.between(1, 40)).show()
    p.select(p.name.isin("Bob", "Dan"), p.name != "Bob", ~(p.age > 40)).show()


@prints("sc.sql")
def functions_of_text(spark):
    F = functions()
    t = spark.createDataFrame([("Hello World", "a,b,c", -5)], ["s", "c", "i"])
    t.select(F.regexp_replace("s", "o", "0"), F.trim("s"), F.initcap("s"), F.reverse("s")).show()
    t.select(F.concat("s", F.lit("!")), F.instr("s", "W"), F.lpad("s", 13, "*")).show()
    t.select(F.split("c", ",")[1], F.length("s"), F.substring("s", 1, 4)).show()
    t.select(F.concat_ws("-", "s", "i"), F.coalesce("i", F.lit(0))).show()
    t.select(t.s.contains("W"), t.s.startswith("H"), t.s.substr(1, 3), t.s.like("H%")).show()
    t.select(t.s.rlike("^H"), F.length("s")).printSchema()


@prints("sc.sql")
def functions_of_numbers(spark):
    F = functions()
    t = spark.createDataFrame([(3.14159, -5)], ["f", "i"])
    t.select(F.round("f"), F.round("f", 2), F.ceil("f"), F.floor("f"), F.sqrt("f")).show()
    t.select(F.pow("f", 2), F.abs("i"), F.greatest("f", "i"), F.expr("i * 2")).show()
    t.select(F.ceil("f")).printSchema()


@prints("sc.sql")
def functions_of_days(spark):
    F = functions()
    t = spark.createDataFrame([("2024-02-29 10:11:12",)], ["t"])
    t.select(F.to_date("t"), F.to_timestamp("t"), F.year("t")).show(truncate=False)
    t.select(F.month(F.to_date("t")), F.date_format("t", "yyyy/MM/dd")).show(truncate=False)
    t.select(F.datediff(F.lit("2024-03-02"), F.to_date("t"))).show(truncate=False)
    t.select(F.date_add(F.to_date("t"), 1), F.to_date("t")).printSchema()


@prints("sc.sql")
def parts_of_lists_maps_and_structs(spark):
    F, Row = functions(), submodule("sql").Row
    t = spark.createDataFrame([Row(a=Row(x=1, y="z"), l=[1, 2], m={"k": 5})])
    t.select("a.x").show()
    t.select(t.a.x, t.l[0], t.m["k"], t.a.getField("y"), F.col("a.y"), F.size("l")).show()
    t.select("a.*").show()
    t.select(F.explode("l")).show()
    t.select(F.explode("l").alias("one")).show()
    t.select(F.explode("m")).show()
    t.select(F.array("l", "l"), F.struct("l", "m")).show(truncate=False)


@prints("sc.sql")
def names_of_all_kinds(spark):
    F = functions()
    words = spark.createDataFrame([(1, 2, 3, 4)], ["order", "end", "group", "count"])
    words.select("order", "end").show()
    words.groupBy("group").count().show()
    words.filter(words["count"] > 1).withColumn("x", words.order + 1).show()
    camel = spark.createDataFrame([(1, "a"), (2, "b")], ["OrderId", "Name"])
    camel.select("orderid", "Name").show()
    camel.filter(camel.OrderId > 1).show()
    camel.groupBy("Name").agg(F.max("OrderId").alias("MaxId")).orderBy("Name").show()
    camel.withColumnRenamed("Name", "Who").show()
    odd = spark.createDataFrame([(1, "a b")], ["my col", "x.y"])
    odd.select("my col", "`x.y`").show()
    odd.select(F.col("my col") + 1).show()
    odd.printSchema()


@prints("sc.sql")
def functions_of_the_users_own(spark):
    F, t = functions(), submodule("sql.types")

    @F.udf(returnType=t.IntegerType())
    def plus(x):
        return None if x is None else x + 1

    p = people(spark)
    p.select("name", plus("age")).show()
    p.select(F.udf(lambda name: name.upper(), t.StringType())("name").alias("u")).show()
    p.select(F.udf(len)("name").alias("n")).printSchema()
    p.withColumn("parts", F.udf(list, "array<string>")("name")).show()
    spark.udf.register("strlen", lambda s: len(s), t.IntegerType())
    p.createOrReplaceTempView("people_of_udf")
    spark.sql("select strlen(name) from people_of_udf").show()


@prints("sc.sql")
def windows(spark):
    F, Window = functions(), submodule("sql.window").Window
    t = spark.createDataFrame([("a", 1), ("a", 3), ("b", 2)], ["k", "v"])
    w = Window.partitionBy("k").orderBy(F.col("v").desc())
    t.select(
        "k",
        "v",
        F.rank().over(w).alias("r"),
        F.lag("v").over(w).alias("l"),
        F.sum("v").over(Window.partitionBy("k")).alias("s"),
        F.sum("v").over(w.rowsBetween(Window.unboundedPreceding, 0)).alias("run"),
    ).orderBy("k", "v").show()
    t.withColumn("n", F.row_number().over(w)).orderBy("k", "v").show()
