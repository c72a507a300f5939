"""Pairs of a key and a value packed one after another, as they come."""

from __future__ import annotations

from pyrite.machine._rows import Table
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.calls import items_of
from pyrite.machine.emit import kind_of, store
from pyrite.machine.packed import MOST_WORDS, words_of
from pyrite.machine.trace import Tracer
from pyrite.machine.values import Items, Value, is_text, kinds_of, layout_of


class LogSink:
    """Appends pairs whose keys are ints or text, and whose values are numbers and texts."""

    def __init__(self) -> None:
        self.table: Table | None = None
        self.kept: set[int] = set()
        self.layout = ""

    def emit(self, tracer: Tracer, value: Value) -> None:
        items = items_of(value)
        if not isinstance(value, Items) or value.is_list or len(items) != 2:
            raise NotTraced("rows that are not pairs")
        key, held = items
        if not is_text(key) and kind_of(key) != "i":
            raise NotTraced("keys that are neither ints nor text")
        layout = layout_of(Items([key, held]))
        if self.layout not in ("", layout):
            raise NotTraced("values of several types")
        if len(kinds_of(layout)) > MOST_WORDS:
            raise NotTraced("large values")
        if "[" in layout:
            # Who changes one list of a group must not find another changed, or the same unchanged.
            raise NotTraced("values that are lists")
        if self.table is None:
            self.layout = layout
            self.table = Table(words_of(layout), layout[1] == "s", True, layout)
        code, width = tracer.code, words_of(layout)
        place, state = code.register(key), code.new(width)
        store(code, held, state)
        code.emit("APPEND_BY_TEXT" if is_text(key) else "APPEND", state, place, width - 1)
