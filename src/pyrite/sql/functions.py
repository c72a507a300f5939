"""Functions of columns: SQLFrame's, whose results have Spark's names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from pyrite.errors import ParseException
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
    from pyrite.sql.dialect import DIFFERENT, given, made_sparks, taken
    from pyrite.sql.engine import SqlEngines
    from pyrite.sql.names import NAME
    from pyrite.sql.udf import udf as udf

MISSING = frozenset({"pandas_udf", "udtf", "arrow_udf", "call_function"})


def _naming(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        SqlEngines.get()
        found = function(*taken(name, args), **kwargs)
        if not isinstance(found, SqlframeColumn):
            return found
        expression = given(name, found.expression.unalias())
        plain = isinstance(expression, expressions.Column | expressions.Literal)
        if name not in UNNAMED and not plain:
            expression.meta[NAME] = call_text(name, (*args, *kwargs.values()))
        return Column(expression)

    return call


def _refusing(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(f"pyspark.sql.functions.{name}")

    return call


def _all() -> dict[str, Callable[..., Any]]:
    """Every function that SQLFrame knows; those that can't be had say so when they are called."""
    known = [name for name, held in vars(all_functions).items() if _is_function(held)]
    refused = {name: _refusing(name) for name in (*known, *MISSING)}
    return refused | {
        name: _naming(name, function)
        for name, function in vars(found_functions).items()
        if _is_function(function) and name not in DIFFERENT
    }


def _is_function(held: Any) -> bool:
    return hasattr(held, "unsupported_engines")


FUNCTIONS = _all()
globals().update(FUNCTIONS)


def col(col: str) -> Column:
    """The column of this name."""
    SqlEngines.get()
    plain = referred(col)
    return Column(found_functions.col(col)) if plain is col else plain


column = col


def expr(str: str) -> Column:
    """The column that a text in SQL describes."""
    try:
        parsed = sqlglot.parse_one(f"SELECT {str}", read=SqlEngines.get().input_dialect)
    except sqlglot.errors.SqlglotError as error:
        raise ParseException(f"{error}, in {str!r}", "PARSE_SYNTAX_ERROR") from error
    made = made_sparks(parsed).expressions[0]
    if isinstance(made, expressions.Alias):
        return Column(made.this).alias(made.alias)
    return Column(made)


def slice(x: Any, start: Any, length: Any) -> Column:
    """So many elements of a list, from a position that counts from 1."""
    held, first, many = Column.ensure_col(x), Column(start), Column(length)
    last = (first + many - 1).column_expression
    arguments = [held.column_expression, first.column_expression, last]
    made = expressions.Anonymous(this="LIST_SLICE", expressions=arguments)
    made.meta[NAME] = call_text("slice", (x, start, length))
    return Column(made)


def broadcast(df: Any) -> Any:
    """The table itself: one DuckDB has all of them."""
    return df


def monotonically_increasing_id() -> Column:
    """The number of each row, from 0: a table is one partition."""
    made = expr("row_number() over () - 1")
    made.expression.meta[NAME] = "monotonically_increasing_id()"
    return made


def __getattr__(name: str) -> Any:
    # For type checkers: the functions are made above.
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


OWN = {"broadcast", "col", "column", "expr", "monotonically_increasing_id", "slice", "udf"}
__all__ = sorted({*FUNCTIONS, *OWN})
