"""Columns of values as JSON: one field of many records side by side, so that they compress well.

A column is a list of plain values, or an object that says how it was written: `same`, one value
for all; `steps`, the differences of whole numbers; `micros`, seconds as whole microseconds;
`ones`, lists of one value each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, repeat
from operator import sub
from typing import Any

Column = list[Any] | dict[str, Any]

MICROS = 1_000_000
# Numbers that mostly grow from record to record.
GROWING = frozenset({"at_s", "attempt", "partitions", "partition", "stage", "job"})


def encode_column(name: str, values: Sequence[Any]) -> Column:
    """Returns a field's values for JSON."""
    first = values[0]
    if name.endswith("_s"):
        if values.count(first) == len(values) and name != "at_s":
            return {"same": first}
        try:
            return {"micros": _numbers(name, [round(value * MICROS) for value in values])}
        except TypeError:
            # Some are None.
            return list(values)
    if name == "partitions" and all(map(is_one, values)):
        return {"ones": _numbers(name, [value[0] for value in values])}
    return _numbers(name, values)


def is_one(value: Any) -> bool:
    """Whether it is a list of one value."""
    return type(value) in (list, tuple) and len(value) == 1


def _numbers(name: str, values: Sequence[Any]) -> Column:
    if values.count(values[0]) == len(values):
        return {"same": values[0]}
    if name in GROWING and set(map(type, values)) == {int}:
        return {"steps": [values[0], *map(sub, values[1:], values)]}
    return list(values)


def decode_column(column: Column, count: int) -> Sequence[Any]:
    """Returns the `count` values of a column."""
    values = _decoded(column, count)
    if len(values) != count:
        raise ValueError(f"a column of {len(values)} values where {count} are expected")
    return values


def _decoded(column: Column, count: int) -> Sequence[Any]:
    if isinstance(column, list):
        return column
    [(how, value)] = column.items()
    match how:
        case "same":
            return list(repeat(value, count))
        case "steps":
            return list(accumulate(value))
        case "micros":
            return [each / MICROS for each in _decoded(value, count)]
        case "ones":
            return [[each] for each in _decoded(value, count)]
        case _:
            raise ValueError(f"an unknown way to write a column: {how!r}")
