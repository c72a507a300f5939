"""Functions of the user's own in queries; DuckDB calls them in the driver, row by row."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from itertools import count
from typing import Any

from pyrite.sql.extra import needed

with needed("pyspark.sql.functions.udf"):
    from sqlglot import exp

    from pyrite.sql.column import Column
    from pyrite.sql.names import NAME, name_of
    from pyrite.sql.types import ArrayType, DataType, MapType, StringType, StructType
    from pyrite.sql.values import converter

_numbers = count(1)


class UserDefinedFunction:
    """A function that takes columns and gives a column; None is passed to it as any value."""

    def __init__(self, func: Callable[..., Any], returnType: DataType | str = "string") -> None:
        self.func = func
        self.returnType = (
            DataType.fromDDL(returnType) if isinstance(returnType, str) else returnType
        )
        self._name = getattr(func, "__name__", type(func).__name__)
        self._engine: Any = None
        self._registered = ""
        update_wrapper(self, func, updated=())

    def __call__(self, *cols: Any) -> Column:
        from pyrite.sql import functions

        columns = [functions.col(each) if isinstance(each, str) else each for each in cols]
        arguments = [each.column_expression for each in columns]
        made = exp.Anonymous(this=self._register(), expressions=arguments)
        made.meta[NAME] = f"{self._name}({', '.join(name_of(each.expression) for each in columns)})"
        return Column(made)

    def asNondeterministic(self) -> UserDefinedFunction:
        """Changes nothing."""
        return self

    def _register(self) -> str:
        from pyrite.sql.engine import SqlEngines

        if self._engine is not SqlEngines.get():
            self._engine = SqlEngines.get()
            self._registered = f"pyrite_udf_{next(_numbers)}"
            add_function(self._engine, self._registered, self.func, self.returnType)
        return self._registered


class UDFRegistration:
    """What ``spark.udf`` gives: functions by name, for SQL."""

    def register(self, name: str, f: Any, returnType: DataType | str | None = None) -> Any:
        """Gives a function a name that queries know."""
        from pyrite.sql.engine import SqlEngines

        made = (
            f
            if isinstance(f, UserDefinedFunction)
            else UserDefinedFunction(f, returnType or "string")
        )
        add_function(SqlEngines.get(), name, made.func, made.returnType)
        return made


def udf(f: Any = None, returnType: DataType | str = "string", **options: Any) -> Any:
    """A function of columns made of one of values; also as a decorator, with or without a type."""
    if callable(f):
        return UserDefinedFunction(f, returnType)
    kind = returnType if f is None else f
    return lambda function: UserDefinedFunction(function, kind)


def add_function(engine: Any, name: str, function: Callable[..., Any], kind: DataType) -> None:
    """Makes a function known to DuckDB, whose results become values of a type as Spark does it."""
    import duckdb

    convert = _result(kind)

    def call(*values: Any) -> Any:
        return convert(function(*values))

    engine._conn.create_function(
        name, call, return_type=duckdb.type(duckdb_type(kind)), null_handling="special"
    )


def duckdb_type(kind: DataType) -> str:
    """How DuckDB spells a type."""
    match kind:
        case StringType():
            return "VARCHAR"
        case ArrayType():
            return f"{duckdb_type(kind.elementType)}[]"
        case MapType():
            return f"MAP({duckdb_type(kind.keyType)}, {duckdb_type(kind.valueType)})"
        case StructType():
            fields = (f'"{field.name}" {duckdb_type(field.dataType)}' for field in kind)
            return f"STRUCT({', '.join(fields)})"
        case _:
            return {"binary": "BLOB", "timestamp_ntz": "TIMESTAMP"}.get(
                kind.simpleString(), kind.simpleString()
            )


def _result(kind: DataType) -> Callable[[Any], Any]:
    convert = converter(kind)
    # Arrow takes maps as pairs, DuckDB as dictionaries.
    if isinstance(kind, MapType):
        return lambda value: None if value is None else dict(convert(value))
    return convert
