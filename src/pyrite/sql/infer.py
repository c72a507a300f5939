"""The schema of rows that come without one, as PySpark infers it."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Sized
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyrite.errors import PySparkTypeError, PySparkValueError
from pyrite.sql import types
from pyrite.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType

if TYPE_CHECKING:
    from pyrite.rdd.rdd import RDD

# PySpark reads so many rows of an RDD before it gives up on a column of None.
ROWS_LOOKED_AT = 100
# An RDD that is sampled for more than this is read as a whole.
WHOLE_SAMPLE = 0.99

BY_CLASS: dict[type, DataType] = {
    bool: types.BooleanType(),
    int: types.LongType(),
    float: types.DoubleType(),
    str: types.StringType(),
    bytes: types.BinaryType(),
    bytearray: types.BinaryType(),
    decimal.Decimal: types.DecimalType(38, 18),
    datetime.date: types.DateType(),
    datetime.datetime: types.TimestampType(),
    datetime.timedelta: types.DayTimeIntervalType(),
}


def schema_of_list(rows: list[Any], names: list[str] | None) -> StructType:
    """The schema that all of these rows have in common."""
    if not rows:
        raise empty()
    schema = reduce(merged_schemas, (schema_of_row(row, names) for row in rows))
    if has_unknown(schema):
        raise undetermined()
    return schema


def schema_of_rdd(rdd: RDD[Any], names: list[str] | None, ratio: float | None) -> StructType:
    """The schema of an RDD's first rows, or of a sample of them."""
    if ratio is not None:
        sample = rdd.sample(False, float(ratio)) if ratio < WHOLE_SAMPLE else rdd
        return sample.map(lambda row: schema_of_row(row, names)).reduce(merged_schemas)
    first = rdd.first()
    if isinstance(first, Sized) and len(first) == 0:
        raise empty()
    schema = schema_of_row(first, names)
    if has_unknown(schema):
        for row in rdd.take(ROWS_LOOKED_AT)[1:]:
            schema = merged_schemas(schema, schema_of_row(row, names))
            if not has_unknown(schema):
                break
        else:
            raise undetermined()
    return schema


def schema_of_row(row: Any, names: list[str] | None = None) -> StructType:
    """The schema of one row: a Row, a named tuple, a tuple, a dictionary or an object."""
    items: Iterable[tuple[Any, Any]]
    if isinstance(row, dict):
        items = sorted(row.items())
    elif isinstance(row, tuple | list):
        fields = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
        items = zip(fields or positions(row, names), row, strict=False)
    elif hasattr(row, "__dict__"):
        items = sorted(vars(row).items())
    else:
        raise PySparkTypeError(
            f"no columns are found in {row!r}, of type {type(row).__name__}: make it a tuple, "
            "as in map(lambda x: (x,)), or name its type, as in toDF('int')",
            "CANNOT_INFER_SCHEMA_FOR_TYPE",
        )
    return StructType([StructField(name, field_type(name, value)) for name, value in items])


def positions(row: Any, names: list[str] | None) -> list[str]:
    """The names that are given, and _1, _2 and so on for the rest."""
    given = list(names or [])
    return given + [f"_{number}" for number in range(len(given) + 1, len(row) + 1)]


def field_type(name: Any, value: Any) -> DataType:
    """The type of a field's value; the error names the field."""
    try:
        return type_of(value)
    except PySparkTypeError as error:
        raise PySparkTypeError(
            f"the type of the field {name!r} can't be inferred: {error}",
            "CANNOT_INFER_TYPE_FOR_FIELD",
        ) from error


def type_of(value: Any) -> DataType:
    """The type of a value."""
    if value is None:
        return NullType()
    if type(value) in BY_CLASS:
        return BY_CLASS[type(value)]
    if isinstance(value, dict):
        return MapType(common_type(value), common_type(value.values()))
    if isinstance(value, list):
        return ArrayType(common_type(value))
    try:
        return schema_of_row(value)
    except PySparkTypeError as error:
        raise PySparkTypeError(
            f"columns hold no values of type {type(value).__name__}", "UNSUPPORTED_DATA_TYPE"
        ) from error


def common_type(values: Iterable[Any]) -> DataType:
    """The type that all the values have."""
    nothing: DataType = NullType()
    return reduce(merged, map(type_of, values), nothing)


def merged(a: DataType, b: DataType) -> DataType:
    """The type of a column that holds values of both."""
    match a, b:
        case (NullType(), _):
            return b
        case (_, NullType()):
            return a
        case (types.StringType(), types.AtomicType()):
            return a
        case (types.AtomicType(), types.StringType()):
            return b
        case (StructType(), StructType()):
            return merged_schemas(a, b)
        case (ArrayType(), ArrayType()):
            return ArrayType(merged(a.elementType, b.elementType))
        case (MapType(), MapType()):
            return MapType(merged(a.keyType, b.keyType), merged(a.valueType, b.valueType))
    if type(a) is not type(b):
        raise PySparkTypeError(
            f"a column can't hold both {type(a).__name__} and {type(b).__name__}: "
            "convert the values first, or give a schema",
            "CANNOT_MERGE_TYPE",
        )
    return a


def merged_schemas(a: StructType, b: StructType) -> StructType:
    """The fields of both; those of one name get a type for both."""
    others = {field.name: field.dataType for field in b}
    fields = [
        StructField(field.name, merged(field.dataType, others.get(field.name, NullType())))
        for field in a
    ]
    return StructType(fields + [field for field in b if field.name not in a.names])


def has_unknown(kind: DataType) -> bool:
    """Whether some part of a type is not known yet."""
    match kind:
        case StructType():
            return any(has_unknown(field.dataType) for field in kind)
        case ArrayType():
            return has_unknown(kind.elementType)
        case MapType():
            return has_unknown(kind.keyType) or has_unknown(kind.valueType)
        case _:
            return isinstance(kind, NullType)


def empty() -> PySparkValueError:
    return PySparkValueError(
        "there are no rows to infer a schema from: give one", "CANNOT_INFER_EMPTY_SCHEMA"
    )


def undetermined() -> PySparkValueError:
    return PySparkValueError(
        "a column holds nothing but None in the rows that were looked at: give a schema, or a "
        "samplingRatio, with which more rows are read",
        "CANNOT_DETERMINE_TYPE",
    )
