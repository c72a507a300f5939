"""What Spark SQL has and Pyrite has not, and how to say so."""

from __future__ import annotations

from typing import NoReturn

from pyrite.errors import NotSupported

# What of pyspark.sql the extra has, by the module that it is in.
HOMES = {
    "Catalog": "pyrite.sql.catalog",
    "Column": "pyrite.sql.column",
    "DataFrame": "pyrite.sql.dataframe",
    "DataFrameReader": "pyrite.sql.readwriter",
    "DataFrameWriter": "pyrite.sql.readwriter",
    "GroupedData": "pyrite.sql.group",
    "SQLContext": "pyrite.sql.context",
    "UDFRegistration": "pyrite.sql.udf",
    "Window": "pyrite.sql.window",
    "WindowSpec": "pyrite.sql.window",
}

NAMES = frozenset(
    {
        "DataFrameNaFunctions",
        "DataFrameStatFunctions",
        "DataFrameWriterV2",
        "HiveContext",
        "MergeIntoWriter",
        "Observation",
        "PandasCogroupedOps",
        "UDTFRegistration",
        "VariantVal",
        "avro",
        "conf",
        "connect",
        "datasource",
        "observation",
        "pandas",
        "protobuf",
        "streaming",
        "udtf",
    }
)

TYPES = frozenset({"VariantVal", "VariantType", "UserDefinedType", "Geography", "Geometry"})

# Methods of DataFrames that SQLFrame has not, or does not do as Spark does.
TABLE_METHODS = frozenset(
    [
        "approxQuantile",
        "asTable",
        "checkpoint",
        "colRegex",
        "createGlobalTempView",
        "createOrReplaceGlobalTempView",
        "crosstab",
        "dropDuplicatesWithinWatermark",
        "executionInfo",
        "exists",
        "freqItems",
        "groupingSets",
        "inputFiles",
        "isLocal",
        "isStreaming",
        "lateralJoin",
        "localCheckpoint",
        "mapInArrow",
        "mapInPandas",
        "melt",
        "mergeInto",
        "metadataColumn",
        "observe",
        "pandas_api",
        "plot",
        "randomSplit",
        "repartitionByRange",
        "repartitionById",
        "replicate",
        "rollup",
        "sameSemantics",
        "sample",
        "sampleBy",
        "scalar",
        "semanticHash",
        "to",
        "transpose",
        "withMetadata",
        "withWatermark",
        "writeStream",
        "writeTo",
        "zipWithIndex",
    ]
)

INSTALL = "pip install 'pyrite[sql]'"


class NoSuchName(NotSupported, ImportError):
    """A name of pyspark.sql that Pyrite does not have."""


def refuse(what: str) -> NoReturn:
    """Raises the error that says that something of Spark SQL is not there, and what to do."""
    raise NotSupported(f"{what} belongs to Spark SQL, and pyrite[sql] does not have it. {ROWS}")


def refuse_import(module: str, name: str) -> NoReturn:
    """The same for a name that is taken from a module."""
    what = f"pyspark.{module.removeprefix('pyrite.')}.{name}"
    raise NoSuchName(f"{what} belongs to Spark SQL, and pyrite[sql] does not have it. {ROWS}")


def refuse_without_extra(what: str) -> NoReturn:
    """Raises the error that says how to install what tables need."""
    raise NoSuchName(
        f"{what} belongs to Spark SQL: by itself Pyrite has RDDs and no DataFrames. "
        f"{INSTALL} adds them. {ROWS}"
    )


ROWS = (
    "Without them, read with spark.read.text(path).rdd or spark.sparkContext.textFile(path) and "
    "work on the rows with map, filter and reduceByKey; or collect() them into pandas, Polars or "
    "DuckDB"
)
