"""SparkSession as the way to a context, Row, and what is said of tables without the extra."""

import copy
import doctest
import importlib
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pyrite
from pyrite.errors import NotSupported, UserError
from pyrite.sql import Row, SparkSession, extra


@pytest.fixture(scope="module")
def shared() -> Iterator[SparkSession]:
    with SparkSession.builder.master("local[2]").appName("tests of sql").getOrCreate() as session:
        yield session


@pytest.fixture
def spark(shared: SparkSession) -> Iterator[SparkSession]:
    before = dict(shared.conf._values)
    yield shared
    shared.conf._values = before
    SparkSession._active = shared


# Sessions


def test_the_builder_configures_the_context(spark: SparkSession) -> None:
    assert spark.sparkContext.appName == "tests of sql"
    assert spark.sparkContext.master == "local[2]"
    assert spark.version == pyrite.__version__
    assert spark.sparkContext.range(5).sum() == 10


def test_a_second_getOrCreate_gives_the_same_session(spark: SparkSession) -> None:
    again = SparkSession.builder.appName("other").config("spark.mine", True).getOrCreate()
    assert again is spark
    assert spark.conf.get("spark.app.name") == "other"
    assert spark.conf.get("spark.mine") == "true"
    assert spark.sparkContext.appName == "tests of sql"


def test_each_builder_starts_empty(spark: SparkSession) -> None:
    SparkSession.builder.config("spark.leftover", 1)
    assert SparkSession.builder.getOrCreate().conf.get("spark.leftover", None) is None


def test_a_builder_takes_pairs_dictionaries_and_confs(spark: SparkSession) -> None:
    conf = pyrite.SparkConf(loadDefaults=False).set("spark.a", 1)
    builder = SparkSession.builder.config(conf=conf).config(map={"spark.b": 2})
    session = builder.config("spark.c", 3).enableHiveSupport().getOrCreate()
    assert [session.conf.get(f"spark.{name}") for name in "abc"] == ["1", "2", "3"]


def test_a_session_over_a_given_context(spark: SparkSession) -> None:
    assert SparkSession(spark.sparkContext).sparkContext is spark.sparkContext
    assert spark.newSession().sparkContext is spark.sparkContext


def test_the_active_session(spark: SparkSession) -> None:
    assert SparkSession.getActiveSession() is spark
    assert SparkSession.active() is spark


def test_a_session_ends_with_its_context(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The context of the other tests goes on meanwhile.
    monkeypatch.setattr(pyrite.SparkContext, "_active_spark_context", None)
    with SparkSession.builder.master("local[1]").getOrCreate() as session:
        assert SparkSession.active() is session
    assert SparkSession.getActiveSession() is None
    with pytest.raises(RuntimeError, match=r"SparkSession\.builder\.getOrCreate"):
        SparkSession.active()
    with pytest.raises(UserError):
        session.sparkContext.parallelize([1])


def test_settings_of_a_session(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", 8)
    assert spark.conf.get("spark.sql.shuffle.partitions") == "8"
    assert "spark.sql.shuffle.partitions" in spark.conf.getAll
    spark.conf.unset("spark.sql.shuffle.partitions")
    assert spark.conf.get("spark.sql.shuffle.partitions", "9") == "9"
    assert spark.conf.get("spark.task.maxFailures") == "4"
    assert not spark.conf.isModifiable("spark.app.name")
    with pytest.raises(UserError, match=r"spark\.nothing"):
        spark.conf.get("spark.nothing")
    with pytest.raises(UserError, match=r"spark\.executor\.memory is read when the context starts"):
        spark.conf.set("spark.executor.memory", "1g")


def test_a_session_in_a_task_is_named(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r"(?s)spark, of type .*SparkSession.* in the driver"):
        spark.sparkContext.parallelize([1]).map(lambda _: spark.version).collect()


# Reading text


def test_text_is_read_as_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two\n\nthree\n")
    rows = spark.read.text(str(tmp_path / "a.txt")).rdd
    assert rows.collect() == [Row(value="one two"), Row(value=""), Row(value="three")]
    assert rows.map(lambda row: (row.value, row[0], row["value"])).first() == ("one two",) * 3


def test_several_paths_and_whole_files(spark: SparkSession, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in "ab"]
    for path in paths:
        Path(path).write_text("x\ny\n")
    assert [row.value for row in spark.read.text(paths).rdd.collect()] == ["x", "y", "x", "y"]
    whole = spark.read.text(paths[0], wholetext=True)
    assert whole.rdd.collect() == [Row(value="x\ny\n")]


def test_a_missing_path_is_said_at_once(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="nowhere"):
        spark.read.text(str(tmp_path / "nowhere"))


# Without the extra


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    extra.installed.cache_clear()
    yield
    extra.installed.cache_clear()


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("SparkSession.sql", lambda spark, text: spark.sql("select 1")),
        ("SparkSession.createDataFrame", lambda spark, text: spark.createDataFrame([(1,)])),
        ("SparkSession.table", lambda spark, text: spark.table("t")),
        ("SparkSession.range", lambda spark, text: spark.range(3)),
        ("SparkSession.udf", lambda spark, text: spark.udf.register("f", len)),
        ("SparkSession.catalog", lambda spark, text: spark.catalog.listTables()),
        ("SparkSession.readStream", lambda spark, text: spark.readStream),
        ("RDD.toDF", lambda spark, text: text.rdd.toDF()),
        ("spark.read.csv", lambda spark, text: spark.read.csv("x")),
        ("spark.read.format", lambda spark, text: spark.read.format("text").load("x")),
        ("DataFrame.show", lambda spark, text: text.show()),
        ("DataFrame.count", lambda spark, text: text.count()),
        ("DataFrame.select", lambda spark, text: text.select("value")),
        (r"DataFrame\['value'\]", lambda spark, text: text["value"]),
        ("iterating over a DataFrame", lambda spark, text: list(text)),
    ],
)
def test_without_the_extra_tables_are_refused_with_how_to_install_it(
    spark: SparkSession,
    no_extra: None,
    tmp_path: Path,
    name: str,
    use: Callable[[Any, Any], object],
) -> None:
    (tmp_path / "a.txt").write_text("line\n")
    text = spark.read.text(str(tmp_path / "a.txt"))
    with pytest.raises(NotSupported, match=f"{name}.* belongs to Spark SQL: .*no DataFrames") as no:
        use(spark, text)
    assert "pip install 'pyrite[sql]'" in str(no.value)


@pytest.mark.parametrize("name", ["builder.remote", "builder.create"])
def test_spark_connect_is_refused(spark: SparkSession, name: str) -> None:
    with pytest.raises(NotSupported, match=f"SparkSession.{name} belongs to Spark SQL"):
        spark.builder.remote("sc://x") if name == "builder.remote" else spark.builder.create()


@pytest.mark.parametrize(
    "statement",
    [
        "from pyrite.sql import functions as F",
        "from pyrite.sql import DataFrame",
        "from pyrite.sql import SparkSession, Window",
        "from pyrite.sql.udf import udf",
    ],
)
def test_names_of_the_extra_say_how_to_install_it(statement: str) -> None:
    # In a process of its own: here the modules may be loaded already.
    hidden = "import importlib.util as u; u.find_spec = lambda name: None"
    program = f"{hidden}\ntry:\n    {statement}\nexcept ImportError as error:\n    print(error)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert re.search(r"pyspark\.sql.* belongs to Spark SQL: .*pyrite\[sql\]", found.stdout), found


@pytest.mark.parametrize(
    "statement",
    [
        "from pyrite.sql import HiveContext",
        "from pyrite.sql import streaming",
        "from pyrite.sql.types import VariantType",
    ],
)
def test_names_of_spark_sql_that_nobody_has_can_not_be_imported(statement: str) -> None:
    with pytest.raises(ImportError, match=r"pyspark\.sql.* belongs to Spark SQL") as caught:
        exec(statement, {})
    assert isinstance(caught.value, NotSupported)


def test_types_need_no_extra_and_a_session_loads_none() -> None:
    program = (
        "import sys; from pyrite.sql import SparkSession; from pyrite.sql.types import StructType\n"
        "print([name for name in ('sqlframe', 'duckdb', 'pyarrow') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout == "[]\n", found


def test_other_names_are_missing_in_the_usual_way(spark: SparkSession) -> None:
    # pickle asks each module for names, tools ask objects for private ones.
    for owner in (
        importlib.import_module("pyrite.sql"),
        importlib.import_module("pyrite.sql.types"),
    ):
        assert not hasattr(owner, "add")
    assert not hasattr(spark, "_repr_html_")
    assert not hasattr(spark.read, "__array__")


# Rows, as PySpark has them


def test_a_row_by_names() -> None:
    row = Row(b=1, a="x")
    assert (row.b, row.a, row[0], row[-1], row["a"], row[0:1]) == (1, "x", 1, "x", "x", (1,))
    assert repr(row) == "Row(b=1, a='x')"
    assert ("a" in row, "x" in row, len(row), list(row)) == (True, False, 2, [1, "x"])
    assert row.__fields__ == ["b", "a"]


def test_a_class_of_rows() -> None:
    Point = Row("x", "y")
    assert repr(Point) == "<Row('x', 'y')>"
    assert ("x" in Point, "z" in Point, Point[0]) == (True, False, "x")
    assert Point(1, 2) == Row(x=1, y=2)
    assert repr(Point(1)) == "Row(x=1)"
    assert Point(1).asDict() == {"x": 1}
    assert repr(Row()) == "<Row()>"
    with pytest.raises(ValueError, match="2 fields; got 3"):
        Point(1, 2, 3)
    with pytest.raises(AttributeError):
        _ = Point(1).y
    with pytest.raises(AttributeError):
        _ = Point.x
    with pytest.raises(TypeError, match="no values"):
        Point.asDict()


def test_rows_are_tuples() -> None:
    assert Row(a=1, b=2) == (1, 2) == Row(x=1, y=2)
    assert hash(Row(a=1, b=2)) == hash((1, 2))
    assert sorted([Row(a=2), Row(a=1)]) == [Row(a=1), Row(a=2)]


def test_a_row_as_a_dictionary() -> None:
    row = Row(a=[Row(b=1)], c={"k": Row(b=2)}, d=Row(b=3), e=None)
    assert row.asDict()["d"] == Row(b=3)
    plain = {"a": [{"b": 1}], "c": {"k": {"b": 2}}, "d": {"b": 3}, "e": None}
    assert row.asDict(recursive=True) == plain


def test_rows_refuse_what_makes_no_sense() -> None:
    row = Row(a=1)
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)
    with pytest.raises(ValueError, match="no field 'z'"):
        row["z"]
    with pytest.raises(AttributeError, match="no field 'z'"):
        _ = row.z
    with pytest.raises(IndexError):
        row[5]
    with pytest.raises(RuntimeError, match="read-only"):
        row.a = 2


@pytest.mark.parametrize("row", [Row(a=1, b="x"), Row("a", "b"), Row("a", "b")(1), Row()])
def test_rows_survive_pickling_and_copying(row: Row) -> None:
    for again in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert (again, repr(again), type(again)) == (row, repr(row), Row)


def test_rows_travel_to_tasks_and_back(spark: SparkSession) -> None:
    Point = Row("x", "y")
    rows = spark.sparkContext.parallelize([Row(x=1, y=2), Row(x=1, y=3)], 2)
    sums = rows.map(lambda row: (Point(row.x, 0), row.y)).reduceByKey(lambda a, b: a + b)
    ((key, total),) = sums.collect()
    assert (key.x, repr(key), total) == (1, "Row(x=1, y=0)", 5)


@pytest.mark.parametrize("name", ["row", "reader", "session"])
def test_the_examples_in_docstrings(spark: SparkSession, name: str) -> None:
    module = importlib.import_module(f"pyrite.sql.{name}")
    result = doctest.testmod(module, extraglobs={"sc": spark.sparkContext})
    assert (result.failed, result.attempted > 0) == (0, True)
