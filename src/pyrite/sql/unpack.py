"""explode of a map, which gives two columns where that of a list gives one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from pyrite.sql.column import Column
from pyrite.sql.types import MapType

if TYPE_CHECKING:
    from pyrite.sql.dataframe import DataFrame


def unpacked(column: Column, frame: DataFrame) -> list[Any]:
    """The column itself, or the keys and the values of the map that it takes apart."""
    held = column.expression.unalias()
    if not isinstance(held, exp.Explode) or not isinstance(held.this, exp.Column):
        return [column]
    kinds = {field.name.lower(): field.dataType for field in frame.schema}
    if not isinstance(kinds.get(held.this.name.lower()), MapType):
        return [column]
    names = [each.name for each in getattr(column.expression, "aliases", [])] or ["key", "value"]
    parts = zip(("MAP_KEYS", "MAP_VALUES"), names, strict=True)
    return [
        Column(exp.Explode(this=exp.Anonymous(this=part, expressions=[held.this.copy()]))).alias(
            name
        )
        for part, name in parts
    ]
