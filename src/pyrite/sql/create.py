"""Tables made of rows: what createDataFrame and toDF do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pyrite.errors import PySparkTypeError, PySparkValueError
from pyrite.rdd.rdd import RDD
from pyrite.sql.crossing import list_as_table, rdd_as_table
from pyrite.sql.dataframe import DataFrame
from pyrite.sql.engine import SqlEngines
from pyrite.sql.infer import schema_of_list, schema_of_rdd
from pyrite.sql.types import DataType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable


def create_table(data: Any, schema: Any, ratio: float | None, verify: bool) -> DataFrame:
    """A table of an RDD, a list of rows, or a table of pandas or Arrow.

    >>> from pyrite.sql import SparkSession
    >>> SparkSession(sc).createDataFrame([("Ada", 1815)], ["name", "born"]).show()
    +----+----+
    |name|born|
    +----+----+
    | Ada|1815|
    +----+----+
    <BLANKLINE>
    """
    if isinstance(data, DataFrame):
        raise PySparkTypeError("the data is a DataFrame already", "INVALID_TYPE")
    if isinstance(data, str | bytes) or not (isinstance(data, RDD) or hasattr(data, "__iter__")):
        raise PySparkTypeError(f"{data!r} holds no rows", "CANNOT_INFER_SCHEMA_FOR_TYPE")
    if _is_of(data, "pandas", "DataFrame"):
        from pyrite.sql.frompandas import rows_of_pandas

        schema = list(map(str, data.columns)) if schema is None else schema
        data = rows_of_pandas(data)
    elif _is_of(data, "pyarrow", "Table"):
        schema = list(data.column_names) if schema is None else schema
        data = [tuple(row.values()) for row in data.to_pylist()]
    rows = data if isinstance(data, RDD) else list(data)
    kind = DataType.fromDDL(schema) if isinstance(schema, str) else schema
    if isinstance(kind, DataType) and not isinstance(kind, StructType):
        kind, rows = StructType().add("value", kind), _each_alone(rows)
    match kind:
        case StructType():
            return _made(rows, kind, kind, verify)
        case None | list() | tuple():
            names = None if kind is None else [str(name) for name in kind]
            inferred = _inferred(rows, names, ratio)
            if names is not None and len(names) > len(inferred):
                raise PySparkValueError(
                    f"{len(names)} names are given for {len(inferred)} columns",
                    "AXIS_LENGTH_MISMATCH",
                )
            return _made(rows, inferred, inferred.renamed(names or []), verify=False)
        case _:
            raise PySparkTypeError(
                f"a schema is a StructType, a text or a list of names, not {schema!r}",
                "NOT_EXPECTED_TYPE",
            )


def number_table(start: int, stop: int, step: int) -> DataFrame:
    """A table of whole numbers in one column, id."""
    from pyrite.sql import arrow

    schema = StructType().add("id", "bigint", False)

    def load() -> Any:
        numbers = arrow.load().array(range(start, stop, step), arrow.load().int64())
        return arrow.load().table({"id": numbers})

    return SqlEngines.get().table_of(schema, load)


def _inferred(rows: Any, names: list[str] | None, ratio: float | None) -> StructType:
    if isinstance(rows, RDD):
        return schema_of_rdd(rows, names, ratio)
    return schema_of_list(rows, names)


def _made(rows: Any, read_as: StructType, schema: StructType, verify: bool) -> DataFrame:
    """Rows are read by the names that they have, and get those of the table afterwards."""
    if isinstance(rows, RDD):
        load: Callable[[], Any] = partial(rdd_as_table, rows, read_as, verify)
        return SqlEngines.get().table_of(schema, lambda: load().rename_columns(_stored(schema)))
    table = list_as_table(rows, read_as, verify).rename_columns(_stored(schema))
    return SqlEngines.get().table_of(schema, lambda: table)


def _stored(schema: StructType) -> list[str]:
    return [name.lower() for name in schema.names]


def _each_alone(rows: Any) -> Any:
    if isinstance(rows, RDD):
        return rows.map(lambda value: (value,))
    return [(value,) for value in rows]


def _is_of(data: Any, package: str, name: str) -> bool:
    kind = type(data)
    return kind.__name__ == name and kind.__module__.split(".")[0] == package
