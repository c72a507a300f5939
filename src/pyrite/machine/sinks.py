"""Sums, counts, reductions and folds of a task's rows by the machine."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from functools import reduce
from itertools import count, islice
from typing import Any, Protocol

from pyrite.machine._rows import Program, Table
from pyrite.machine.bytecode import NotTraced
from pyrite.machine.captures import Captures
from pyrite.machine.chain import Chain
from pyrite.machine.emit import kind_of, store
from pyrite.machine.feed import End, Feed
from pyrite.machine.program import build
from pyrite.machine.take import Count, Reducing
from pyrite.machine.total import COMPENSATES, Total
from pyrite.machine.trace import Tracer
from pyrite.machine.values import (
    Known,
    Value,
    kinds_of,
    layout_of,
    shape_of,
    storable,
    value_of_layout,
)

# If more than one of so many rows comes back, the interpreter goes on alone.
MOST_GIVEN_BACK = 8
_FORGIVEN = 1000


class ReducingSink(Protocol):
    """A sink with a state, which the interpreter and the machine change in turns."""

    name: str
    table: Table | None
    kept: set[int]

    def absorb(self, value: Any) -> None:
        """Adds one result, as Python does."""

    def finish(self, values: Iterator[Any]) -> Any:
        """Adds all other results, as Python does; returns the result of all."""

    def emit(self, tracer: Tracer, value: Value) -> None:
        """Emits the code for one result."""

    def load(self, program: Program) -> bool:
        """Gives the state to a program; False where it can't hold it."""

    def save(self, program: Program) -> None:
        """Takes the state back."""


class Patience:
    """Says how long a program can go on though rows come back: while it is worth it, and what it
    captured is unchanged."""

    def __init__(self, chain: Chain) -> None:
        self.captures = Captures()
        self._is_endless = bool(chain.tracing.give_back_every)
        self._rows = 0
        self._given_back = 0

    def count(self, rows: int, given_back: int) -> None:
        self._rows += rows
        self._given_back += given_back

    def is_left(self) -> bool:
        is_worth = self._given_back * MOST_GIVEN_BACK <= self._rows + _FORGIVEN
        return (is_worth or self._is_endless) and self.captures.are_unchanged()


def drive(chain: Chain, sink: ReducingSink, row: list[Any]) -> Any:
    """Runs the rows behind the first ones into a sink: all that the machine can, and the others by
    the interpreter. `row` is the last that was run."""
    feed, patience = Feed(chain.rows), Patience(chain)
    every, refusal = chain.tracing.give_back_every, ""
    try:
        program = build(feed.source(row), chain.steps, sink, chain.alone, every, patience.captures)
    except NotTraced as refused:
        refusal = str(refused)
    chain.say(sink.name, refusal)
    if refusal:
        # Not above: the user's exceptions would have been raised while this one was handled.
        return sink.finish(chain.over(feed.rest()))
    while patience.is_left() and sink.load(program):
        run = feed.advance(program, sys.maxsize)
        sink.save(program)
        if run.end == End.EXHAUSTED:
            return sink.finish(iter(()))
        patience.count(run.rows, run.end == End.GIVEN_BACK)
        if run.end == End.GIVEN_BACK:
            for value in islice(chain.over(run.given_back), run.emitted, None):
                sink.absorb(value)
    return sink.finish(chain.over(feed.rest()))


class SumSink:
    """sum"""

    name = "sum"
    table: Table | None = None

    def __init__(self, total: Total) -> None:
        self.total = total
        self.kept: set[int] = set()
        self._phase = ""
        self._first = 0

    def absorb(self, value: Any) -> None:
        self.total.add(value)

    def finish(self, values: Iterator[Any]) -> Any:
        return self.total.add_all(values)

    def emit(self, tracer: Tracer, value: Value) -> None:
        kind = kind_of(value)
        phase = self.total.phase
        if kind is None or phase == "any" or (phase == "ints" and kind == "f"):
            raise NotTraced("a sum of values that are not numbers of one kind")
        code = tracer.code
        if not self._phase:
            self._first = code.new(2)
            self._phase = phase
            self.kept = {self._first, self._first + 1}
        total, register = self._first, code.register(value)
        if phase == "ints":
            code.emit("ADD_INT", total, total, register)
        elif kind != "f":
            register = code.register(tracer.arithmetic.to_float(value))
            code.emit("ADD_FLOAT", total, total, register)
        elif COMPENSATES:
            code.emit("ADD_COMPENSATED", total, register, total + 1)
        else:
            code.emit("ADD_FLOAT", total, total, register)

    def load(self, program: Program) -> bool:
        if self.total.phase != self._phase:
            return False
        if self._phase == "ints":
            return program.set("i", self._first, self.total.value)
        return program.set("(ff)", self._first, (self.total.value, self.total.compensation))

    def save(self, program: Program) -> None:
        if self._phase == "ints":
            self.total.value = program.get("i", self._first)
        else:
            self.total.value, self.total.compensation = program.get("(ff)", self._first)


class CountSink:
    """The number of results."""

    name = "count"
    table: Table | None = None

    def __init__(self, count: Count) -> None:
        self.count = count
        self.kept: set[int] = set()
        self._register = -1

    def absorb(self, value: Any) -> None:
        self.count.add(value)

    def finish(self, values: Iterator[Any]) -> Any:
        counter = count(self.count.value)
        # zip asks the results first, so the counter stands at their number when they end.
        deque(zip(values, counter, strict=False), maxlen=0)
        return next(counter)

    def emit(self, tracer: Tracer, value: Value) -> None:
        # What an iterator would have raised is not raised where nobody reads it.
        storable(value)
        code = tracer.code
        if self._register < 0:
            self._register = code.new()
            self.kept = {self._register}
        code.emit("ADD_INT", self._register, self._register, code.register(Known(1)))

    def load(self, program: Program) -> bool:
        return program.set("i", self._register, self.count.value)

    def save(self, program: Program) -> None:
        self.count.value = program.get("i", self._register)


class StateSink:
    """A function of a state and a result that gives the next state: reduce, and fold."""

    name = "reduce"
    table: Table | None = None

    def __init__(self, state: Reducing) -> None:
        self.state = state
        self.kept: set[int] = set()
        self._layout = ""
        self._first = -1

    def absorb(self, value: Any) -> None:
        self.state.add(value)

    def finish(self, values: Iterator[Any]) -> Any:
        state = self.state
        if not state.is_set:
            for value in values:
                state.add(value)
                break
        state.value = reduce(state.function, values, state.value)
        return state.value

    def emit(self, tracer: Tracer, value: Value) -> None:
        if not self.state.is_set:
            raise NotTraced("no state to begin with")
        if self._first < 0:
            self._layout = layout_of_object(self.state.value)
            if "s" in self._layout:
                raise NotTraced("a state with text")
            words = len(kinds_of(self._layout))
            self._first = tracer.code.new(words)
            self.kept = set(range(self._first, self._first + words))
        state = value_of_layout(self._layout, self._first)
        made = tracer.call(Known(self.state.function), [state, value])
        if layout_of(made) != self._layout:
            raise NotTraced("a state whose type changes")
        store(tracer.code, made, self._first)

    def load(self, program: Program) -> bool:
        return program.set(self._layout, self._first, self.state.value)

    def save(self, program: Program) -> None:
        self.state.value = program.get(self._layout, self._first)


def layout_of_object(value: Any, depth: int = 0) -> str:
    """The layout of a state; a list in it has the length that it has now."""
    if type(value) in (tuple, list) and depth < 4 and value:
        if type(value) is list and depth:
            raise NotTraced("a state with a list inside")
        inner = "".join(layout_of_object(each, depth + 1) for each in value)
        return f"[{inner}]" if type(value) is list else f"({inner})"
    shape = shape_of(value)
    if not isinstance(shape, str):
        raise NotTraced("a state that is not made of numbers")
    return shape
