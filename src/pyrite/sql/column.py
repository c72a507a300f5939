"""Columns: SQLFrame's, with PySpark's types and names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, NoReturn

from pyrite.errors import PySparkValueError
from pyrite.sql.extra import needed
from pyrite.sql.missing import refuse
from pyrite.sql.shown import float_text
from pyrite.sql.types import DataType

with needed("pyspark.sql.column"):
    from sqlframe.base.column import Column as SqlframeColumn
    from sqlglot import exp

    from pyrite.sql.names import NAME, PLAIN, column_name, identifier, name_of

MISSING = frozenset({"dropFields", "withField", "outer", "transform", "isin_subquery"})


class Column(SqlframeColumn):
    """An expression over the columns of a table."""

    def cast(self, dataType: str | DataType) -> Column:
        """The values as another type, which a DataType or its name in SQL says."""
        spelled = dataType.simpleString() if isinstance(dataType, DataType) else dataType
        return Column(super().cast(spelled))

    astype = cast

    def alias(self, *names: str, **metadata: Any) -> Column:
        """The same under another name."""
        return Column(super().alias(*names))

    name = alias

    def isNaN(self) -> Column:
        """Whether a number is none."""
        return Column(exp.IsNan(this=self.column_expression))

    def endswith(self, value: Any) -> Column:
        """Whether text ends so."""
        found = Column(Column(super().endswith(value)).column_expression)
        text = name_of(Column(value).expression) if isinstance(value, SqlframeColumn) else value
        found.expression.meta[NAME] = f"endswith({name_of(self.column_expression)}, {text})"
        return found

    def bitwiseAND(self, other: Any) -> Column:
        """The bits that both have."""
        return Column(self.binary_op(exp.BitwiseAnd, other))

    def bitwiseOR(self, other: Any) -> Column:
        """The bits that one of them has."""
        return Column(self.binary_op(exp.BitwiseOr, other))

    def substr(self, startPos: Any, length: Any) -> Column:
        """So many characters from a position, which counts from 1."""
        found = Column(super().substr(startPos, length))
        texts = [name_of(Column(each).column_expression) for each in (self, startPos, length)]
        found.expression.meta[NAME] = f"substr({', '.join(texts)})"
        return found

    def getField(self, name: Any) -> Column:
        """The value of a field of a struct."""
        found = Column(super().getItem(name))
        found.expression.meta[NAME] = f"{name_of(self.column_expression)}.{name}"
        return found

    def __getattr__(self, name: str) -> Any:
        if name in MISSING:
            refuse(f"Column.{name}")
        if name.startswith("__"):
            raise AttributeError(f"a column has no {name!r}")
        return self.getField(name)

    def __neg__(self) -> Column:
        found = Column(super().__neg__())
        found.expression.meta[NAME] = f"negative({name_of(self.column_expression)})"
        return found

    def __bool__(self) -> NoReturn:
        raise PySparkValueError(
            "a column is no truth value: combine conditions with '&', '|' and '~', and put each "
            "of them into parentheses",
            "CANNOT_CONVERT_COLUMN_INTO_BOOL",
        )

    def __repr__(self) -> str:
        return f"Column<'{column_name(self.expression)}'>"


def named(column: Any) -> Any:
    """A column with the name that Spark gives it, unless it has one."""
    if not isinstance(column, SqlframeColumn):
        return column
    expression = column.expression
    if isinstance(expression, exp.Alias | exp.Aliases | exp.Column | exp.Star | exp.Posexplode):
        return column
    return Column(column).alias(column_name(expression))


def referred(name: Any) -> Any:
    """What refers to a column: names that SQL would read otherwise, such as avg(x), as they are."""
    if not isinstance(name, str) or PLAIN.fullmatch(name):
        return name
    name = name.replace("`", "")
    made = exp.column(identifier(name))
    made.meta["display_name"] = name
    return Column(made)


def number(value: Any) -> Any:
    """A floating-point number as one: in DuckDB's SQL it would be a decimal. Numpy's are plain."""
    if type(value).__module__ == "numpy" and not getattr(value, "shape", ()):
        value = value.item()
    if not isinstance(value, float):
        return value
    made = exp.cast(exp.Literal.string(repr(value)), "double", dialect="spark")
    made.meta[NAME] = float_text(value)
    return Column(made)


def _ours(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Column, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *map(number, args), **kwargs)
        return Column(found) if type(found) is SqlframeColumn else found

    return call


# SQLFrame's methods make columns of its own class by name.
for _name, _method in vars(SqlframeColumn).items():
    if isfunction(_method) and _name not in vars(Column) and _name not in ("__init__", "__hash__"):
        setattr(Column, _name, _ours(_method))
