"""The machine's table as a sink: one combiner per key, where keys are ints or text, and
combiners are numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrite.machine._rows import Table
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.calls import items_of
from pyrite.machine.emit import Label, kind_of, store
from pyrite.machine.packed import MOST_WORDS, words_of
from pyrite.machine.trace import Tracer
from pyrite.machine.values import (
    Items,
    Known,
    Value,
    is_text,
    kinds_of,
    layout_of,
    value_of_layout,
)


class TableSink:
    """Makes a combiner of a key's first value, and merges others into it."""

    def __init__(self, create: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> None:
        self.create = create
        self.merge = merge
        self.table: Table | None = None
        self.kept: set[int] = set()
        self.layout = ""
        self.width = 0

    def emit(self, tracer: Tracer, value: Value) -> None:
        items = items_of(value)
        if not isinstance(value, Items) or len(items) != 2:
            raise NotTraced("rows that are not pairs")
        key, combined = items
        by_text = "_BY_TEXT" if is_text(key) else ""
        if not by_text and kind_of(key) != "i":
            raise NotTraced("keys that are neither ints nor text")
        code = tracer.code
        place, entry, missing = code.register(key), code.new(), code.new()
        existing, end = Label(), Label()
        # What the combiner's first value does not need, the others may.
        tracer.loops.require_emitted()
        tracer.loops.look_ahead(key)
        code.emit(f"FIND{by_text}", entry, place)
        code.emit("LT_INT", missing, entry, code.register(Known(0)))
        code.emit("JUMP_UNLESS", missing, existing)
        made = tracer.call(Known(self.create), [combined])
        self._settle(layout_of(Items([key, made])))
        state = code.new(self.width)
        store(code, made, state)
        code.emit(f"INSERT{by_text}", state, place, self.width - 1)
        code.emit("JUMP", 0, end)
        code.lines.append(existing)
        code.emit("LOAD", state, entry, self.width - 1)
        before = value_of_layout(self.layout[2:-1], state)
        merged = tracer.call(Known(self.merge), [before, combined])
        if layout_of(Items([key, merged])) != self.layout:
            raise NotTraced("a combiner whose type changes")
        store(code, merged, state)
        code.emit("STORE", state, entry, self.width - 1)
        code.lines.append(end)

    def _settle(self, layout: str) -> None:
        if self.layout not in ("", layout):
            raise NotTraced("combiners of several types")
        if self.layout:
            return
        if "s" in layout[2:]:
            raise NotTraced("a combiner with text")
        if len(kinds_of(layout)) > MOST_WORDS:
            raise NotTraced("a large combiner")
        self.layout = layout
        self.width = words_of(layout)
        self.table = Table(self.width, layout[1] == "s")
