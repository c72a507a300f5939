"""Loops over lists of a row, and over texts that it was split into."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyrite.machine.arithmetic import Arithmetic
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.emit import Code, Label, Line, kind_of
from pyrite.machine.total import COMPENSATES
from pyrite.machine.values import (
    Known,
    LoopItems,
    Number,
    RowList,
    Sequenced,
    Shape,
    Text,
    Texts,
    Value,
    Vector,
    is_text,
    kinds_of,
    value_of_layout,
)

if TYPE_CHECKING:
    TakeApart = Callable[[Shape, int], Value]


# What gives the number of items, or of words, and what gives one.
_OPERATIONS: dict[type, tuple[str, str]] = {
    RowList: ("LENGTH", "AT"),
    Texts: ("TEXTS_COUNT", "TEXTS_AT"),
    Vector: ("VECTOR_WORDS", "VECTOR_AT"),
}


class Loops:
    """Emits loops, and what sum, min, max and len make of them."""

    def __init__(self, arithmetic: Arithmetic, taken_apart: TakeApart) -> None:
        self.arithmetic = arithmetic
        self.code: Code = arithmetic.code
        self.taken_apart = taken_apart
        # The loops that were made and not emitted since, and the code that they were made in.
        self._made: list[tuple[LoopItems, list[Line | Label]]] = []
        # The loops over texts that are being emitted, by the register of their item: where their
        # rounds begin, and the registers of their texts and of their index.
        self._open: dict[int, tuple[list[Line | Label], int, int, int]] = {}
        # The registers that the rounds of loops which are being emitted write: those of a loop that
        # is emitted twice are the same.
        self._busy: set[int] = set()

    def made(self, loop: LoopItems) -> LoopItems:
        """Notes a loop: Python runs it whether or not its items are used, and so it must be
        emitted, and not in a branch alone, or refused in the end."""
        self._made.append((loop, self.code.lines))
        return loop

    def require_emitted(self, but: LoopItems | None = None) -> None:
        """Refuses what follows if it may not run, or not for each row, while there is a loop that
        Python has run by now."""
        if any(loop is not but or lines is not self.code.lines for loop, lines in self._made):
            raise NotTraced("a list that is made and not used, or not for each row")

    def over(self, value: Value) -> LoopItems | None:
        """A loop over each item of a list as it is; None for values that are no lists."""
        if isinstance(value, LoopItems):
            return value
        if not isinstance(value, Sequenced):
            return None
        item, lines = self.item_registers(value), self.code.lines
        self.code.lines = []
        made = self.item(value, item)
        own, self.code.lines = self.code.lines, lines
        return LoopItems(value, item, own, made)

    def item_registers(self, over: Sequenced) -> int:
        """The first of the registers that a round finds an item in."""
        return self.code.new(len(_words(over)))

    def item(self, over: Sequenced, register: int) -> Value:
        """The item that a round finds in a register, or in several."""
        if isinstance(over, Vector):
            return value_of_layout(over.layout, register)
        return Text(register) if isinstance(over, Texts) else self.taken_apart(over.item, register)

    def each(self, loop: LoopItems, body: Callable[[Value], None]) -> None:
        """Emits a loop that does something with each item."""
        code = self.code
        written = self._begun(loop)
        self._made = [
            (made, lines)
            for made, lines in self._made
            if made is not loop or lines is not code.lines
        ]
        index, length, more = code.new(), code.new(), code.new()
        head, behind, out = Label(), Label(), Label()
        count, at = _OPERATIONS[type(loop.over)]
        words = _words(loop.over)
        code.move(index, Known(0))
        code.emit(count, length, loop.over.register)
        code.lines.append(head)
        code.emit("LT_INT", more, index, length)
        code.emit("JUMP_UNLESS", more, out)
        for number, kind in enumerate(words):
            place = index
            if number:
                added = code.compute("ADD_INT", "i", Number("i", index), Known(number))
                place = added.register
            name = "VECTOR_TEXT_AT" if kind == "s" else at
            code.emit(name, loop.item_register + number, loop.over.register, place)
        if isinstance(loop.over, Texts):
            opened = (code.lines, len(code.lines), loop.over.register, index)
            self._open[loop.item_register] = opened
        code.lines += relabelled(loop.code, {loop.skip: behind})
        body(loop.value)
        self._open.pop(loop.item_register, None)
        self._busy -= written
        code.lines.append(behind)
        code.emit("ADD_INT", index, index, code.register(Known(len(words))))
        code.emit("JUMP", 0, head)
        code.lines.append(out)

    def _begun(self, loop: LoopItems) -> set[int]:
        """Notes that a loop's rounds are being emitted; returns the registers that they write."""
        written = {each.a for each in loop.code if isinstance(each, Line)}
        behind = loop.item_register + len(_words(loop.over))
        written.update(range(loop.item_register, behind))
        if written & self._busy:
            raise NotTraced("a list that is read in a loop over itself")
        self._busy |= written
        return written

    def look_ahead(self, key: Value) -> None:
        """Has the table prepare for the next keys, where they are the texts of an open loop."""
        opened = self._open.pop(key.register, None) if isinstance(key, Text) else None
        if opened is not None:
            lines, place, texts, index = opened
            lines.insert(place, Line("AHEAD", texts, index, 0))

    def mapped(self, loop: LoopItems, function: Callable[[Value], Value]) -> LoopItems:
        """What a function makes of each item, to be read once."""
        lines, self.code.lines = self.code.lines, list(loop.code)
        written = self._begun(loop)
        value = function(loop.value)
        self._busy -= written
        own, self.code.lines = self.code.lines, lines
        return self.made(LoopItems(loop.over, loop.item_register, own, value, loop.skip, True))

    def vector(self, name: str, vector: Vector) -> Number:
        """A number that one operation makes of a vector."""
        register = self.code.new()
        self.code.emit(name, register, vector.register)
        return Number("i", register)

    def length(self, loop: LoopItems) -> Value:
        """How many items there are."""
        count = self.code.new()
        self.code.move(count, Known(0))
        one = self.code.register(Known(1))
        self.each(loop, lambda _: self.code.emit("ADD_INT", count, count, one))
        return Number("i", count)

    def sum(self, loop: LoopItems, start: Value) -> Value:
        """sum(items, start)"""
        kind, code = kind_of(loop.value), self.code
        if kind is None or kind_of(start) not in ("i", "f"):
            raise NotTraced("a sum of values that are not numbers")
        is_float = kind == "f" or kind_of(start) == "f"
        total, lost = code.new(2), 0
        lost = total + 1
        is_any = None
        is_zero = isinstance(start, Known) and start.value == 0
        if kind_of(start) == "i" and is_float:
            # Without a float the sum stays an int.
            is_any = code.new()
            code.move(is_any, Known(0))
        code.move(total, self.arithmetic.to_float(start) if is_float else start)
        code.move(lost, Known(0.0))

        def add(value: Value) -> None:
            register, later, end = code.register(value), Label(), Label()
            if kind == "f" and COMPENSATES:
                if is_any is not None and not is_zero:
                    # An int and the first float are added as they are.
                    code.emit("JUMP_IF", is_any, later)
                    code.emit("ADD_FLOAT", total, total, register)
                    code.emit("JUMP", 0, end)
                    code.lines.append(later)
                code.emit("ADD_COMPENSATED", total, register, lost)
                code.lines.append(end)
            elif is_float:
                added = code.register(self.arithmetic.to_float(value))
                code.emit("ADD_FLOAT", total, total, added)
            else:
                code.emit("ADD_INT", total, total, register)
            if is_any is not None:
                code.move(is_any, Known(1))

        self.each(loop, add)
        if is_any is not None:
            code.require(Number("i", is_any))
        if not is_float:
            return Number("i", total)
        return code.compute("COMPENSATED", "f", Number("f", total), Number("f", lost))

    def extreme(self, sign: str, loop: LoopItems) -> Value:
        """min or max; the row is given back where there are no items."""
        kind, code = kind_of(loop.value), self.code
        if kind is None and not is_text(loop.value):
            raise NotTraced("min or max of values that are not numbers")
        best, is_any = code.new(), code.new()
        held: Value = Text(best) if kind is None else Number(kind, best)
        code.move(is_any, Known(0))

        def choose(value: Value) -> None:
            register, first, end = code.register(value), Label(), Label()
            code.emit("JUMP_UNLESS", is_any, first)
            better = self.arithmetic.compare(sign, value, held)
            code.emit("JUMP_UNLESS", code.register(better), end)
            code.lines.append(first)
            code.emit("MOVE", best, register)
            code.move(is_any, Known(1))
            code.lines.append(end)

        self.each(loop, choose)
        code.require(Number("i", is_any))
        return held


def _words(over: Sequenced) -> str:
    """The kinds of an item's words; a space for what is no word."""
    return kinds_of(over.layout) if isinstance(over, Vector) else " "


def relabelled(lines: list[Line | Label], given: dict[Label | None, Label]) -> list[Line | Label]:
    """Copies of lines with labels of their own, since a loop may be emitted twice."""
    labels: dict[Label | None, Label] = dict(given)
    labels.update({each: Label() for each in lines if isinstance(each, Label)})
    return [
        labels[each]
        if isinstance(each, Label)
        else Line(each.name, each.a, labels.get(each.b, each.b), each.c)
        if isinstance(each.b, Label)
        else each
        for each in lines
    ]
