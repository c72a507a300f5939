"""A schema as printSchema shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pyrite.sql.types import ArrayType, DataType, DecimalType, MapType, SizedText, StructType


def tree_of(schema: StructType, most_levels: int | None = None) -> str:
    """The lines of a schema, each field under the one that holds it."""
    levels = most_levels if most_levels else math.inf
    return "\n".join(["root", *_fields(schema, "", levels)]) + "\n"


def _fields(schema: StructType, indent: str, levels: float) -> Iterator[str]:
    if levels <= 0:
        return
    for field in schema:
        shown = f"{field.name}: {_word(field.dataType)} (nullable = {_is(field.nullable)})"
        yield f"{indent} |-- {shown}"
        yield from _parts(field.dataType, indent + " |   ", levels - 1)


def _parts(kind: DataType, indent: str, levels: float) -> Iterator[str]:
    """The lines below one field."""
    if levels <= 0:
        return
    inner = indent + " |   "
    match kind:
        case StructType():
            yield from _fields(kind, indent, levels)
        case ArrayType():
            allowed = _is(kind.containsNull)
            yield f"{indent} |-- element: {_word(kind.elementType)} (containsNull = {allowed})"
            yield from _parts(kind.elementType, inner, levels - 1)
        case MapType():
            allowed = _is(kind.valueContainsNull)
            yield f"{indent} |-- key: {_word(kind.keyType)}"
            yield from _parts(kind.keyType, inner, levels - 1)
            yield f"{indent} |-- value: {_word(kind.valueType)} (valueContainsNull = {allowed})"
            yield from _parts(kind.valueType, inner, levels - 1)


def _word(kind: DataType) -> str:
    return kind.simpleString() if isinstance(kind, DecimalType | SizedText) else kind.typeName()


def _is(yes: bool) -> str:
    return str(yes).lower()
