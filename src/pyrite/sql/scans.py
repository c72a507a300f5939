"""How DuckDB reads files so that the columns are those that Spark finds."""

from __future__ import annotations

import re
from typing import Any

from pyrite.errors import AnalysisException
from pyrite.sql.csvtext import CsvRules, rewrite
from pyrite.sql.udf import duckdb_type

CSV_OPTIONS = {"sep": "delim", "delimiter": "delim", "quote": "quote", "escape": "escape"}
# Spark leaves text in JSON as it is.
TEXT_IN_JSON = re.compile(
    r"\b(DATE|TIMESTAMP_NS|TIMESTAMP|TIME|UUID|JSON)\b( WITH TIME ZONE)?|\"NULL\""
)
SMALL = 1 << 31


def csv_scan(
    connection: Any, files: list[str], schema: Any, options: dict[str, Any], folder: str
) -> str:
    """A query over files of separated values, or over copies of them in a folder."""
    header = is_true(options.get("header"))
    infer = schema is None and is_true(options.get("inferschema"))
    given: dict[str, Any] = {
        "header": header,
        "delim": ",",
        "quote": '"',
        "escape": "\\",
        "nullstr": sorted({"", str(options.get("nullvalue", ""))}),
        # Spark holds every value against the word for None, quoted or not.
        "allow_quoted_nulls": "nullvalue" not in options,
        "null_padding": True,
        "strict_mode": False,
        "all_varchar": not infer,
        "union_by_name": False,
        # Other dates are text to Spark.
        "dateformat": "%Y-%m-%d",
    }
    given |= {CSV_OPTIONS[key]: value for key, value in options.items() if key in CSV_OPTIONS}
    rules = CsvRules(
        given["delim"], given["quote"], given["escape"] or "\\", is_true(options.get("multiline"))
    )
    files, found_files = rewrite(files, rules, folder), files
    if files != found_files:
        given |= {"delim": ",", "quote": '"', "parallel": False}
    # What a backslash means, the rewritten files say without one.
    given["escape"] = given["quote"]
    scan = f"read_csv({_list(files)}, {_arguments(given)})"
    found = described(connection, f"SELECT * FROM {scan}")
    columns = []
    # Values beyond the header have no column.
    beyond = [f"column{number}" for number in range(len(found))] if header else []
    while len(found) > 1 and found[-1][0] in beyond[len(found) - 1 :]:
        found.pop()
    for number, (name, kind) in enumerate(found):
        shown = schema.names[number] if schema is not None and number < len(schema) else name
        shown = shown if header or schema is not None else f"_c{number}"
        target = _csv_type(connection, scan, name, kind) if infer else "VARCHAR"
        if schema is not None and number < len(schema):
            target = duckdb_type(schema.fields[number].dataType)
        columns.append(f"TRY_CAST({quoted(name)} AS {target}) AS {quoted(shown)}")
    return f"SELECT {', '.join(columns)} FROM {scan}"


def json_scan(
    connection: Any, files: list[str], schema: Any, options: dict[str, Any], folder: str
) -> str:
    """A query over files of JSON, an object per line unless they say otherwise."""
    shape = "auto" if is_true(options.get("multiline")) else "newline_delimited"
    if schema is not None:
        kinds = {field.name: duckdb_type(field.dataType) for field in schema}
        return (
            f"SELECT * FROM read_json({_list(files)}, format='{shape}', columns={_struct(kinds)})"
        )
    scan = f"read_json({_list(files)}, format='{shape}', sample_size=-1)"
    found = sorted(described(connection, f"SELECT * FROM {scan}"))
    kinds = {name: TEXT_IN_JSON.sub("VARCHAR", kind) for name, kind in found}
    return f"SELECT * FROM read_json({_list(files)}, format='{shape}', columns={_struct(kinds)})"


def parquet_scan(
    connection: Any, files: list[str], schema: Any, options: dict[str, Any], folder: str
) -> str:
    """A query over Parquet files."""
    merge = is_true(options.get("mergeschema"))
    return f"SELECT * FROM read_parquet({_list(files)}, union_by_name={merge})"


SCANS = {"csv": csv_scan, "json": json_scan, "parquet": parquet_scan}


def described(connection: Any, query: str) -> list[tuple[str, str]]:
    """The names and types of a query's columns."""
    import duckdb

    try:
        found = connection.sql(query)
    except duckdb.Error as error:
        raise AnalysisException(str(error), "UNABLE_TO_INFER_SCHEMA") from error
    return list(zip(found.columns, map(str, found.types), strict=True))


def is_true(value: Any) -> bool:
    """Whether an option says yes."""
    return str(value).lower() == "true"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _csv_type(connection: Any, scan: str, name: str, kind: str) -> str:
    """Whole numbers are of 32 bits where all of them are."""
    if kind == "TIME":
        return "VARCHAR"
    if kind != "BIGINT":
        return kind
    column = quoted(name)
    low, high = connection.sql(f"SELECT min({column}), max({column}) FROM {scan}").fetchall()[0]
    return "INTEGER" if low is None or (low >= -SMALL and high < SMALL) else kind


def _list(files: list[str]) -> str:
    return f"[{', '.join(map(text, files))}]"


def _struct(kinds: dict[str, str]) -> str:
    return "{" + ", ".join(f"{text(name)}: {text(kind)}" for name, kind in kinds.items()) + "}"


def _arguments(given: dict[str, Any]) -> str:
    return ", ".join(f"{key}={_argument(value)}" for key, value in given.items())


def _argument(value: Any) -> str:
    if isinstance(value, list):
        return _list(value)
    return text(value) if isinstance(value, str) else str(value).lower()
