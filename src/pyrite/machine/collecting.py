"""Lists and sets that a row's function makes of values whose number differs by row."""

from __future__ import annotations

from pyrite.machine.arithmetic import Arithmetic
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.calls import items_of
from pyrite.machine.emit import kind_of, store
from pyrite.machine.loops import Loops
from pyrite.machine.packed import words_of
from pyrite.machine.setorder import is_known
from pyrite.machine.values import (
    Known,
    LoopItems,
    Text,
    Texts,
    Value,
    Vector,
    kinds_of,
    layout_of,
)


class Collecting:
    """Emits what makes lists and sets."""

    def __init__(self, arithmetic: Arithmetic, loops: Loops) -> None:
        self.arithmetic = arithmetic
        self.code = arithmetic.code
        self.loops = loops

    def sorted(self, values: Value, *, reverse: Value | None = None) -> Value:
        """sorted(values, reverse=reverse)"""
        backwards: Value = Known(False) if reverse is None else reverse
        if kind_of(backwards) != "b":
            raise NotTraced("an order that is not a bool")
        made = values if isinstance(values, Vector) else self.gathered(values)
        if isinstance(made, Texts):
            register = self.code.new()
            place = self.code.register(backwards)
            self.code.emit("TEXTS_SORTED", register, made.register, place)
            return Texts(register)
        kinds = Known(kinds_of(made.layout))
        register = self.code.change("VECTOR_SORTED", Text(made.register), kinds, backwards)
        return Vector(register, made.layout, "list")

    def set(self, values: Value) -> Value:
        """set(values)"""
        if isinstance(values, Texts | Vector) and values.form == "set":
            # It is made in another way, and may have another order.
            raise NotTraced("a set of a set")
        made = self.gathered(values)
        if not isinstance(made, Texts) and made.layout != "i":
            raise NotTraced("a set of values that are neither ints nor text")
        if not is_known(isinstance(made, Texts)):
            raise NotTraced("a set whose order is not known here")
        register = self.code.new()
        if isinstance(made, Texts):
            self.code.emit("TEXTS_SET", register, made.register)
            return Texts(register, "set")
        self.code.emit("VECTOR_SET", register, made.register)
        return Vector(register, "i", "set")

    def list(self, values: Value) -> Value:
        """list(values): nobody can change it, so it need not be a copy."""
        made = values if isinstance(values, Vector) else self.gathered(values)
        if isinstance(made, Texts):
            return Texts(made.register)
        return Vector(made.register, made.layout, "list")

    def gathered(self, values: Value) -> Texts | Vector:
        """The values one after another, as they are or as a loop makes them."""
        if isinstance(values, Texts):
            return values
        if isinstance(values, Vector):
            return self._texts(values) if values.layout == "s" else values
        loop = self.loops.over(values)
        if loop is not None:
            return self._of_loop(loop)
        items = items_of(values)
        layouts = {layout_of(each) for each in items}
        if len(layouts) != 1:
            raise NotTraced("a list or set of several types, or of nothing")
        made = self._new(layouts.pop())
        for each in items:
            self._add(made, each)
        return made

    def _texts(self, vector: Vector) -> Texts:
        register = self.code.new()
        self.code.emit("VECTOR_TEXTS", register, vector.register)
        return Texts(register)

    def _of_loop(self, loop: LoopItems) -> Texts | Vector:
        made = self._new(layout_of(loop.value))
        self.loops.each(loop, lambda value: self._add(made, value))
        return made

    def _new(self, layout: str) -> Texts | Vector:
        register = self.code.new()
        if layout == "s":
            self.code.emit("TEXTS_NEW", register)
            return Texts(register)
        if set("s[") & set(layout):
            raise NotTraced("a list of tuples with text, or of lists")
        self.code.emit("VECTOR_NEW", register, 0, words_of(layout))
        return Vector(register, layout, "list")

    def _add(self, made: Texts | Vector, value: Value) -> None:
        if isinstance(made, Texts):
            self.code.emit("TEXTS_ADD", made.register, self.code.register(value))
            return
        width = words_of(made.layout)
        first = self.code.new(width)
        store(self.code, value, first)
        self.code.emit("VECTOR_ADD", made.register, first, width)
