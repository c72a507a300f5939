"""Which columns are never None: DuckDB does not tell, so it is read off the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from pyrite.sql.dataframe import DataFrame
    from pyrite.sql.types import StructType

NEVER_NULL = (exp.Count, exp.Literal, exp.Boolean, exp.RowNumber)


def mark_never_null(schema: StructType, frame: DataFrame) -> None:
    """Marks the fields of counts, of literals, and of columns that were declared so."""
    reading = Reading(frame)
    for field, column in zip(schema, frame.expression.expressions, strict=False):
        field.nullable = reading.may_be_null(column, frame.expression)


class Reading:
    """Follows the columns of a query down to the tables that it reads."""

    def __init__(self, frame: DataFrame) -> None:
        self._below = {cte.alias: cte.this for cte in frame.expression.ctes}
        self._sources = frame.session._sources

    def may_be_null(self, column: Any, select: Any) -> bool:
        """Whether a selected column may hold None; where it is not clear, it may."""
        held = column.unalias()
        if isinstance(held, NEVER_NULL):
            return False
        if isinstance(held, exp.Window):
            return not isinstance(held.this, NEVER_NULL)
        source = select.args.get("from_")
        plain = isinstance(select, exp.Select) and not select.args.get("joins")
        if not isinstance(held, exp.Column) or not plain or source is None:
            return True
        if select.args.get("group") and select.args["group"].args.get("grouping_sets"):
            return True
        return self._column_may_be_null(held.name, source.this.name)

    def _column_may_be_null(self, name: str, table: str) -> bool:
        if table in self._sources:
            fields = self._sources[table].schema
            return all(field.nullable for field in fields if field.name.lower() == name)
        below = self._below.get(table)
        if not isinstance(below, exp.Select):
            return True
        for column in below.expressions:
            if column.alias_or_name == name:
                return self.may_be_null(column, below)
        return True
