"""Functions of columns: SQLFrame's, whose results have Spark's names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from pyrite.sql.extra import needed
from pyrite.sql.missing import refuse

with needed("pyspark.sql.functions"):
    from sqlframe.base import functions as all_functions
    from sqlframe.base.column import Column as SqlframeColumn
    from sqlframe.duckdb import functions as found_functions
    from sqlglot import expressions

    from pyrite.sql.column import Column, referred
    from pyrite.sql.engine import Engines
    from pyrite.sql.names import NAME, name_of
    from pyrite.sql.types import DataType
    from pyrite.sql.udf import udf

# What they give says by itself what it is called.
UNNAMED = frozenset(
    "asc asc_nulls_first asc_nulls_last broadcast col column desc desc_nulls_first desc_nulls_last "
    "explode explode_outer expr inline inline_outer json_tuple lit posexplode posexplode_outer "
    "stack when window".split()
)
# What Spark calls them in the names of columns.
CALLED = {
    "approxCountDistinct": "approx_count_distinct",
    "mean": "avg",
    "stddev_samp": "stddev_samp",
    "toDegrees": "degrees",
    "toRadians": "radians",
    "ceil": "CEIL",
    "floor": "FLOOR",
    "sqrt": "SQRT",
    "exp": "EXP",
    "cos": "COS",
    "sin": "SIN",
    "tan": "TAN",
    "pow": "POWER",
    "atan2": "ATAN2",
    "rand": "rand",
    "collect_list": "collect_list",
    "signum": "SIGNUM",
    "log10": "LOG10",
    "log2": "LOG2",
    "acos": "ACOS",
    "asin": "ASIN",
    "atan": "ATAN",
    "cbrt": "CBRT",
    "rint": "rint",
}
# What Spark adds where it is not given.
ADDED = {"split": ("split", 3, "-1"), "round": ("round", 2, "0"), "bround": ("bround", 2, "0")}
DISTINCT = {"countDistinct": "count", "count_distinct": "count", "sumDistinct": "sum", "sum_distinct": "sum"}
MISSING = frozenset({"pandas_udf", "udtf", "arrow_udf", "call_function", "monotonically_increasing_id"})


def call_text(name: str, args: tuple[Any, ...]) -> str:
    """A call as Spark names its column."""
    texts = [_argument(each) for arg in args for each in (arg if isinstance(arg, list) else [arg])]
    if name in DISTINCT:
        return f"{DISTINCT[name]}(DISTINCT {', '.join(texts)})"
    if name == "count" and texts == ["*"]:
        return "count(1)"
    if name in ADDED:
        shown, most, default = ADDED[name]
        return f"{shown}({', '.join(texts + [default] * (most - len(texts)))})"
    return f"{CALLED.get(name, name)}({', '.join(texts)})"


def _argument(value: Any) -> str:
    if isinstance(value, SqlframeColumn):
        expression = value.expression
        return name_of(expression)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _naming(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        Engines.get()
        given = [each.simpleString() if isinstance(each, DataType) else each for each in args]
        found = function(*given, **kwargs)
        if not isinstance(found, SqlframeColumn):
            return found
        if name in UNNAMED:
            return Column(found)
        expression = found.expression.unalias()
        if not isinstance(expression, expressions.Column | expressions.Literal):
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


def __getattr__(name: str) -> Any:
    if name in MISSING or hasattr(all_functions, name):
        refuse(f"pyspark.sql.functions.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = sorted({*_all(), "col", "column", "udf"})  # noqa: PLE0605
