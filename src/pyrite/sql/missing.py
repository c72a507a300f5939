"""What Spark SQL has and Pyrite has not, and how to say so."""

from __future__ import annotations

from typing import NoReturn

from pyrite.errors import NotSupported

NAMES = frozenset(
    {
        "Catalog",
        "Column",
        "DataFrame",
        "DataFrameNaFunctions",
        "DataFrameReader",
        "DataFrameStatFunctions",
        "DataFrameWriter",
        "DataFrameWriterV2",
        "GroupedData",
        "HiveContext",
        "MergeIntoWriter",
        "Observation",
        "PandasCogroupedOps",
        "SQLContext",
        "UDFRegistration",
        "UDTFRegistration",
        "VariantVal",
        "Window",
        "WindowSpec",
        "avro",
        "catalog",
        "column",
        "conf",
        "connect",
        "context",
        "dataframe",
        "datasource",
        "functions",
        "group",
        "observation",
        "pandas",
        "protobuf",
        "readwriter",
        "streaming",
        "udf",
        "udtf",
        "window",
    }
)

TYPES = frozenset({"StructField", "VariantVal", "Geography", "Geometry"})


class NoSuchName(NotSupported, ImportError):
    """A name of pyspark.sql that Pyrite does not have."""


def refuse(what: str) -> NoReturn:
    """Raises the error that says that something belongs to Spark SQL, and what to do."""
    raise NotSupported(explain(what))


def refuse_import(module: str, name: str) -> NoReturn:
    """The same for a name that is taken from a module."""
    raise NoSuchName(explain(f"pyspark.{module.removeprefix('pyrite.')}.{name}"))


def explain(what: str) -> str:
    return (
        f"{what} belongs to Spark SQL: Pyrite has RDDs and no DataFrames. Read with "
        "spark.read.text(path).rdd or spark.sparkContext.textFile(path) and work on the rows "
        "with map, filter and reduceByKey; or collect() them into pandas, Polars or DuckDB"
    )
