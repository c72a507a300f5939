"""Functions of columns: SQLFrame's, whose results have Spark's names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from pyrite.sql.extra import needed
from pyrite.sql.missing import refuse

with needed("pyspark.sql.functions"):
    import sqlglot
    from sqlframe.base import functions as all_functions
    from sqlframe.base.column import Column as SqlframeColumn
    from sqlframe.duckdb import functions as found_functions
    from sqlglot import expressions

    from pyrite.sql.callnames import UNNAMED, call_text
    from pyrite.sql.column import Column, referred
    from pyrite.sql.engine import Engines
    from pyrite.sql.names import NAME
    from pyrite.sql.types import DataType
    from pyrite.sql.udf import udf as udf

# Where DuckDB counts in larger numbers than Spark, or in fractions.
WHOLE = {
    "bigint": "ceil ceiling floor",
    "int": "ascii datediff date_diff dayofmonth dayofweek dayofyear hour instr length levenshtein "
    "locate minute month quarter second size weekofyear year",
}
RESULTS = {name: kind for kind, names in WHOLE.items() for name in names.split()}
MISSING = frozenset(
    {"pandas_udf", "udtf", "arrow_udf", "call_function", "monotonically_increasing_id"}
)


def _naming(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        Engines.get()
        given = [each.simpleString() if isinstance(each, DataType) else each for each in args]
        found = function(*given, **kwargs)
        if not isinstance(found, SqlframeColumn):
            return found
        expression = found.expression.unalias()
        if name in RESULTS:
            expression = expressions.cast(expression, RESULTS[name], dialect="spark")
        if name not in UNNAMED and not isinstance(
            expression, expressions.Column | expressions.Literal
        ):
            expression.meta[NAME] = call_text(name, (*args, *kwargs.values()))
        return Column(expression)

    return call


def _all() -> dict[str, Callable[..., Any]]:
    return {
        name: _naming(name, function)
        for name, function in vars(found_functions).items()
        if callable(function) and hasattr(function, "unsupported_engines")
    }


globals().update(_all())


def col(col: str) -> Column:
    """The column of this name."""
    Engines.get()
    plain = referred(col)
    return Column(found_functions.col(col)) if plain is col else plain


column = col


def expr(str: str) -> Column:
    """The column that a text in SQL describes."""
    return Column(sqlglot.parse_one(str, read=Engines.get().input_dialect))


def __getattr__(name: str) -> Any:
    if name in MISSING or hasattr(getattr(all_functions, name, None), "unsupported_engines"):
        refuse(f"pyspark.sql.functions.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = sorted({*_all(), "col", "column", "udf"})
