"""Tables made of rows, and rows of tables."""

import datetime
import decimal
from collections import namedtuple

from tests.pyspark.api import submodule
from tests.pyspark.printing import functions, prints

Point = namedtuple("Point", "x y")


class Person:
    def __init__(self, name, age):
        self.name, self.age = name, age


def row(**values):
    return submodule("sql").Row(**values)


def types():
    return submodule("sql.types")


@prints("toDF")
def a_word_count_becomes_a_table(spark):
    F = functions()
    lines = spark.sparkContext.parallelize(["the quick fox", "the lazy dog", "the fox"], 2)
    counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
    table = counts.toDF(["word", "count"])
    table.orderBy(F.desc("count"), "word").show()
    table.orderBy("word").show(2)
    table.printSchema()
    print(table, table.count(), sorted(table.rdd.map(tuple).collect()))


@prints("toDF")
def rdds_of_all_kinds_of_rows(spark):
    sc = spark.sparkContext
    sc.parallelize([row(name="a", age=1), row(name="b", age=2)], 2).toDF().show()
    sc.parallelize([{"n": 1, "a": "x"}]).toDF().show()
    sc.parallelize([Point(1, 2.0)]).toDF().show()
    sc.parallelize([Person("Ada", 36)]).toDF().show()
    sc.parallelize([[1, "x"]]).toDF().show()
    sc.parallelize([1, 2]).map(lambda x: (x,)).toDF(["only"]).show()


@prints("toDF")
def rdds_with_schemas(spark):
    sc, t = spark.sparkContext, types()
    sc.parallelize([1, 2]).toDF("int").show()
    sc.parallelize([(1, "a")]).toDF("id int, s string").printSchema()
    schema = t.StructType([t.StructField("id", t.LongType(), False)])
    made = sc.parallelize([(1,), (2,)], 2).toDF(schema)
    made.printSchema()
    made.filter(made.id > 1).printSchema()
    sc.parallelize([(1, 2)]).toDF(["a"]).show()
    sc.parallelize([{"b": 1, "a": 2}]).toDF(["x", "y"]).show()
    sc.parallelize([{"b": 1.5, "c": 2}]).toDF("a string, b double").show()


@prints("toDF")
def rows_of_other_types_than_the_first(spark):
    sc = spark.sparkContext
    sc.parallelize([(1, "a"), (2.5, 3)], 1).toDF(["a", "b"]).show()
    sc.parallelize([(1.5,), (2,)], 1).toDF(["a"]).show()
    sc.parallelize([(None, 1), (2, 2)], 1).toDF(["a", "b"]).printSchema()
    sc.parallelize([(None, 1), (2, 2)], 1).toDF(["a", "b"], sampleRatio=1.0).printSchema()
    spark.createDataFrame([(1,), ("a",), (None,)], ["a"]).show()


@prints("sc.createDataFrame")
def tables_of_rows(spark):
    day, noon = datetime.date(2000, 1, 2), datetime.datetime(2000, 1, 1, 12, 0, 0, 250000)
    table = spark.createDataFrame([row(a=1, b=2.0, c="text", d=day, e=noon, f=True)])
    print(table)
    table.show()
    table.printSchema()
    print(table.collect(), table.schema, table.dtypes, table.columns)


@prints("sc.createDataFrame")
def tables_with_nested_values(spark):
    table = spark.createDataFrame(
        [row(a=[1, None], b={"k": 1}, c=row(x=1, y=None), f=b"ab", g=decimal.Decimal("1.50"))],
        "a array<int>, b map<string,int>, c struct<x:int,y:string>, f binary, g decimal(5,2)",
    )
    table.show()
    table.show(truncate=False)
    table.printSchema()
    table.printSchema(1)
    print(table.collect())
    print(table.first().c.x, table.first().asDict(recursive=True))


@prints("sc.createDataFrame")
def inferred_nested_types(spark):
    table = spark.createDataFrame([row(a=[1, 2], b={"k": 1.5}, c=row(x=[row(y=1)]), d=(1, "z"))])
    table.printSchema()
    table.show(truncate=False)
    print(table.schema.simpleString(), table.schema.json())


@prints("sc.createDataFrame")
def tables_of_tuples_dictionaries_and_pandas(spark):
    import pandas

    spark.createDataFrame([(1, "a"), (2, None)]).show()
    spark.createDataFrame([{"name": "x", "age": 1}, {"name": "y", "age": 2}]).show()
    spark.createDataFrame([1, 2], "int").show()
    spark.createDataFrame([], "a int").show()
    data = {"a": [1, 2], "b": ["x", "y"], "c": [1.0, float("nan")]}
    spark.createDataFrame(pandas.DataFrame(data)).show()
    spark.createDataFrame(pandas.DataFrame(data), ["p", "q", "r"]).printSchema()


@prints("sc.createDataFrame")
def numbers_as_java_writes_them(spark):
    values = [1e10, 1e-5, 1.0, float("nan"), float("inf"), -0.0, 123456789.125, 0.1, 1e7, 9999999.0]
    spark.createDataFrame([(value,) for value in values], ["v"]).show()
    spark.createDataFrame([(0.1, 1.5)], "a float, b float").show()
    spark.createDataFrame([(decimal.Decimal("1E+3"),)], "d decimal(10,2)").show()
    spark.createDataFrame([(datetime.timedelta(days=1, seconds=2.5),)], ["t"]).show(truncate=False)


@prints("sc.createDataFrame")
def wide_long_and_odd_text(spark):
    table = spark.createDataFrame([("日本", "a" * 30), ("é\nx", ""), (None, "\t")], ["c", "long"])
    table.show()
    table.show(2, truncate=5)
    table.show(2, truncate=False)
    table.show(2, vertical=True)
    table.show(0)
    spark.range(25).show()
    spark.range(3).show(1)


@prints("sc.createDataFrame")
def rows_come_back_as_an_rdd(spark):
    table = spark.createDataFrame([(1, "a", [1, 2], {"k": 1.5})], ["i", "s", "l", "m"])
    print(table.rdd.collect(), table.rdd.map(lambda r: r.i + len(r.l)).collect())
    print(table.toJSON().collect(), table.select("s").rdd.flatMap(lambda r: r).collect())
    print(spark.range(5).rdd.map(lambda r: r.id).sum(), list(spark.range(2).toLocalIterator()))
    spark.range(2).printSchema()
    print(spark.range(1, 6, 2).collect(), spark.range(4).take(2), spark.range(4).tail(1))
    print(spark.range(4).first(), spark.range(4).head(1), spark.range(0).first())
