"""Steps and a sink as one program of the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from pyrite.machine import _rows
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.calls import items_of
from pyrite.machine.captures import Captures
from pyrite.machine.chain import LOOKUPS, PAIRING, Step
from pyrite.machine.emit import Code, Label, kind_of
from pyrite.machine.lookup import Lookup
from pyrite.machine.trace import Tracer
from pyrite.machine.values import (
    Items,
    Known,
    Number,
    Shape,
    Text,
    Value,
    Vector,
    is_text,
    kinds_of,
    value_of_layout,
)

# Steps that may make several rows of one.
_FANNING = ("flatMap", "flatMapValues", PAIRING, *LOOKUPS)


class Sink(Protocol):
    """What is done with each result, and the registers that it is kept in."""

    # A Table, or None.
    table: _rows.Table | None
    # Registers that are read when the program has run.
    kept: set[int]

    def emit(self, tracer: Tracer, value: Value) -> None:
        """Emits the code for one result; its last instruction is the first that changes the
        sink's state."""


class Counted(NamedTuple):
    """Rows that are the ints of a range, in the first register."""


class Packed(NamedTuple):
    """Rows that are packed by a layout, in the first registers."""

    layout: str


class Lines(NamedTuple):
    """Rows that are the lines of a block of UTF-8, in the first register."""


class Vectored(NamedTuple):
    """Rows that are a key and the vector of its values in each side, in the first registers; a
    layout is that of a key with one value."""

    layouts: tuple[str, ...]


Source = Shape | Counted | Packed | Lines | Vectored


def build(
    source: Source,
    steps: list[Step],
    sink: Sink,
    alone: bool,
    give_back_every: int,
    captures: Captures,
) -> _rows.Program:
    """Traces the steps for rows of a source; raises NotTraced for what the machine does not run.

    The program is right as long as the captures, which are noted, are unchanged.
    """
    try:
        return _Builder(source, steps, sink, alone, captures).program(give_back_every)
    except NotTraced:
        raise
    except RecursionError as error:
        raise NotTraced("calls and branches that lie too deep") from error
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        # Code that no test has met: the interpreter runs it.
        # Its text may have values of the row in it, and is told in stories.
        raise NotTraced(f"tracing ended with {type(error).__name__}") from error


class _Builder:
    def __init__(
        self, source: Source, steps: list[Step], sink: Sink, alone: bool, captures: Captures
    ) -> None:
        words = 1 + len(source.layouts) if isinstance(source, Vectored) else 1
        if isinstance(source, Packed):
            words = len(kinds_of(source.layout))
        self.code = Code(words)
        self.tracer = Tracer(self.code, alone, captures)
        self.steps = steps
        self.sink = sink
        # Where one row has several results, a row that is given back says which have arrived.
        self.fans_out = any(kind in _FANNING for kind, _ in steps)
        self.groups: _rows.Groups | None = None
        self.end = Label()
        self.has_results = False
        self._emit(self._row(source), 0, self.end)
        if not self.has_results:
            raise NotTraced("no row has a result")
        self.code.lines.append(self.end)
        self.code.emit("END")

    def program(self, give_back_every: int) -> _rows.Program:
        self.tracer.loops.require_emitted()
        code = self.code.assembled(self.sink.kept)
        constants, count = self.code.constants, self.code.register_count
        table = self.sink.table
        return _rows.Program(code, constants, count, table, give_back_every, self.groups)

    def _row(self, source: Source) -> Value:
        if isinstance(source, Counted):
            return Number("i", 0)
        if isinstance(source, Lines):
            return Text(0)
        if isinstance(source, Vectored):
            key = value_of_layout(source.layouts[0][1], 0)
            vectors = [Vector(1 + n, each[2:-1]) for n, each in enumerate(source.layouts)]
            return Items([key, Items(vectors) if len(vectors) > 1 else vectors[0]])
        if isinstance(source, Packed):
            return value_of_layout(source.layout, 0)
        return self.tracer.taken_apart(source, 0)

    def _emit(self, value: Value, place: int, skip: Label) -> None:
        """Emits the steps from a place on, and the sink behind them; what a filter drops goes to
        `skip`."""
        if place == len(self.steps):
            self.has_results = True
            self.sink.emit(self.tracer, value)
            if self.fans_out:
                self.code.emit("EMITTED")
            return
        kind, function = self.steps[place]
        call = self.tracer.call
        match kind:
            case "map":
                self._emit(call(Known(function), [value]), place + 1, skip)
            case "filter":
                self._filter(call(Known(function), [value]), value, place, skip)
            case "flatMap":
                self._each(call(Known(function), [value]), _itself, place + 1)
            case "mapValues":
                key, inner = _pair(value)
                mapped = call(Known(function), [inner])
                self._emit(Items([key, mapped]), place + 1, skip)
            case "flatMapValues":
                key, inner = _pair(value)
                values = call(Known(function), [inner])
                self._each(values, lambda each: Items([key, each]), place + 1)
            case "keyBy":
                key = call(Known(function), [value])
                self._emit(Items([key, value]), place + 1, skip)
            case "keys" | "values":
                self._emit(_pair(value)[kind == "values"], place + 1, skip)
            case "subtractByKey":
                found = self._found(function, _pair(value)[0])
                count = self.tracer.loops.vector("VECTOR_COUNT", found)
                self.code.emit("JUMP_IF", count.register, skip)
                self._emit(value, place + 1, skip)
            case kind if kind in LOOKUPS:
                self._look_up(kind, function, _only_pair(value), place)
            case kind if kind == PAIRING:
                self._pair_sides(_only_pair(value), place)
            case _:
                raise NotTraced(f"the operator {kind}")

    def _filter(self, result: Value, value: Value, place: int, skip: Label) -> None:
        condition = self.tracer.arithmetic.truth(result)
        if not (isinstance(condition, Known) and condition.value):
            self.tracer.loops.require_emitted()
        if not isinstance(condition, Known):
            self.code.emit("JUMP_UNLESS", self.code.register(condition), skip)
        elif not condition.value:
            self.code.emit("JUMP", 0, skip)
        self._emit(value, place + 1, skip)

    def _found(self, lookup: Lookup, key: Value) -> Vector:
        """The values of a key in the other side of a join."""
        by_text = lookup.layout[1] == "s"
        if not (is_text(key) if by_text else kind_of(key) == "i"):
            raise NotTraced("keys of another type than the other side's, or neither ints nor text")
        self.tracer.loops.require_emitted()
        if self.groups is not None:
            raise NotTraced("several joins")
        self.groups = lookup.groups
        vector = Vector(self.code.new(), lookup.layout[2:-1])
        name = "FIND_GROUP_BY_TEXT" if by_text else "FIND_GROUP"
        self.code.emit(name, vector.register, self.code.register(key))
        return vector

    def _look_up(self, kind: str, lookup: Lookup, row: tuple[Value, Value], place: int) -> None:
        key, own = row
        found, end, some = self._found(lookup, key), Label(), Label()

        def joined(other: Value) -> Value:
            return Items([key, Items([other, own] if kind == "rightOuterJoin" else [own, other])])

        if lookup.missing:
            count = self.tracer.loops.vector("VECTOR_COUNT", found)
            self.code.emit("JUMP_IF", count.register, some)
            self._one(joined(Known(None)), place + 1)
            self.code.emit("JUMP", 0, end)
            self.code.lines.append(some)
        self._each(found, joined, place + 1)
        self.code.lines.append(end)

    def _pair_sides(self, row: tuple[Value, Value], place: int) -> None:
        """Pairs each value of the left with each of the right; with None if a side has none."""
        key, (left, right) = row[0], _only_pair(row[1])
        if not isinstance(left, Vector) or not isinstance(right, Vector):
            raise NotTraced("sides that are no groups")
        loops, code = self.tracer.loops, self.code
        loops.require_emitted()
        no_left, no_right, end = Label(), Label(), Label()
        code.emit("JUMP_UNLESS", loops.vector("VECTOR_COUNT", left).register, no_left)
        code.emit("JUMP_UNLESS", loops.vector("VECTOR_COUNT", right).register, no_right)
        loop = loops.over(left)
        assert loop is not None
        behind = place + 1
        loops.each(
            loop, lambda mine: self._each(right, lambda other: _joined(key, mine, other), behind)
        )
        code.emit("JUMP", 0, end)
        code.lines.append(no_right)
        self._each(left, lambda mine: _joined(key, mine, Known(None)), behind)
        code.emit("JUMP", 0, end)
        code.lines.append(no_left)
        self._each(right, lambda other: _joined(key, Known(None), other), behind)
        code.lines.append(end)

    def _each(self, values: Value, row: Callable[[Value], Value], place: int) -> None:
        """Emits the further steps for the row that is made of each of the values."""
        loop = self.tracer.loops.over(values)
        if loop is not None:
            self.tracer.loops.require_emitted(but=loop)
            self.tracer.loops.each(loop, lambda each: self._one(row(each), place))
            return
        for each in items_of(values):
            self._one(row(each), place)

    def _one(self, value: Value, place: int) -> None:
        behind = Label()
        self._emit(value, place, behind)
        self.code.lines.append(behind)


def _itself(value: Value) -> Value:
    return value


def _joined(key: Value, left: Value, right: Value) -> Value:
    return Items([key, Items([left, right])])


def _only_pair(value: Value) -> tuple[Value, Value]:
    if isinstance(value, Items) and len(value.items) != 2:
        raise NotTraced("rows that are not pairs")
    return _pair(value)


def _pair(value: Value) -> tuple[Value, Value]:
    items = items_of(value)
    if not isinstance(value, Items) or len(items) < 2:
        raise NotTraced("a row that is not a pair")
    return items[0], items[1]
