"""Groups of a table's rows, on the way to what functions make of each."""

from __future__ import annotations

from typing import Any

from pyrite.sql.extra import needed
from pyrite.sql.missing import refuse

with needed("pyspark.sql.GroupedData"):
    from sqlframe.duckdb.group import DuckDBGroupedData

    from pyrite.sql.column import Column, named

MISSING = frozenset(
    {"apply", "applyInPandas", "applyInArrow", "cogroup", "applyInPandasWithState", "transformWithState"}
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
        return super().agg(*[named(Column(each)) for each in exprs])

    def __getattr__(self, name: str) -> Any:
        if name in MISSING:
            refuse(f"GroupedData.{name}")
        raise AttributeError(f"grouped rows have no {name!r}")
