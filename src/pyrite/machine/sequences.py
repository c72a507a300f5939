"""Indices, slices and unpacking of traced sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrite.machine.bytecode import NotTraced
from pyrite.machine.calls import items_of
from pyrite.machine.emit import kind_of
from pyrite.machine.texts import slice_ends
from pyrite.machine.values import (
    Items,
    Known,
    Number,
    RowList,
    Texts,
    Value,
    Vector,
    is_text,
    kinds_of,
    value_of_layout,
)

if TYPE_CHECKING:
    from pyrite.machine.trace import Tracer


def slice_of(bounds: list[Value]) -> Known:
    """A slice with known bounds."""
    return Known(slice(*map(_bound, bounds)))


def _bound(value: Value) -> int | None:
    if isinstance(value, Known) and (value.value is None or type(value.value) is int):
        number: int | None = value.value
        return number
    raise NotTraced("a slice whose bounds are not known")


def subscript(tracer: Tracer, sequence: Value, index: Value) -> Value:
    """sequence[index]"""
    bounds = index.value if isinstance(index, Known) and type(index.value) is slice else None
    if isinstance(sequence, Texts | Vector) and sequence.form != "list":
        raise NotTraced("an index of what is no list")
    if isinstance(sequence, Vector):
        return _part_of(tracer, sequence, index, bounds)
    if isinstance(sequence, Texts) or is_text(sequence):
        texts = tracer.arithmetic.texts
        return texts.index(sequence, index) if bounds is None else texts.slice(sequence, bounds)
    if isinstance(sequence, RowList) and bounds is None:
        return _item_of(tracer, sequence, index)
    if not isinstance(sequence, Items) or not isinstance(index, Known):
        raise NotTraced("an index that is not known")
    if bounds is not None:
        return Items(sequence.items[bounds], sequence.is_list)
    if type(index.value) is int and -len(sequence.items) <= index.value < len(sequence.items):
        return sequence.items[index.value]
    raise NotTraced("an index out of range")


def unpacked(tracer: Tracer, value: Value, count: int) -> list[Value]:
    """The items of a sequence that must have so many."""
    if isinstance(value, Texts):
        return tracer.arithmetic.texts.unpacked(value, count)
    if isinstance(value, Vector) and value.form == "list":
        found = tracer.loops.vector("VECTOR_COUNT", value)
        tracer.code.require(tracer.arithmetic.compare("==", found, Known(count)))
        return [_part_of(tracer, value, Known(number), None) for number in range(count)]
    if isinstance(value, RowList):
        length = tracer.arithmetic.length(value)
        tracer.code.require(tracer.arithmetic.compare("==", length, Known(count)))
        return [_item_of(tracer, value, Known(number)) for number in range(count)]
    items = list(items_of(value))
    if len(items) != count:
        raise NotTraced("a sequence of another length")
    return items


def _part_of(tracer: Tracer, vector: Vector, index: Value, bounds: slice | None) -> Value:
    """An item of a vector, or some of them."""
    arithmetic, code = tracer.arithmetic, tracer.code
    if bounds is not None:
        if bounds.step not in (None, 1):
            raise NotTraced("a slice of a list with a step")
        start, stop = slice_ends(bounds)
        register = code.change("VECTOR_SLICE", Number("i", vector.register), start, stop)
        return Vector(register, vector.layout, "list")
    if kind_of(index) not in ("i", "b"):
        raise NotTraced("an index that is not an int")
    count: Value = tracer.loops.vector("VECTOR_COUNT", vector)
    behind = arithmetic.binary("+", index, count)
    negative = arithmetic.compare("<", index, Known(0))
    number = arithmetic.chosen(negative, behind, arithmetic.binary("+", index, Known(0)))
    kinds = kinds_of(vector.layout)
    first = arithmetic.binary("*", number, Known(len(kinds)))
    register = code.new(len(kinds))
    for n, kind in enumerate(kinds):
        place = code.register(arithmetic.binary("+", first, Known(n)))
        name = "VECTOR_TEXT" if kind == "s" else "VECTOR_AT"
        code.emit(name, register + n, vector.register, place)
    return value_of_layout(vector.layout, register)


def _item_of(tracer: Tracer, rows: RowList, index: Value) -> Value:
    """An item of a list of the row; where there is none the row is given back."""
    arithmetic, code = tracer.arithmetic, tracer.code
    if kind_of(index) not in ("i", "b"):
        raise NotTraced("an index that is not an int")
    if isinstance(index, Known) and index.value < 0:
        index = arithmetic.binary("+", arithmetic.length(rows), index)
    if not isinstance(index, Known):
        code.require(arithmetic.compare(">=", index, Known(0)))
    register = code.new()
    code.emit("AT", register, rows.register, code.register(index))
    return tracer.taken_apart(rows.item, register)
