"""Builtins and functions of `math` and `operator` on traced values."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyrite.machine.arithmetic import Arithmetic, require_shared_library
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.emit import kind_of
from pyrite.machine.loops import Loops
from pyrite.machine.total import COMPENSATES
from pyrite.machine.values import (
    DEEPEST_SHAPE,
    Items,
    Known,
    LoopItems,
    Number,
    Once,
    RowList,
    Sequenced,
    Texts,
    Value,
    Vector,
    is_text,
    layout_of,
)

if TYPE_CHECKING:
    from pyrite.machine.collecting import Collecting

MOST_ITEMS = 256

_OPERATORS: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
}
_COMPARED: dict[Any, str] = {
    operator.lt: "<",
    operator.le: "<=",
    operator.eq: "==",
    operator.ne: "!=",
    operator.gt: ">",
    operator.ge: ">=",
}
# None of them has a say in isinstance.
_PLAIN_TYPES = (int, float, bool, str, bytes, tuple, list, dict, set, complex)
_METHOD: Any = type(str.split)
# What may be named in a call.
_KEYWORDS: dict[Any, frozenset[str]] = {
    builtins.sorted: frozenset({"reverse"}),
    builtins.sum: frozenset({"start"}),
}
_MATH: dict[Any, str] = {math.exp: "EXP", math.sqrt: "SQRT", math.log: "LOG"}


def lifted(value: Any, depth: int = 0) -> Value:
    """A known value; sequences are taken apart, so that their items can be used one by one."""
    if type(value) in (tuple, list) and len(value) <= MOST_ITEMS and depth < DEEPEST_SHAPE:
        return Items([lifted(each, depth + 1) for each in value], type(value) is list)
    return Known(value)


def items_of(value: Value) -> tuple[Value, ...]:
    """The items of a sequence whose length is known."""
    if isinstance(value, Items | Once):
        return value.items
    if isinstance(value, Known) and type(value.value) is range:
        if len(value.value) > MOST_ITEMS:
            raise NotTraced("a loop of many rounds")
        return tuple(map(Known, value.value))
    raise NotTraced("a loop over a value of unknown length")


class Calls:
    """Calls of functions that are written in C."""

    def __init__(
        self,
        arithmetic: Arithmetic,
        loops: Loops,
        collecting: Collecting,
        call: Callable[[Value, Sequence[Value]], Value],
    ) -> None:
        self.arithmetic = arithmetic
        self.loops = loops
        self.collecting = collecting
        # Calls any function, traced ones among them.
        self.call = call
        self.known: dict[Any, Callable[..., Value]] = {
            builtins.len: self.len,
            builtins.float: self.float,
            builtins.int: self.int,
            builtins.bool: arithmetic.as_bool,
            builtins.str: arithmetic.texts.from_value,
            builtins.abs: functools.partial(arithmetic.unary, "abs"),
            builtins.min: functools.partial(self.extreme, "<"),
            builtins.max: functools.partial(self.extreme, ">"),
            builtins.sum: self.sum,
            builtins.list: self.list,
            builtins.tuple: self.tuple,
            builtins.sorted: collecting.sorted,
            builtins.set: collecting.set,
            builtins.frozenset: collecting.set,
            builtins.zip: self.zip,
            builtins.map: self.map,
            builtins.enumerate: self.enumerate,
            builtins.range: self.range,
            builtins.isinstance: self.isinstance,
            operator.neg: functools.partial(arithmetic.unary, "-"),
            math.fabs: self.fabs,
        }

    def native(
        self, function: Any, arguments: Sequence[Value], keywords: Mapping[str, Value]
    ) -> Value:
        """The result of a function that is written in C."""
        if type(function) is _METHOD and function.__objclass__ is str and arguments:
            texts = self.arithmetic.texts
            return texts.call(function.__name__, arguments[0], arguments[1:], keywords)
        try:
            if not keywords.keys() <= _KEYWORDS.get(function, frozenset()):
                raise NotTraced(f"keyword arguments of {_named(function)}")
            if function in _OPERATORS and len(arguments) == 2:
                return self.arithmetic.binary(_OPERATORS[function], *arguments)
            if function in _COMPARED and len(arguments) == 2:
                return self.arithmetic.compare(_COMPARED[function], *arguments)
            if function in _MATH and len(arguments) == 1:
                return self._math(function, arguments[0])
            known = self.known.get(function)
        except TypeError as error:
            raise NotTraced("a call of a value that can't be hashed") from error
        if known is None:
            raise NotTraced(f"a call of {_named(function)}")
        try:
            return known(*arguments, **keywords)
        except TypeError as error:
            raise NotTraced(f"{len(arguments)} arguments for {_named(function)}") from error

    def _math(self, function: Any, argument: Value) -> Value:
        if isinstance(argument, Known):
            try:
                return Known(function(self.arithmetic.to_float(argument).value))  # type: ignore[union-attr]
            except (ValueError, OverflowError) as error:
                raise NotTraced(f"a constant for which {_named(function)} raises") from error
        require_shared_library()
        number = self.arithmetic.to_float(argument)
        return self.arithmetic.code.compute(_MATH[function], "f", number)

    def len(self, value: Value) -> Value:
        if isinstance(value, RowList):
            return self.arithmetic.length(value)
        if isinstance(value, Items):
            return Known(len(value.items))
        if isinstance(value, Texts) or is_text(value):
            return self.arithmetic.texts.length(value)
        if isinstance(value, Vector):
            return self.loops.vector("VECTOR_COUNT", value)
        if isinstance(value, LoopItems) and not value.is_once:
            return self.loops.length(value)
        raise NotTraced("len of a value of unknown length")

    def float(self, value: Value) -> Value:
        if is_text(value):
            return self.arithmetic.texts.to_float(value)
        return self.arithmetic.to_float(value)

    def int(self, value: Value) -> Value:
        return self.arithmetic.as_int(value)

    def fabs(self, value: Value) -> Value:
        return self.arithmetic.unary("abs", self.arithmetic.to_float(value))

    def copied(self, value: Value) -> Value:
        """A copy of what can't change is the same."""
        if "[" in layout_of(value):
            raise NotTraced("a copy of a list")
        return value

    def extreme(self, sign: str, *values: Value) -> Value:
        """min or max: a later value takes the place of the best one if it compares so."""
        if len(values) == 1 and isinstance(values[0], Vector) and values[0].layout == "i":
            name = "VECTOR_MIN_INT" if sign == "<" else "VECTOR_MAX_INT"
            return self.loops.vector(name, values[0])
        loop = self.loops.over(values[0]) if len(values) == 1 else None
        if loop is not None:
            return self.loops.extreme(sign, loop)
        items = items_of(values[0]) if len(values) == 1 else values
        if not items:
            raise NotTraced("min or max of nothing")
        best = items[0]
        if kind_of(best) is None and not is_text(best):
            raise NotTraced("min or max of values that are not numbers")
        for each in items[1:]:
            best = self.arithmetic.chosen(self.arithmetic.compare(sign, each, best), each, best)
        return best

    def sum(self, values: Value, start: Value | None = None) -> Value:
        total: Value = Known(0) if start is None else start
        if start is None and isinstance(values, Vector) and values.layout == "i":
            return self.loops.vector("VECTOR_SUM_INT", values)
        loop = self.loops.over(values)
        if loop is not None:
            return self.loops.sum(loop, total)
        code = self.arithmetic.code
        compensation: Number | None = None
        for each in items_of(values):
            if kind_of(each) is None or kind_of(total) in (None, "b"):
                raise NotTraced("a sum of values that are not numbers")
            if COMPENSATES and kind_of(each) == kind_of(total) == "f":
                if compensation is None:
                    compensation = Number("f", code.new())
                    code.move(compensation.register, Known(0.0))
                own = Number("f", code.new())
                code.move(own.register, total)
                code.emit(
                    "ADD_COMPENSATED", own.register, code.register(each), compensation.register
                )
                total = own
            else:
                total = self.arithmetic.binary("+", total, each)
        if compensation is None:
            return total
        return code.compute("COMPENSATED", "f", total, compensation)

    def list(self, values: Value) -> Value:
        if isinstance(values, Sequenced | LoopItems):
            return self.collecting.list(values)
        return Items(items_of(values), True)

    def tuple(self, values: Value) -> Value:
        return Items(items_of(values))

    def zip(self, *values: Value) -> Value:
        columns = [items_of(each) for each in values]
        return Once([Items(row) for row in zip(*columns, strict=False)])

    def map(self, function: Value, *values: Value) -> Value:
        loop = self.loops.over(values[0]) if len(values) == 1 else None
        if loop is not None:
            return self.loops.mapped(loop, lambda item: self.call(function, [item]))
        columns = [items_of(each) for each in values]
        return Once([self.call(function, row) for row in zip(*columns, strict=False)])

    def enumerate(self, values: Value) -> Value:
        return Once([Items((Known(n), each)) for n, each in enumerate(items_of(values))])

    def range(self, *bounds: Value) -> Value:
        numbers = [each.value for each in bounds if isinstance(each, Known)]
        if len(numbers) < len(bounds) or not all(type(each) is int for each in numbers):
            raise NotTraced("a range of unknown length")
        try:
            return Known(range(*numbers))
        except (TypeError, ValueError) as error:
            raise NotTraced("a range that raises") from error

    def isinstance(self, value: Value, types: Value) -> Value:
        asked = _alternatives(types)
        kind = kind_of(value)
        if kind is not None:
            own: type = {"i": int, "f": float, "b": bool}[kind]
        elif isinstance(value, Items):
            own = list if value.is_list else tuple
        elif is_text(value):
            own = str
        else:
            raise NotTraced("isinstance of a value that is not a number")
        if not asked or any(each not in _PLAIN_TYPES for each in asked):
            raise NotTraced("isinstance with another type than the plain ones")
        return Known(issubclass(own, tuple(asked)))


def _alternatives(types: Value) -> list[Any]:
    """The types that are named by one, or by tuples of them within tuples."""
    if isinstance(types, Items) and not types.is_list:
        return [each for inner in types.items for each in _alternatives(inner)]
    return [types.value if isinstance(types, Known) else None]


def _named(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return str(name)
