"""RDDs that become tables: what crosses, where, and when."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import (
    AnalysisException,
    NotSupported,
    ParseException,
    PySparkTypeError,
    TaskFailed,
)
from pyrite.sql import Row, SparkSession

if any(importlib.util.find_spec(name) is None for name in ("sqlframe", "duckdb", "pyarrow")):
    pytest.skip("pyrite[sql] is not installed", allow_module_level=True)

PROGRAM = """
from pyspark.sql import SparkSession
from pyspark.sql.functions import desc

spark = SparkSession.builder.appName("words").getOrCreate()
lines = spark.sparkContext.parallelize(["a b a", "c a"], 2)
counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
counts.toDF(["word", "count"]).orderBy(desc("count"), "word").show()
"""
SHOWN = """\
+----+-----+
|word|count|
+----+-----+
|   a|    3|
|   b|    1|
|   c|    1|
+----+-----+

"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with SparkSession.builder.master("local[2]").appName("tables").getOrCreate() as session:
        yield session


def test_an_unchanged_program_prints_its_table(tmp_path: Path) -> None:
    program = tmp_path / "words.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "pyrite", "run", "--master", "local[2]", str(program)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == (SHOWN, "")


def test_batches_are_made_in_the_executors(spark: SparkSession, tmp_path: Path) -> None:
    class Noted:
        """Says which process looks into it."""

        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            (tmp_path / str(os.getpid())).touch()
            return {"a": 1}

    table = spark.createDataFrame(
        spark.sparkContext.parallelize([1] * 4, 4).map(lambda _: Noted()), "a int"
    )
    assert table.collect() == [Row(a=1)] * 4
    found = {int(path.name) for path in tmp_path.iterdir()}
    assert found and os.getpid() not in found


def test_rows_are_computed_when_a_query_reads_them_and_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    def noted(value: int) -> tuple[int]:
        with open(tmp_path / "seen", "a") as file:
            file.write("x")
        return (value,)

    table = spark.sparkContext.parallelize(range(3), 1).map(noted).toDF("a int")  # type: ignore[misc]
    table.printSchema()
    assert table.filter("a > 0").schema.simpleString() == "struct<a:int>"
    assert not (tmp_path / "seen").exists()
    assert (table.count(), table.filter("a > 0").count()) == (3, 2)
    assert (tmp_path / "seen").read_text() == "xxx"


def test_a_row_that_does_not_fit_fails_its_task(spark: SparkSession) -> None:
    rows = spark.sparkContext.parallelize([(1,), ("x",)], 2)
    table = spark.createDataFrame(rows, "a int")
    with pytest.raises(TaskFailed, match="field a is of type IntegerType") as caught:
        table.show()
    assert isinstance(caught.value.original, PySparkTypeError)


def test_rows_of_many_batches_keep_their_order(spark: SparkSession) -> None:
    numbers = spark.sparkContext.range(50_000, numSlices=3).map(lambda i: (i, str(i)))
    table = spark.createDataFrame(numbers, ["i", "s"])
    assert [row.i for row in table.collect()] == list(range(50_000))
    back = table.rdd
    assert back.getNumPartitions() == spark.sparkContext.defaultParallelism
    assert back.map(lambda row: row.i).collect() == list(range(50_000))
    assert type(back.first()) is Row


def test_a_table_in_a_task_is_named(spark: SparkSession) -> None:
    table = spark.range(3)
    with pytest.raises(Exception, match=r"a DataFrame can't be used inside a task"):
        spark.sparkContext.parallelize([1]).map(lambda _: table.count()).collect()


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("DataFrame.randomSplit", lambda spark: spark.range(3).randomSplit([1, 1])),
        ("DataFrame.writeStream", lambda spark: spark.range(3).writeStream),
        ("GroupedData.applyInPandas", lambda spark: spark.range(3).groupBy("id").applyInPandas),
        ("Column.dropFields", lambda spark: spark.range(3).id.dropFields("x")),
        ("SparkSession.readStream", lambda spark: spark.readStream),
        ("SparkSession.sql with parameters", lambda spark: spark.sql("select :x", {"x": 1})),
        ("spark.read.jdbc", lambda spark: spark.read.jdbc("url")),
        (r"spark.read.format\('orc'\)", lambda spark: spark.read.format("orc").load("x")),
        ("spark.read.option.'comment', '#'.", lambda spark: spark.read.csv("x", comment="#")),
        (
            "df.write.option.'quoteall'.*",
            lambda spark: spark.range(1).write.csv("x", quoteAll=True),
        ),
        ("df.write.saveAsTable", lambda spark: spark.range(3).write.saveAsTable("t")),
        ("spark.catalog.listTables", lambda spark: spark.catalog.listTables()),
        ("array_distinct in SQL", lambda spark: spark.sql("select array_distinct(array(1))")),
    ],
)
def test_what_there_is_not_is_refused_by_name(spark: SparkSession, name: str, use: Any) -> None:
    with pytest.raises(NotSupported, match=f"{name} belongs to Spark SQL, and pyrite"):
        use(spark)


def test_a_function_that_differs_is_refused_when_it_is_called(spark: SparkSession) -> None:
    names: dict[str, Any] = {}
    exec("from pyrite.sql.functions import *", names)
    with pytest.raises(NotSupported, match=r"pyspark.sql.functions.array_distinct belongs"):
        names["array_distinct"]("a")


def test_fractions_are_cut_off_and_floats_are_no_decimals(spark: SparkSession) -> None:
    from pyrite.sql import functions as F

    table = spark.createDataFrame([(3.7, -2.5)], ["a", "b"])
    found = table.select(table.a.cast("int"), F.expr("cast(b as bigint)"), table.a + 0.5)
    assert found.collect() == [(3, -2, 4.2)]
    assert [type(value) for value in found.first()] == [int, int, float]


def test_an_expression_that_can_not_be_read(spark: SparkSession) -> None:
    from pyrite.sql import functions as F

    with pytest.raises(ParseException, match=r"(?s)PARSE_SYNTAX_ERROR.*in 'a ==== 1'"):
        F.expr("a ==== 1")


def test_numbers_of_numpy_are_numbers(spark: SparkSession) -> None:
    numpy = pytest.importorskip("numpy")
    table = spark.createDataFrame([(1.5, 2)], ["a", "b"])
    found = table.filter(table.a > numpy.float64(1.0)).select(table.b + numpy.int64(1))
    assert found.collect() == [(3,)]
    assert found.columns == ["(b + 1)"]


def test_tables_end_with_their_session() -> None:
    with SparkSession.builder.getOrCreate() as first:
        first.range(3).createOrReplaceTempView("kept")
        assert first.catalog.tableExists("kept")
    with SparkSession.builder.master("local[1]").getOrCreate() as second:
        assert not second.catalog.tableExists("kept")
        with pytest.raises(AnalysisException):
            second.table("kept")
        assert second.range(2).count() == 2
