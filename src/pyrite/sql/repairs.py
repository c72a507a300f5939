"""Values instead of others in a table, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrite.sql.types import BooleanType, DataType, NumericType, StringType

if TYPE_CHECKING:
    from pyrite.sql.dataframe import DataFrame


def filled(frame: DataFrame, value: Any, subset: list[str] | None) -> DataFrame:
    """`value` instead of None where a column's type is its own; a dictionary has one per column."""
    from pyrite.sql import functions

    F: Any = functions
    wanted = value if isinstance(value, dict) else dict.fromkeys(subset or frame.columns, value)
    by_name = {name.lower(): held for name, held in wanted.items()}
    columns = []
    for field in frame.schema:
        held = by_name.get(field.name.lower())
        column = F.col(field.name)
        if held is not None and (isinstance(value, dict) or fits(held, field.dataType)):
            column = F.coalesce(column, F.lit(held).cast(field.dataType)).alias(field.name)
        columns.append(column)
    return frame.select(*columns)


def replaced(frame: DataFrame, old: Any, new: Any, subset: list[str] | None) -> DataFrame:
    """Each old value's new one, where a column's type is the old value's."""
    from pyrite.sql import functions

    F: Any = functions
    pairs = _pairs(old, new)
    chosen = {name.lower() for name in subset or frame.columns}
    columns = []
    for field in frame.schema:
        column = F.col(field.name)
        changes = [pair for pair in pairs if fits(pair[0], field.dataType)]
        if field.name.lower() in chosen and changes:
            changed = column
            for before, after in reversed(changes):
                changed = F.when(column == F.lit(before), F.lit(after)).otherwise(changed)
            column = changed.cast(field.dataType).alias(field.name)
        columns.append(column)
    return frame.select(*columns)


def fits(value: Any, kind: DataType) -> bool:
    """Whether a column of a type may hold a value."""
    match value:
        case bool():
            return isinstance(kind, BooleanType)
        case int() | float():
            return isinstance(kind, NumericType)
        case str():
            return isinstance(kind, StringType)
        case _:
            return False


def _pairs(old: Any, new: Any) -> list[tuple[Any, Any]]:
    if isinstance(old, dict):
        return list(old.items())
    olds = old if isinstance(old, list | tuple) else [old]
    news = new if isinstance(new, list | tuple) else [new] * len(olds)
    return list(zip(olds, news, strict=True))
