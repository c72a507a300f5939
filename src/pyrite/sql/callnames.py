"""The names of columns that functions give: ``count(DISTINCT name)``, as Spark writes them."""

from __future__ import annotations

from typing import Any

from sqlframe.base.column import Column

from pyrite.sql.names import name_of

# What they give says by itself what it is called.
UNNAMED = frozenset(
    [
        "asc",
        "asc_nulls_first",
        "asc_nulls_last",
        "broadcast",
        "col",
        "column",
        "desc",
        "desc_nulls_first",
        "desc_nulls_last",
        "explode",
        "explode_outer",
        "expr",
        "inline",
        "inline_outer",
        "json_tuple",
        "lit",
        "posexplode",
        "posexplode_outer",
        "stack",
        "when",
        "window",
    ]
)
# What Spark calls them in the names of columns.
CALLED = {
    "approxCountDistinct": "approx_count_distinct",
    "mean": "avg",
    "degrees": "DEGREES",
    "radians": "RADIANS",
    "log": "ln",
    "create_map": "map",
    "rank": "RANK",
    "dense_rank": "DENSE_RANK",
    "percent_rank": "PERCENT_RANK",
    "ceil": "CEIL",
    "floor": "FLOOR",
    "sqrt": "SQRT",
    "exp": "EXP",
    "cos": "COS",
    "sin": "SIN",
    "tan": "TAN",
    "pow": "POWER",
    "atan2": "ATAN2",
    "signum": "SIGNUM",
    "log10": "LOG10",
    "log2": "LOG2",
    "acos": "ACOS",
    "asin": "ASIN",
    "atan": "ATAN",
    "cbrt": "CBRT",
}
# What Spark adds where fewer arguments are given.
ADDED = {
    "split": (3, "-1"),
    "round": (2, "0"),
    "bround": (2, "0"),
    "regexp_replace": (4, "1"),
    "sort_array": (2, "true"),
    "locate": (3, "1"),
    "months_between": (3, "true"),
    "unix_timestamp": (2, "yyyy-MM-dd HH:mm:ss"),
    "from_unixtime": (2, "yyyy-MM-dd HH:mm:ss"),
    "lead": (3, "NULL"),
    "lag": (3, "NULL"),
    "percentile": (3, "1"),
    "percentile_approx": (3, "10000"),
}
TESTS = {"isnull": "({} IS NULL)", "isnotnull": "({} IS NOT NULL)"}
DISTINCT = {
    "countDistinct": "count",
    "count_distinct": "count",
    "sumDistinct": "sum",
    "sum_distinct": "sum",
}


def call_text(name: str, args: tuple[Any, ...]) -> str:
    """A call as Spark names its column."""
    return call_of(
        name,
        [argument_text(each) for arg in args for each in (arg if isinstance(arg, list) else [arg])],
    )


def call_of(name: str, texts: list[str]) -> str:
    """A call of a function with arguments as Spark names its column."""
    if name in DISTINCT:
        return f"{DISTINCT[name]}(DISTINCT {', '.join(texts)})"
    if name == "count" and texts == ["*"]:
        return "count(1)"
    if name in ("first", "last"):
        texts = texts[:1]
    if name in ("lead", "lag") and len(texts) == 1:
        texts.append("1")
    if name in TESTS:
        return TESTS[name].format(*texts)
    if name in ADDED:
        most, default = ADDED[name]
        texts += [default] * (most - len(texts))
    return f"{CALLED.get(name, name)}({', '.join(texts)})"


def argument_text(value: Any) -> str:
    if isinstance(value, Column):
        expression = value.expression
        return name_of(expression)
    return str(value).lower() if isinstance(value, bool) else str(value)
