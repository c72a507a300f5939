"""Statistics of columns, each as text, as describe() and summary() give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyrite.errors import PySparkValueError
from pyrite.sql.shown import cell_text
from pyrite.sql.types import DataType, NumericType, StringType, StructField, StructType

if TYPE_CHECKING:
    from pyrite.sql.dataframe import DataFrame

DESCRIBED = ("count", "mean", "stddev", "min", "max")
SUMMARY = ("count", "mean", "stddev", "min", "25%", "50%", "75%", "max")
OF_TEXT = ("count", "min", "max")


def statistics(frame: DataFrame, wanted: Sequence[str], columns: list[str]) -> DataFrame:
    """A table with a line for each statistic; numbers and text have some, other columns none."""
    from pyrite.sql.create import create_table

    chosen = [
        field
        for field in frame.schema
        if isinstance(field.dataType, NumericType | StringType)
        and (not columns or field.name in columns)
    ]
    relation = frame.session.relation(frame.select(*[field.name for field in chosen]), rows=True)
    lines = []
    for name in wanted:
        cells = [_cell(relation, number, field, name) for number, field in enumerate(chosen, 1)]
        lines.append((name, *cells))
    schema = StructType([StructField("summary", StringType())])
    for field in chosen:
        schema.add(field.name, StringType())
    return create_table(lines, schema, None, False)


def _cell(relation: Any, number: int, field: StructField, name: str) -> str | None:
    if not isinstance(field.dataType, NumericType) and name not in OF_TEXT:
        return None
    value = relation.aggregate(_aggregate(name).format(f"#{number}")).fetchall()[0][0]
    return None if value is None else cell_text(value, _kind(field.dataType, value))


def _kind(kind: DataType, value: Any) -> DataType:
    return kind if not isinstance(value, float) else DataType()


def _aggregate(name: str) -> str:
    match name:
        case "count" | "min" | "max":
            return name + "({})"
        case "mean":
            return "avg({})"
        case "stddev":
            return "stddev_samp({})"
    try:
        return f"quantile_disc({{}}, {float(name.removesuffix('%')) / 100})"
    except ValueError:
        raise PySparkValueError(
            f"{name!r} is none of {', '.join(SUMMARY)}, nor another percentage", "UNKNOWN_STATISTIC"
        ) from None
