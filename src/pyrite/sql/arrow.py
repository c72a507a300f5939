"""Rows as Arrow's record batches and back: how they travel between executors and DuckDB."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from pyrite.sql import types
from pyrite.sql.row import named_row
from pyrite.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType
from pyrite.sql.values import converter, fields_of, local_time
from pyrite.sql.verify import verifier

ROWS_OF_A_BATCH = 10_000


@cache
def load() -> Any:
    """pyarrow, without the allocator that reserves more than an executor may have."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    import pyarrow

    return pyarrow


def arrow_type(kind: DataType) -> Any:
    """Arrow's type for the values of a column."""
    pa = load()
    match kind:
        case ArrayType():
            return pa.list_(arrow_type(kind.elementType))
        case MapType():
            return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
        case StructType():
            return pa.struct([(field.name, arrow_type(field.dataType)) for field in kind])
        case DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case types.SizedText():
            return pa.string()
        case _:
            return _simple_types()[type(kind)]


def arrow_schema(schema: StructType) -> Any:
    """Arrow's schema for a table."""
    return load().schema([(field.name, arrow_type(field.dataType)) for field in schema])


@cache
def _simple_types() -> dict[type[DataType], Any]:
    pa = load()
    return {
        types.NullType: pa.null(),
        types.BooleanType: pa.bool_(),
        types.StringType: pa.string(),
        types.BinaryType: pa.binary(),
        types.DateType: pa.date32(),
        types.TimestampType: pa.timestamp("us"),
        types.TimestampNTZType: pa.timestamp("us"),
        types.ByteType: pa.int8(),
        types.ShortType: pa.int16(),
        types.IntegerType: pa.int32(),
        types.LongType: pa.int64(),
        types.FloatType: pa.float32(),
        types.DoubleType: pa.float64(),
        types.DayTimeIntervalType: pa.duration("us"),
    }


def data_type(arrow: Any) -> DataType:
    """The type of a column that Arrow describes."""
    ask = load().types
    if ask.is_struct(arrow):
        return StructType([StructField(each.name, data_type(each.type)) for each in arrow])
    if ask.is_map(arrow):
        return MapType(data_type(arrow.key_type), data_type(arrow.item_type))
    if ask.is_list(arrow) or ask.is_large_list(arrow) or ask.is_fixed_size_list(arrow):
        return ArrayType(data_type(arrow.value_type))
    if ask.is_decimal(arrow):
        return DecimalType(arrow.precision, arrow.scale)
    if ask.is_timestamp(arrow):
        return types.TimestampType()
    if ask.is_duration(arrow) or ask.is_interval(arrow):
        return types.DayTimeIntervalType()
    for kind, simple in _simple_types().items():
        if simple == arrow:
            return kind()
    if ask.is_unsigned_integer(arrow):
        return types.LongType()
    if ask.is_large_binary(arrow):
        return types.BinaryType()
    return types.StringType()


def batches_of(rows: Iterable[Any], schema: StructType, verify: bool) -> Iterator[Any]:
    """Record batches of rows; with `verify`, each row is held against the schema first."""
    pa = load()
    check = verifier(schema) if verify else None
    values, arrow = fields_of(schema), arrow_schema(schema)
    converters = [converter(field.dataType) for field in schema]
    left = iter(rows)
    while taken := list(islice(left, ROWS_OF_A_BATCH)):
        if check is not None:
            for row in taken:
                check(row)
        columns = list(zip(*map(values, taken), strict=True)) or [()] * len(converters)
        arrays = [
            pa.array([change(value) for value in column], field.type)
            for change, column, field in zip(converters, columns, arrow, strict=True)
        ]
        yield pa.record_batch(arrays, schema=arrow)


def encoded(batches: Iterable[Any]) -> Iterator[bytes]:
    """Batches as bytes, each without its schema, which both sides know."""
    for batch in batches:
        yield batch.serialize().to_pybytes()


def decoded(blocks: Iterable[bytes], schema: Any) -> Iterator[Any]:
    """The batches in bytes that `encoded` made."""
    pa = load()
    for block in blocks:
        yield pa.ipc.read_record_batch(pa.py_buffer(block), schema)


def rows_of(batches: Iterable[Any], names: list[str]) -> Iterator[Any]:
    """The rows in record batches."""
    for batch in batches:
        columns = [map(reader(each.type), each.to_pylist()) for each in batch.columns]
        if not columns:
            yield from (named_row(names, ()) for _ in range(batch.num_rows))
        for values in zip(*columns, strict=True):
            yield named_row(names, values)


def reader(arrow: Any) -> Callable[[Any], Any]:
    """A function that turns what Arrow gives for a type into what PySpark gives."""
    read = _reader_of(arrow)
    return lambda value: None if value is None else read(value)


def _reader_of(arrow: Any) -> Callable[[Any], Any]:
    ask = load().types
    if ask.is_struct(arrow):
        names = [each.name for each in arrow]
        readers = [reader(each.type) for each in arrow]
        return lambda value: named_row(
            names, (read(value[name]) for name, read in zip(names, readers, strict=True))
        )
    if ask.is_map(arrow):
        key, held = reader(arrow.key_type), reader(arrow.item_type)
        return lambda value: {key(each): held(other) for each, other in value}
    if ask.is_list(arrow) or ask.is_large_list(arrow) or ask.is_fixed_size_list(arrow):
        element = reader(arrow.value_type)
        return lambda value: [element(each) for each in value]
    if ask.is_binary(arrow) or ask.is_large_binary(arrow):
        return bytes
    if ask.is_timestamp(arrow):
        return local_time
    if ask.is_interval(arrow):
        return lambda span: datetime.timedelta(
            days=span.months * 30 + span.days, microseconds=span.nanoseconds // 1000
        )
    return lambda value: value
