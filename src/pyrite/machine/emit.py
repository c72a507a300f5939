"""Code of the machine as it is emitted: instructions, registers, constants and labels."""

from __future__ import annotations

import math
import struct

from pyrite.machine import _rows
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.values import KINDS, Kind, Known, Number, Text, Value, leaves_of

OPERATIONS = {name: number for number, name in enumerate(_rows.OPERATIONS.split())}

_MOST_REGISTERS = 4096
_MOST_INSTRUCTIONS = 20_000
_LEAST_INT = -(1 << 63)
_MOST_INT = (1 << 63) - 1

# What is never read need not be taken out of the row. All that functions compute is computed, since
# its guards stand for the errors that Python would raise.
_UNBOXING = frozenset({"ITEM", "INT", "FLOAT", "BOOL"})
# Operations whose first operand is read before it is written.
_CHANGING = frozenset(
    {"LIST", "ADD_COMPENSATED", "SLICE_TEXT", "STRIP_OF", "REPLACE", "SPLIT", "SPLIT_AT"}
) | {"TEXTS_SLICE", "TEXTS_ADD", "VECTOR_SLICE", "VECTOR_SORTED"}


class Label:
    """A place in the code that jumps lead to."""


class Line:
    """One instruction; a jump has a label in place of its second operand."""

    __slots__ = ("a", "b", "c", "name")

    def __init__(self, name: str, a: int, b: int | Label, c: int) -> None:
        self.name = name
        self.a = a
        self.b = b
        self.c = c

    def reads(self) -> set[int]:
        """The registers that the instruction reads, or may read."""
        if isinstance(self.b, Label):
            return {self.a}
        match self.name:
            case "TUPLE" | "REQUIRE":
                return {self.a}
            case "ITEM":
                return {self.b}
            case "LOAD":
                return {self.b}
            case "AHEAD":
                return {self.a, self.b}
            case "STORE" | "INSERT" | "INSERT_BY_TEXT" | "APPEND" | "APPEND_BY_TEXT":
                return {self.b, *range(self.a, self.a + self.c)}
            case "VECTOR_ADD":
                return {self.a, *range(self.b, self.b + self.c)}
            case name if name in _CHANGING:
                return {self.a, self.b, self.c}
            case _:
                return {self.b, self.c}


class Code:
    """The code of one program while it is traced."""

    def __init__(self, row_registers: int) -> None:
        self.lines: list[Line | Label] = []
        self.constants: dict[int, int | float | str] = {}
        self.register_count = row_registers
        # The numbers that were taken out of the row.
        self.unboxed: list[Number] = []
        self._known: dict[tuple[str, str], int] = {}

    def new(self, count: int = 1) -> int:
        """Returns the first of some registers that nobody uses yet."""
        self.register_count += count
        if self.register_count > _MOST_REGISTERS:
            raise NotTraced("too many values")
        return self.register_count - count

    def emit(self, name: str, a: int = 0, b: int | Label = 0, c: int = 0) -> None:
        if len(self.lines) > _MOST_INSTRUCTIONS:
            raise NotTraced("too much code")
        self.lines.append(Line(name, a, b, c))

    def register(self, value: Value) -> int:
        """The register of a number or a text; constants get one."""
        if isinstance(value, Number | Text):
            return value.register
        if isinstance(value, Known) and type(value.value) is str:
            return self._text_constant(value.value)
        if not isinstance(value, Known) or type(value.value) not in KINDS:
            raise NotTraced("a value that is not a number")
        number = value.value
        if type(number) is not float and not _LEAST_INT <= number <= _MOST_INT:
            raise NotTraced("a constant beyond 64 bits")
        if type(number) is float and math.isnan(number):
            raise NotTraced("a constant that is not a number")
        return self._constant(KINDS[type(number)], number)

    def _constant(self, kind: str, value: int | float | str) -> int:
        key = (kind, repr(value))
        if key not in self._known:
            self._known[key] = self.new()
            self.constants[self._known[key]] = value
        return self._known[key]

    def _text_constant(self, text: str) -> int:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise NotTraced("a constant with a surrogate") from error
        return self._constant("s", text)

    def compute(self, name: str, kind: Kind, *operands: Value) -> Number:
        """Emits an operation on numbers; returns its result."""
        registers = [self.register(each) for each in operands]
        result = self.new()
        self.emit(name, result, *registers)
        return Number(kind, result)

    def compute_text(self, name: str, *operands: Value) -> Text:
        """Emits an operation on texts that makes a text."""
        registers = [self.register(each) for each in operands]
        result = self.new()
        self.emit(name, result, *registers)
        return Text(result)

    def change(self, name: str, first: Value, *operands: Value) -> int:
        """Emits an operation that changes a copy of its first operand; returns the register."""
        registers = [self.register(each) for each in (first, *operands)]
        result = self.new()
        self.emit("MOVE", result, registers[0])
        self.emit(name, result, *registers[1:])
        return result

    def require(self, condition: Value) -> None:
        """Gives the row back unless a number is not zero."""
        self.emit("REQUIRE", self.register(condition))

    def move(self, register: int, value: Value) -> None:
        self.emit("MOVE", register, self.register(value))

    def assembled(self, kept: set[int]) -> bytes:
        """The code's bytes, without unboxing that nothing depends on; `kept` registers are read
        afterwards."""
        asked = {each.register for each in self.unboxed if each.is_asked}
        lines = self._without_unread(kept | asked)
        places: dict[Label, int] = {}
        count = 0
        for each in lines:
            if isinstance(each, Label):
                places[each] = count
            else:
                count += 1
        return b"".join(_packed(each, places) for each in lines if isinstance(each, Line))

    def _without_unread(self, kept: set[int]) -> list[Line | Label]:
        lines = self.lines
        while True:
            read = set(kept)
            for each in lines:
                if isinstance(each, Line):
                    read |= each.reads()
            left = [
                each
                for each in lines
                if isinstance(each, Label) or each.name not in _UNBOXING or each.a in read
            ]
            if len(left) == len(lines):
                return [_unread_text(each, read) for each in left]
            lines = left


def _unread_text(line: Line | Label, read: set[int]) -> Line | Label:
    """A text that nothing reads must be one, and no more: its UTF-8 would stay with the object."""
    if isinstance(line, Label) or line.name != "TEXT" or line.a in read:
        return line
    return Line("IS_TEXT", line.a, line.b, 0)


def _packed(line: Line, places: dict[Label, int]) -> bytes:
    b, c = line.b, line.c
    if isinstance(b, Label):
        target = places[b]
        b, c = target & 0xFFFF, target >> 16
    return struct.pack("=4H", OPERATIONS[line.name], line.a, b, c)


def store(code: Code, value: Value, first: int) -> None:
    """Emits moves of a value's numbers and texts into consecutive registers, which may be among
    its own."""
    leaves = leaves_of(value)
    targets = range(first, first + len(leaves))
    moved = []
    for leaf, target in zip(leaves, targets, strict=True):
        register = code.register(leaf)
        if register in targets and register != target:
            copied = code.new()
            code.emit("MOVE", copied, register)
            register = copied
        moved.append((target, register))
    for target, register in moved:
        if register != target:
            code.emit("MOVE", target, register)


def kind_of(value: Value) -> Kind | None:
    """The kind of a number; None for all else. What follows depends on it from now on."""
    if isinstance(value, Number):
        value.is_asked = True
        return value.kind
    if isinstance(value, Known):
        return KINDS.get(type(value.value))
    return None
