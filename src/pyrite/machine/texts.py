"""Operators and methods of text on traced values, each exactly as str has it, or refused.

The machine gives a row back where a method needs to know more of characters than UTF-8 tells: the
case of letters beyond ASCII, digits of other scripts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyrite.machine.bytecode import NotTraced
from pyrite.machine.emit import Code, kind_of
from pyrite.machine.values import (
    KINDS,
    Items,
    Known,
    Number,
    Text,
    Texts,
    Value,
    is_text,
)

_COMPARISONS = {"<": "LT_INT", "<=": "LE_INT", ">": "GT_INT", ">=": "GE_INT"}
# What STRIP takes off.
_LEFT, _RIGHT = 1, 2
_CLASSES = {"isdigit": 0, "isdecimal": 0, "isnumeric": 0, "isalpha": 1, "isalnum": 2, "isspace": 3}
_MOST_ALTERNATIVES = 16
_SHOWN = {"i": "INT_TO_TEXT", "f": "FLOAT_TO_TEXT", "b": "BOOL_TO_TEXT"}
_DECIMALS = frozenset(map(str, range(20)))


class TextMethods:
    """Emits operations on texts into a program's code."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.methods: dict[str, Callable[..., Value]] = {
            "split": self._split,
            "partition": self._partition,
            "strip": lambda text, taken=None: self._strip(text, taken, _LEFT | _RIGHT),
            "lstrip": lambda text, taken=None: self._strip(text, taken, _LEFT),
            "rstrip": lambda text, taken=None: self._strip(text, taken, _RIGHT),
            "lower": lambda text: self.code.compute_text("LOWER", text),
            "upper": lambda text: self.code.compute_text("UPPER", text),
            "startswith": lambda text, start: self._ends("STARTS_WITH", text, start),
            "endswith": lambda text, end: self._ends("ENDS_WITH", text, end),
            "find": lambda text, wanted: self._number("FIND_TEXT", text, wanted),
            "count": lambda text, wanted: self._number("COUNT_TEXT", text, wanted),
            "replace": self._replace,
            **{name: self._class_of(number) for name, number in _CLASSES.items()},
        }

    def call(
        self, name: str, owner: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]
    ) -> Value:
        """The result of a method of a text."""
        known = self.methods.get(name)
        if known is None or not is_text(owner):
            raise NotTraced(f"a call of str.{name}")
        if keywords and (name != "split" or not keywords.keys() <= {"sep", "maxsplit"}):
            raise NotTraced(f"keyword arguments of str.{name}")
        given = (*arguments, *keywords.values())
        if isinstance(owner, Known) and all(isinstance(each, Known) for each in given):
            return _folded(name, owner, arguments, keywords)
        try:
            return known(owner, *arguments, **keywords)
        except TypeError as error:
            raise NotTraced(f"{len(arguments)} arguments for str.{name}") from error

    def compare(self, sign: str, left: Value, right: Value) -> Value:
        """The bool of `left sign right`."""
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(_compared(sign, left.value, right.value))
        if sign in ("==", "!="):
            equal = self.code.compute("EQUAL_TEXT", "b", left, right)
            return equal if sign == "==" else self.code.compute("NOT", "b", equal)
        order = self.code.compute("COMPARE_TEXT", "i", left, right)
        return self.code.compute(_COMPARISONS[sign], "b", order, Known(0))

    def contains(self, container: Value, wanted: Value) -> Value:
        """The bool of `wanted in container`."""
        if is_text(container) and is_text(wanted):
            if isinstance(container, Known) and isinstance(wanted, Known):
                return Known(wanted.value in container.value)
            return self.code.compute("CONTAINS", "b", container, wanted)
        if isinstance(container, Texts) and container.form == "list" and is_text(wanted):
            register = self.code.new()
            self.code.emit("TEXTS_HOLD", register, container.register, self.code.register(wanted))
            return Number("b", register)
        alternatives = _alternatives(container)
        if not is_text(wanted) or not alternatives or not all(map(is_text, alternatives)):
            raise NotTraced("a search in a value that is not text")
        found = self.compare("==", wanted, alternatives[0])
        for each in alternatives[1:]:
            found = self.code.compute("OR_INT", "b", found, self.compare("==", wanted, each))
        return found

    def joined(self, left: Value, right: Value) -> Value:
        """left + right"""
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(left.value + right.value)
        return self.code.compute_text("JOIN_TEXT", left, right)

    def length(self, value: Value) -> Value:
        """len(value) of a text, or of texts"""
        if isinstance(value, Known):
            return Known(len(value.value))
        if isinstance(value, Texts):
            return self._of_texts("TEXTS_COUNT", value)
        return self.code.compute("TEXT_LENGTH", "i", value)

    def size(self, value: Value) -> Value:
        """A number that is zero for an empty text, or an empty list of texts."""
        if isinstance(value, Texts):
            return self._of_texts("TEXTS_COUNT", value)
        return self.code.compute("TEXT_SIZE", "i", value)

    def index(self, value: Value, index: Value) -> Value:
        """value[index] of a text, or of texts"""
        if kind_of(index) not in ("i", "b"):
            raise NotTraced("an index that is not an int")
        if isinstance(value, Texts):
            register = self.code.new()
            self.code.emit("TEXTS_AT", register, value.register, self.code.register(index))
            return Text(register)
        return self.code.compute_text("INDEX_TEXT", value, index)

    def slice(self, value: Value, bounds: slice) -> Value:
        """value[start:stop] of a text, or of texts"""
        if bounds.step not in (None, 1):
            raise NotTraced("a slice of a text with a step")
        start, stop = slice_ends(bounds)
        if isinstance(value, Texts):
            return Texts(self.code.change("TEXTS_SLICE", Text(value.register), start, stop))
        if isinstance(value, Known):
            return Known(value.value[bounds])
        return Text(self.code.change("SLICE_TEXT", value, start, stop))

    def unpacked(self, value: Texts, count: int) -> list[Value]:
        """As many texts; with another number of them the row is given back."""
        same = self.code.compute("EQ_INT", "b", self.length(value), Known(count))
        self.code.require(same)
        return [self.index(value, Known(number)) for number in range(count)]

    def to_int(self, value: Value) -> Value:
        """int(value)"""
        if isinstance(value, Known):
            return _folded_number(int, value.value)
        return self.code.compute("TEXT_TO_INT", "i", value)

    def to_float(self, value: Value) -> Value:
        """float(value)"""
        if isinstance(value, Known):
            return _folded_number(float, value.value)
        return self.code.compute("TEXT_TO_FLOAT", "f", value)

    def from_value(self, value: Value) -> Value:
        """str(value)"""
        if is_text(value):
            return value
        if isinstance(value, Known):
            return _shown(value.value)
        kind = kind_of(value)
        if kind is None:
            raise NotTraced("a text of a value that is not a number")
        return self.code.compute_text(_SHOWN[kind], value)

    def converted(self, value: Value, conversion: str) -> Value:
        """What {value!conversion} makes of a value in an f-string."""
        if not conversion:
            return value
        if conversion == "s" or (conversion == "r" and not is_text(value)):
            return self.from_value(value)
        raise NotTraced(f"the conversion !{conversion} of text")

    def formatted(self, value: Value, spec: Value) -> Value:
        """The text of {value:spec} in an f-string."""
        if not isinstance(spec, Known) or type(spec.value) is not str:
            raise NotTraced("a format that is not known")
        if not spec.value:
            return self.from_value(value)
        decimals = spec.value[1:-1]
        is_plain = spec.value == f".{decimals}f" and decimals in _DECIMALS
        kind = kind_of(value)
        if not is_plain or kind not in ("i", "f"):
            raise NotTraced(f"the format {spec.value}")
        result, number = self.code.new(), value
        if kind == "i":
            number = self.code.compute("TO_FLOAT", "f", value)
        self.code.emit("SHOW_FLOAT", result, self.code.register(number), int(decimals))
        return Text(result)

    def _of_texts(self, name: str, value: Texts) -> Number:
        register = self.code.new()
        self.code.emit(name, register, value.register)
        return Number("i", register)

    def _number(self, name: str, text: Value, wanted: Value) -> Value:
        return self.code.compute(name, "i", text, _needed(wanted))

    def _split(self, text: Value, sep: Value | None = None, maxsplit: Value | None = None) -> Value:
        count = Known(-1) if maxsplit is None else maxsplit
        if kind_of(count) not in ("i", "b"):
            raise NotTraced("a number of splits that is not an int")
        if sep is None or _is_none(sep):
            return Texts(self.code.change("SPLIT", count, text))
        return Texts(self.code.change("SPLIT_AT", count, text, _needed(sep)))

    def _partition(self, text: Value, separator: Value) -> Value:
        register = self.code.new()
        places = self.code.register(text), self.code.register(_needed(separator))
        self.code.emit("PARTITION", register, *places)
        return Items([self.index(Texts(register), Known(number)) for number in range(3)])

    def _strip(self, text: Value, taken: Value | None, sides: int) -> Value:
        if taken is not None and not _is_none(taken):
            return Text(self.code.change("STRIP_OF", Known(sides), text, _needed(taken)))
        result, register = self.code.new(), self.code.register(text)
        self.code.emit("STRIP", result, register, sides)
        return Text(result)

    def _ends(self, name: str, text: Value, end: Value) -> Value:
        if not isinstance(end, Items) or end.is_list:
            return self.code.compute(name, "b", text, _needed(end))
        found: Value = Known(False)
        for each in end.items:
            one = self.code.compute(name, "b", text, _needed(each))
            found = self.code.compute("OR_INT", "b", found, one)
        return found

    def _replace(self, text: Value, old: Value, new: Value) -> Value:
        return Text(self.code.change("REPLACE", _needed(new), text, _needed(old)))

    def _class_of(self, number: int) -> Callable[[Value], Value]:
        def emit(text: Value) -> Value:
            result, register = self.code.new(), self.code.register(text)
            self.code.emit("IS_ALL", result, register, number)
            return Number("b", result)

        return emit


def slice_ends(bounds: slice) -> tuple[Known, Known]:
    """Where a slice begins and ends; what is left out as the outermost."""
    start = Known(0 if bounds.start is None else bounds.start)
    return start, Known(sys.maxsize if bounds.stop is None else bounds.stop)


def _needed(value: Value) -> Value:
    if not is_text(value):
        raise NotTraced("an argument that is not text")
    return value


def _is_none(value: Value) -> bool:
    return isinstance(value, Known) and value.value is None


def _shown(value: Any) -> Known:
    """str(value) of a constant."""
    if type(value) is int and abs(value) >= 1 << 64:
        raise NotTraced("a large int")
    if value is not None and type(value) not in KINDS:
        raise NotTraced("a text of a value that is not a number")
    return Known(str(value))


def _compared(sign: str, left: str, right: str) -> bool:
    results = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    return results.get(sign, (left == right) == (sign == "=="))


def _folded(
    name: str, owner: Known, arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> Value:
    """A method of a constant."""
    given = [each.value for each in arguments if isinstance(each, Known)]
    named = {key: each.value for key, each in keywords.items() if isinstance(each, Known)}
    try:
        made: Any = getattr(owner.value, name)(*given, **named)
    except Exception as error:
        raise NotTraced(f"constants for which str.{name} raises") from error
    if type(made) in (list, tuple):
        return Items([Known(each) for each in made], type(made) is list)
    return Known(made)


def _folded_number(kind: type, text: str) -> Value:
    try:
        return Known(kind(text))
    except ValueError as error:
        raise NotTraced(f"a text that is no {kind.__name__}") from error


def _alternatives(container: Value) -> list[Value]:
    """The constants that a value is searched in, if they are few."""
    if isinstance(container, Items):
        found = list(container.items)
    elif isinstance(container, Known) and type(container.value) in (set, frozenset, dict):
        # The order in which a set is searched can't be seen.
        found = [Known(each) for each in container.value]
    else:
        return []
    return found if len(found) <= _MOST_ALTERNATIVES else []
