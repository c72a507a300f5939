"""Python's values as columns hold them: what does not fit its column is None there, as in Spark."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

from pyrite.errors import PySparkTypeError, PySparkValueError
from pyrite.sql import types
from pyrite.sql.types import ArrayType, DataType, DecimalType, IntegralType, MapType, StructType

Convert = Callable[[Any], Any]


def converter(kind: DataType) -> Convert:
    """A function that turns values into what Arrow takes for a type."""
    convert = _converter_of(kind)
    return lambda value: None if value is None else convert(value)


def fields_of(schema: StructType) -> Callable[[Any], list[Any]]:
    """A function that finds the values of a row, whatever the row is, in the schema's order."""
    names = schema.names

    def values(row: Any) -> list[Any]:
        if isinstance(row, tuple | list):
            if len(row) != len(names):
                raise PySparkValueError(
                    f"a row has {len(row)} values and the schema {len(names)} fields: {row!r}",
                    "FIELD_STRUCT_LENGTH_MISMATCH",
                )
            return list(row)
        named = row if isinstance(row, dict) else getattr(row, "__dict__", None)
        if named is None:
            raise PySparkTypeError(
                f"{row!r}, of type {type(row).__name__}, is no row", "UNSUPPORTED_DATA_TYPE"
            )
        return [named.get(name) for name in names]

    return values


def _converter_of(kind: DataType) -> Convert:
    match kind:
        case types.StringType() | types.SizedText():
            return text_of
        case IntegralType():
            return _wrapping(kind.bits)
        case types.FloatType() | types.DoubleType():
            return lambda value: value if isinstance(value, float) else None
        case types.BooleanType():
            return lambda value: value if isinstance(value, bool) else None
        case DecimalType():
            return _rounding(kind)
        case types.BinaryType():
            return _bytes_of
        case types.DateType():
            return lambda value: value.date() if isinstance(value, datetime.datetime) else value
        case types.TimestampType() | types.TimestampNTZType():
            return local_time
        case ArrayType():
            element = converter(kind.elementType)
            return lambda value: [element(each) for each in value]
        case MapType():
            key, held = converter(kind.keyType), converter(kind.valueType)
            return lambda value: [(key(each), held(other)) for each, other in value.items()]
        case StructType():
            return _struct(kind)
        case types.NullType():
            return lambda value: None
        case _:
            return lambda value: value


def text_of(value: Any) -> str:
    """Whatever it is as text; truth values in lower case, as Java writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def local_time(value: datetime.datetime) -> datetime.datetime:
    """The same moment in local time, without saying so."""
    return value if value.tzinfo is None else value.astimezone().replace(tzinfo=None)


def _wrapping(bits: int) -> Convert:
    half = 1 << (bits - 1)

    def convert(value: Any) -> int | None:
        if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
            return None
        return (value + half) % (2 * half) - half

    return convert


def _rounding(kind: DecimalType) -> Convert:
    step = decimal.Decimal(1).scaleb(-kind.scale)
    digits = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
    limit = decimal.Decimal(10) ** (kind.precision - kind.scale)

    def convert(value: Any) -> decimal.Decimal | None:
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            return None
        rounded = value.quantize(step, context=digits)
        return rounded if abs(rounded) < limit else None

    return convert


def _bytes_of(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, bytes | bytearray) else None


def _struct(kind: StructType) -> Convert:
    values, converters = fields_of(kind), [converter(field.dataType) for field in kind]

    def convert(value: Any) -> dict[str, Any]:
        found = zip(kind.names, converters, values(value), strict=True)
        return {name: change(each) for name, change, each in found}

    return convert
