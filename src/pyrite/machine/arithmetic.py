"""Operators on traced numbers, each exactly as Python computes it, or refused.

An operation of the machine gives the row back where Python would raise, or would need more than 64
bits; so what is emitted here stands for results only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pyrite.machine.bytecode import NotTraced
from pyrite.machine.emit import Code, Label, kind_of
from pyrite.machine.mathlibrary import is_shared
from pyrite.machine.texts import TextMethods
from pyrite.machine.values import (
    KINDS,
    Items,
    Kind,
    Known,
    Number,
    Opaque,
    RowList,
    Text,
    Texts,
    Value,
    is_text,
)

_FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
_ON_INTS = {
    "+": "ADD_INT",
    "-": "SUB_INT",
    "*": "MUL_INT",
    "//": "FLOORDIV_INT",
    "%": "MOD_INT",
    "&": "AND_INT",
    "|": "OR_INT",
    "^": "XOR_INT",
    "<<": "LSHIFT_INT",
    ">>": "RSHIFT_INT",
}
_ON_FLOATS = {"+": "ADD_FLOAT", "-": "SUB_FLOAT", "*": "MUL_FLOAT", "/": "DIV_FLOAT"}
_COMPARISONS = {"<": "LT", "<=": "LE", "==": "EQ", "!=": "NE", ">": "GT", ">=": "GE"}
_BITWISE = frozenset({"&", "|", "^"})

# Ints up to here are doubles exactly.
_EXACT_INTS = 1 << 53
# The largest constant operand of ** for ints: it becomes multiplications.
_MOST_FACTORS = 8
_SMALL = 1 << 64


class Arithmetic:
    """Emits operations on numbers into a program's code."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.texts = TextMethods(code)

    def binary(self, sign: str, left: Value, right: Value) -> Value:
        """The result of `left sign right`."""
        in_place = sign.endswith("=")
        sign = sign.removesuffix("=")
        kinds = kind_of(left), kind_of(right)
        if sign == "+" and is_text(left) and is_text(right):
            return self.texts.joined(left, right)
        if kinds[0] is None or kinds[1] is None:
            return _joined_items(sign, left, right, in_place)
        if isinstance(left, Known) and isinstance(right, Known):
            return _folded(sign, left.value, right.value)
        if sign == "**":
            return self._power(left, right)
        if "f" in kinds:
            if sign not in _ON_FLOATS:
                raise NotTraced(f"{sign} of floats")
            name = _ON_FLOATS[sign]
            return self.code.compute(name, "f", self.to_float(left), self.to_float(right))
        if sign == "/":
            return self.code.compute("DIV_INT", "f", left, right)
        kind: Kind = "b" if sign in _BITWISE and kinds == ("b", "b") else "i"
        return self.code.compute(_ON_INTS[sign], kind, left, right)

    def _power(self, left: Value, right: Value) -> Value:
        exponent = right.value if isinstance(right, Known) else None
        if "f" in (kind_of(left), kind_of(right)):
            require_shared_library()
            return self.code.compute("POW_FLOAT", "f", self.to_float(left), self.to_float(right))
        if type(exponent) is not int or not 1 <= exponent <= _MOST_FACTORS:
            raise NotTraced("** of ints")
        result = self.as_int(left)
        for _ in range(exponent - 1):
            result = self.code.compute("MUL_INT", "i", result, left)
        return result

    def compare(self, sign: str, left: Value, right: Value) -> Value:
        """The bool of `left sign right`."""
        if sign in ("is", "is not"):
            return _identity(sign, left, right)
        if is_text(left) and is_text(right):
            return self.texts.compare(sign, left, right)
        kinds = kind_of(left), kind_of(right)
        if kinds[0] is None or kinds[1] is None:
            raise NotTraced("a comparison of values that are not numbers")
        if isinstance(left, Known) and isinstance(right, Known):
            return _folded(sign, left.value, right.value)
        name = _COMPARISONS[sign]
        if "f" not in kinds:
            return self.code.compute(f"{name}_INT", "b", left, right)
        # An int is compared with a float by its exact value.
        return self.code.compute(f"{name}_FLOAT", "b", self._exactly(left), self._exactly(right))

    def _exactly(self, value: Value) -> Value:
        if kind_of(value) == "f":
            return value
        if isinstance(value, Known):
            if abs(value.value) > _EXACT_INTS:
                raise NotTraced("a comparison of a large int with a float")
            return Known(float(value.value))
        return self.code.compute("TO_FLOAT_EXACTLY", "f", value)

    def contains(self, container: Value, wanted: Value) -> Value:
        """The bool of `wanted in container`."""
        if kind_of(wanted) is None or not isinstance(container, Items) or not container.items:
            return self.texts.contains(container, wanted)
        if kind_of(wanted) == "f":
            # A tuple holds what is the same object, though NaN is not equal to itself.
            self._require_number(wanted)
        found = self.compare("==", wanted, container.items[0])
        for each in container.items[1:]:
            one = self.compare("==", wanted, each)
            found = self.binary("|", found, one)
        return found

    def _require_number(self, value: Value) -> None:
        if not isinstance(value, Known):
            self.code.require(self.code.compute("EQ_FLOAT", "b", value, value))
        elif value.value != value.value:
            raise NotTraced("a search for a constant that is not a number")

    def truth(self, value: Value) -> Value:
        """What decides a branch on the value: a constant, or a number that is zero or not."""
        if isinstance(value, Known):
            if value.value is not None and type(value.value) not in (*KINDS, str, tuple, list):
                raise NotTraced("the truth of a value that is not a number")
            return Known(bool(value.value))
        if isinstance(value, Items):
            return Known(bool(value.items))
        if isinstance(value, RowList):
            return self.length(value)
        if isinstance(value, Text | Texts):
            return self.texts.size(value)
        if isinstance(value, Number):
            if value.kind != "f":
                return value
            return self.code.compute("NE_FLOAT", "b", value, Known(0.0))
        raise NotTraced("the truth of a value that is not a number")

    def as_bool(self, value: Value) -> Value:
        """bool(value)"""
        truth = self.truth(value)
        if isinstance(truth, Number) and truth.kind == "i":
            return self.code.compute("NE_INT", "b", truth, Known(0))
        return truth

    def negated(self, value: Value) -> Value:
        """not value"""
        truth = self.truth(value)
        if isinstance(truth, Known):
            return Known(not truth.value)
        return self.code.compute("NOT", "b", truth)

    def unary(self, sign: str, value: Value) -> Value:
        """-value, ~value or abs(value)"""
        kind = kind_of(value)
        if kind is None or (sign == "~" and kind != "i"):
            # An inverted bool warns.
            raise NotTraced(f"{sign} of a value that is not a number")
        if isinstance(value, Known):
            number = value.value
            return Known(-number if sign == "-" else ~number if sign == "~" else abs(number))
        stem = {"-": "NEG", "~": "INVERT", "abs": "ABS"}[sign]
        if kind == "f":
            return self.code.compute(f"{stem}_FLOAT", "f", value)
        return self.code.compute(f"{stem}_INT", "i", value)

    def to_float(self, value: Value) -> Value:
        """A number as a float; an int is rounded as Python rounds it."""
        kind = kind_of(value)
        if kind is None:
            raise NotTraced("a float of a value that is not a number")
        if kind == "f":
            return value
        if isinstance(value, Known):
            if abs(value.value) > _SMALL:
                raise NotTraced("a constant beyond 64 bits")
            return Known(float(value.value))
        return self.code.compute("TO_FLOAT", "f", value)

    def as_int(self, value: Value) -> Value:
        """int(value)"""
        kind = kind_of(value)
        if is_text(value):
            return self.texts.to_int(value)
        if kind is None or (isinstance(value, Known) and kind == "f"):
            raise NotTraced("an int of a value that is not a number")
        if isinstance(value, Known):
            return Known(int(value.value))
        assert isinstance(value, Number)
        return (
            self.code.compute("TO_INT", "i", value) if kind == "f" else Number("i", value.register)
        )

    def length(self, rows: RowList) -> Value:
        register = self.code.new()
        self.code.emit("LENGTH", register, rows.register)
        return Number("i", register)

    def chosen(self, condition: Value, left: Value, right: Value) -> Value:
        """`left if condition else right`, of two numbers of one kind, or of two texts."""
        kind = kind_of(left)
        are_texts = is_text(left) and is_text(right)
        if not are_texts and (kind is None or kind != kind_of(right)):
            raise NotTraced("a choice between values of two types")
        if isinstance(condition, Known):
            return left if condition.value else right
        result, end = self.code.new(), Label()
        # Constants get their registers before the jump.
        first, second = self.code.register(left), self.code.register(right)
        self.code.emit("MOVE", result, first)
        self.code.emit("JUMP_IF", self.code.register(condition), end)
        self.code.emit("MOVE", result, second)
        self.code.lines.append(end)
        return Text(result) if kind is None else Number(kind, result)


def require_shared_library() -> None:
    """Refuses functions whose last bit could differ from the interpreter's."""
    if not is_shared():
        raise NotTraced("the interpreter has a mathematical library of its own")


def _folded(sign: str, left: Any, right: Any) -> Known:
    """The result for two constants; what is slow, large or raises is refused."""
    fold = _FOLDED.get(sign)
    if sign in ("<<", ">>", "**"):
        if abs(left) > _SMALL or not 0 <= right <= 64:
            raise NotTraced(f"{sign} of large constants")
        fold = {"<<": operator.lshift, ">>": operator.rshift, "**": operator.pow}[sign]
    assert fold is not None
    try:
        result = fold(left, right)
    except Exception as error:
        raise NotTraced(f"constants for which {sign} raises") from error
    if type(result) not in KINDS:
        raise NotTraced(f"{sign} of constants")
    return Known(result)


def _joined_items(sign: str, left: Value, right: Value, in_place: bool) -> Value:
    if (
        sign == "+"
        and isinstance(left, Items)
        and isinstance(right, Items)
        and left.is_list == right.is_list
        and not (in_place and left.is_list)
    ):
        return Items(left.items + right.items, left.is_list)
    raise NotTraced(f"{sign} of values that are not numbers")


def _identity(sign: str, left: Value, right: Value) -> Value:
    """`is` with None; the identity of numbers and texts is not kept."""
    kind_of(left), kind_of(right)
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        raise NotTraced("the identity of an object")
    values = [each.value if isinstance(each, Known) else each for each in (left, right)]
    if values[0] is not None and values[1] is not None:
        raise NotTraced("the identity of a value")
    return Known((values[0] is values[1]) == (sign == "is"))
