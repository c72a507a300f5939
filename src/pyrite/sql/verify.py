"""Rows that come with a schema are held against it, as PySpark does."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

from pyrite.errors import PySparkTypeError, PySparkValueError
from pyrite.sql import types
from pyrite.sql.types import ArrayType, DataType, IntegralType, MapType, StructType

Check = Callable[[Any], None]

# Just these classes: values of their subclasses never reached Spark's columns.
ACCEPTED: dict[type[DataType], tuple[type, ...]] = {
    types.BooleanType: (bool,),
    types.ByteType: (int,),
    types.ShortType: (int,),
    types.IntegerType: (int,),
    types.LongType: (int,),
    types.FloatType: (float,),
    types.DoubleType: (float,),
    types.DecimalType: (decimal.Decimal,),
    types.BinaryType: (bytes, bytearray),
    types.DateType: (datetime.date, datetime.datetime),
    types.TimestampType: (datetime.datetime,),
    types.TimestampNTZType: (datetime.datetime,),
    types.DayTimeIntervalType: (datetime.timedelta,),
    ArrayType: (list, tuple),
    MapType: (dict,),
}


def verifier(kind: DataType, nullable: bool = True, name: str = "") -> Check:
    """A function that raises where a value does not fit a type; `name` says whose value it is."""
    check = _check_of(kind, name)

    def verify(value: Any) -> None:
        if value is not None:
            check(value)
        elif not nullable:
            raise PySparkValueError(
                f"{name or 'the value'} is None, which the schema does not allow",
                "FIELD_NOT_NULLABLE_WITH_NAME" if name else "FIELD_NOT_NULLABLE",
            )

    return verify


def _check_of(kind: DataType, name: str) -> Check:
    match kind:
        case StructType():
            return _struct_check(kind, name)
        case ArrayType():
            return _array_check(kind, name)
        case MapType():
            return _map_check(kind, name)
        case IntegralType():
            return _range_check(kind, name)
        case types.StringType() | types.SizedText():
            return _anything
        case types.NullType():
            return lambda value: _refuse(kind, value, name)
        case _:
            return lambda value: _accept(kind, value, name)


def _anything(value: Any) -> None:
    """Text is made of whatever comes."""


def _accept(kind: DataType, value: Any, name: str) -> None:
    if type(value) not in ACCEPTED[type(kind)]:
        _refuse(kind, value, name)


def _refuse(kind: DataType, value: Any, name: str) -> None:
    raise PySparkTypeError(
        f"{name or 'the column'} is of type {kind}, and {value!r} is of {type(value)}: "
        "convert the value first",
        "FIELD_DATA_TYPE_UNACCEPTABLE" + ("_WITH_NAME" if name else ""),
    )


def _range_check(kind: IntegralType, name: str) -> Check:
    limit = 1 << (kind.bits - 1)

    def check(value: Any) -> None:
        _accept(kind, value, name)
        if not -limit <= value < limit:
            raise PySparkValueError(
                f"{value} is beyond the {kind.bits} bits of {kind}", "VALUE_OUT_OF_BOUNDS"
            )

    return check


def _array_check(kind: ArrayType, name: str) -> Check:
    element = verifier(kind.elementType, kind.containsNull, f"element in array {name}")

    def check(value: Any) -> None:
        _accept(kind, value, name)
        for each in value:
            element(each)

    return check


def _map_check(kind: MapType, name: str) -> Check:
    key = verifier(kind.keyType, False, f"key of map {name}")
    held = verifier(kind.valueType, kind.valueContainsNull, f"value of map {name}")

    def check(value: Any) -> None:
        _accept(kind, value, name)
        for each, other in value.items():
            key(each)
            held(other)

    return check


def _struct_check(kind: StructType, name: str) -> Check:
    inside = f" in {name}" if name else ""
    checks = [
        (field.name, verifier(field.dataType, field.nullable, f"field {field.name}{inside}"))
        for field in kind
    ]

    def check(value: Any) -> None:
        if isinstance(value, tuple | list):
            if len(value) != len(checks):
                raise PySparkValueError(
                    f"{name or 'a row'} has {len(value)} values for {len(checks)} fields",
                    "FIELD_STRUCT_LENGTH_MISMATCH" + ("_WITH_NAME" if name else ""),
                )
            for each, (_, verify) in zip(value, checks, strict=True):
                verify(each)
            return
        named = value if isinstance(value, dict) else getattr(value, "__dict__", None)
        if named is None:
            _refuse(kind, value, name)
        else:
            for field, verify in checks:
                verify(named.get(field))

    return check
