"""Tables made of tables."""

from tests.pyspark.cases.sql_columns import people
from tests.pyspark.printing import functions, prints


def orders(spark):
    rows = [(1, "Alice", 10.0), (2, "Bob", 5.5), (3, "Alice", 7.25), (4, "Zed", 1.0)]
    return spark.createDataFrame(rows, ["id", "name", "amount"])


@prints("sc.sql")
def filters_and_orders(spark):
    F, p = functions(), people(spark)
    p.filter(p.age > 40).show()
    p.where("age = 34").show()
    p.filter(F.col("name").like("A%") | p.score.isNull()).show()
    p[p.age > 40].show()
    p.orderBy("age", "name").show()
    p.orderBy(F.desc("age"), "name").show()
    p.sort(p.score.desc()).show()
    p.orderBy("name", ascending=False).show()
    print(p.limit(2).collect(), p.count(), p.isEmpty(), p.filter("age > 100").isEmpty())


@prints("sc.sql")
def groups(spark):
    F, p, o = functions(), people(spark), orders(spark)
    p.groupBy("age").avg().orderBy("age").show()
    p.groupBy("age").avg("score").orderBy("age").show()
    p.groupBy("age").count().orderBy("age").show()
    p.groupBy("age").count().printSchema()
    o.groupBy("name").agg(F.sum("amount"), F.count("*").alias("n"), F.max("id")).orderBy(
        "name"
    ).show()
    o.groupBy("name").agg({"amount": "max"}).orderBy("name").show()
    o.agg(F.avg("amount"), F.countDistinct("name"), F.sum("id"), F.min("name")).show()
    o.groupBy("name").agg(F.sum("id")).orderBy("sum(id)", "name").show()
    o.groupBy("name").sum("id").withColumnRenamed("sum(id)", "total").orderBy("name").show()
    o.groupBy(F.upper("name")).count().orderBy("upper(name)").show()
    o.groupBy().sum().show()


@prints("sc.sql")
def pivots(spark):
    F, o = functions(), orders(spark)
    o.groupBy("name").pivot("id").sum("amount").orderBy("name").show()
    o.groupBy("name").pivot("id", [1, 2]).count().orderBy("name").show()
    o.groupBy("name").pivot("id", [1, 3]).agg(F.sum("amount").alias("s"), F.max("id")).orderBy(
        "name"
    ).show()


@prints("sc.sql")
def joins(spark):
    p, o = people(spark), orders(spark)
    p.join(o, "name").orderBy("id").show()
    p.join(o, p.name == o.name, "left").orderBy(p.name, "id").show()
    p.join(o, "name", "outer").orderBy("name", "id").show()
    p.join(o, ["name"], "right").orderBy("id").show()
    p.join(o, "name", "left_anti").orderBy("name").show()
    p.join(o, "name", "left_semi").orderBy("name").show()
    p.join(o, p.name == o.name).select(p.name, o.id).orderBy("id").show()
    p.join(o, p.name == o.name).drop(o.name).orderBy("id").show()
    a, b = p.alias("a"), p.alias("b")
    a.join(b, functions().expr("a.age < b.age")).select("a.name", "b.age").orderBy("name").show()
    print(p.crossJoin(o).count())


@prints("sc.sql")
def other_columns(spark):
    F, p = functions(), people(spark)
    p.withColumn("older", p.age + 10).withColumnRenamed("name", "who").drop("score").show()
    p.withColumn("age", p.age * 2).withColumn("k", F.lit("x")).show()
    p.toDF("a", "b", "c").selectExpr("a", "b * 2 as b2", "upper(a)").show()
    p.select([F.col(name).alias(name.upper()) for name in p.columns]).show()
    p.select(p.name.alias("q"), "*").show(1)


@prints("sc.sql")
def rows_of_several_tables(spark):
    a = spark.createDataFrame([(1, "a")], ["x", "y"])
    b = spark.createDataFrame([(2, "b")], ["x", "y"])
    a.union(b).orderBy("x").show()
    a.unionByName(b.select("y", "x")).orderBy("x").show()
    a.union(b).intersect(b).show()
    a.union(b).subtract(b).show()
    a.union(a).distinct().show()
    a.union(a).dropDuplicates(["y"]).show()


@prints("sc.sql")
def missing_values(spark):
    p = people(spark)
    p.na.fill(0).show()
    p.fillna({"age": 1, "score": 0.5}).show()
    p.dropna().show()
    p.na.drop(subset=["age"]).show()
    p.na.replace("Bob", "Rob").show()
    p.replace([34, 45], [1, 2], "age").show()


@prints("sc.sql")
def statistics(spark):
    p = people(spark)
    p.describe().show()
    p.describe("age").show()
    p.summary().show()
    p.select("score").summary("count", "max").show()


@prints("sc.sql")
def queries_in_sql(spark):
    people(spark).createOrReplaceTempView("people_of_sql")
    orders(spark).createOrReplaceTempView("orders_of_sql")
    spark.sql("SELECT name, age FROM people_of_sql WHERE age > 40").show()
    spark.sql(
        "select age, count(*) as n, avg(score), max(score)+1 from people_of_sql group by age "
        "having count(*) > 0 order by age"
    ).show()
    spark.sql(
        "select p.name, o.id from people_of_sql p join orders_of_sql o on p.name = o.name "
        "order by o.id"
    ).show()
    spark.sql("with x as (select name from people_of_sql) select count(*) c from x").show()
    spark.sql("select case when age > 40 then 'old' else 'young' end from people_of_sql").show()
    spark.sql("select upper(name), cast(age as string), age/2 from people_of_sql limit 1").show()
    spark.sql(
        "select name from people_of_sql union select name from orders_of_sql order by name"
    ).show()
    spark.sql("select *, row_number() over (order by name) rn from people_of_sql").show()
    spark.sql("select 1+1, 'a', true, null, 1 as x").show()
    spark.table("people_of_sql").filter("age is null").show()


@prints("sc.sql")
def views_are_replaced(spark):
    spark.range(2).createOrReplaceTempView("replaced")
    spark.createDataFrame([("a",)], ["Other"]).createOrReplaceTempView("Replaced")
    spark.sql("select * from replaced").show()
    spark.sql("select OTHER from replaced where other = 'a'").show()
    print(spark.catalog.dropTempView("replaced"), spark.catalog.dropTempView("replaced"))


@prints("sc.sql")
def files(spark, folder):
    people(spark).coalesce(1).write.csv(f"{folder}/csv", header=True)
    table = spark.read.csv(f"{folder}/csv", header=True, inferSchema=True)
    table.show()
    table.printSchema()
    people(spark).write.parquet(f"{folder}/parquet")
    spark.read.parquet(f"{folder}/parquet").orderBy("name").show()
    spark.read.parquet(f"{folder}/parquet").printSchema()
    people(spark).coalesce(1).write.json(f"{folder}/json")
    spark.read.json(f"{folder}/json").orderBy("name").show()
    spark.read.format("json").load(f"{folder}/json").printSchema()


@prints("sc.sql")
def files_of_others(spark, folder):
    (folder / "a.csv").write_text('name,age,day\nx,1,2024-01-02\n"y, z",,\n')
    path = str(folder / "a.csv")
    spark.read.csv(path).show()
    spark.read.csv(path, header=True).printSchema()
    spark.read.option("header", True).option("inferSchema", "true").csv(path).printSchema()
    spark.read.schema("name string, age double, day date").csv(path, header=True).show()
    (folder / "b.json").write_text('{"name":"x","age":1}\n{"name":"y","in":{"z":[1,2]}}\n')
    table = spark.read.json(str(folder / "b.json"))
    table.show()
    table.printSchema()
    print(table.collect())
    (folder / "c.txt").write_text("a b\n\nc\n")
    text = spark.read.text(str(folder / "c.txt"))
    text.show()
    print(text.count(), text.filter(text.value.contains("b")).collect(), text.rdd.count())
