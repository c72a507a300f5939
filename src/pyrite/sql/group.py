"""Groups of a table's rows, on the way to what functions make of each."""

from __future__ import annotations

from typing import Any

from pyrite.sql.extra import needed
from pyrite.sql.missing import refuse

with needed("pyspark.sql.GroupedData"):
    from sqlframe.duckdb.group import DuckDBGroupedData
    from sqlglot import exp

    from pyrite.sql.column import Column, named
    from pyrite.sql.names import display, shown_name
    from pyrite.sql.shown import cell_text
    from pyrite.sql.types import DataType, NumericType

MISSING = frozenset(
    {
        "apply",
        "applyInPandas",
        "applyInArrow",
        "cogroup",
        "applyInPandasWithState",
        "transformWithState",
    }
)


class GroupedData(DuckDBGroupedData):
    """What groupBy gives: agg, count, sum and so on make a table of it."""

    def agg(self, *exprs: Any) -> Any:
        """What functions make of each group; a dictionary names one for each column."""
        from pyrite.sql import functions

        if len(exprs) == 1 and isinstance(exprs[0], dict):
            exprs = tuple(
                getattr(functions, function)(column) for column, function in exprs[0].items()
            )
        columns = [named(Column(each)) for each in exprs]
        if self.pivot_col is not None:
            return self._pivoted(columns)
        found = super().agg(*columns)
        names = [shown_name(each.expression) for each in columns]
        found.display_name_mapping.update(display(names))
        return found

    def _pivoted(self, columns: list[Column]) -> Any:
        """A column for each value of the pivot; what a group has no rows for is None."""
        from pyrite.sql import functions

        F: Any = functions
        keys = [Column(each) for each in self.group_by_cols]
        pivot, parts = F.col(self.pivot_col), [f"_{number}" for number in range(len(columns))]
        named_parts = [each.alias(part) for each, part in zip(columns, parts, strict=True)]
        cells = self._df.groupBy(*keys, pivot.alias("_pivot")).agg(*named_parts)
        found = []
        for value in self.pivot_values or []:
            here = F.col("_pivot").eqNullSafe(F.lit(value))
            for part, column in zip(parts, columns, strict=True):
                name = cell_text(value, DataType())
                if len(columns) > 1:
                    name += f"_{shown_name(column.expression)}"
                cell = F.when(here, F.col(part)).column_expression
                found.append(Column(exp.AnyValue(this=cell)).alias(name))
        names = [shown_name(each.expression) for each in keys]
        return cells.groupBy(*names).agg(*found)

    def _get_function_applied_columns(self, func_name: str, cols: tuple[str, ...]) -> list[Column]:
        """A function of each of the columns, or of all numbers."""
        from pyrite.sql import functions

        names = cols or [
            field.name for field in self._df.schema if isinstance(field.dataType, NumericType)
        ]
        return [getattr(functions, func_name)(functions.col(name)) for name in names]

    def __getattr__(self, name: str) -> Any:
        if name in MISSING:
            refuse(f"GroupedData.{name}")
        raise AttributeError(f"grouped rows have no {name!r}")
