"""Runs a function symbolically for rows of one shape, and emits the machine's code for it.

Constants are folded, loops over known sequences are unrolled, branches are joined, and a
comprehension over a list of the row becomes a loop. All that is traced is pure, so the machine may
give a row back at any guard, and Python computes it from the start.
"""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from operator import getitem
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from pyrite.machine.arithmetic import Arithmetic
from pyrite.machine.branches import meeting_points
from pyrite.machine.bytecode import (
    GENERATOR,
    VARIOUS_ARGUMENTS,
    Instruction,
    NotTraced,
    read,
)
from pyrite.machine.calls import Calls, lifted
from pyrite.machine.captures import Captures
from pyrite.machine.collecting import Collecting
from pyrite.machine.emit import Code
from pyrite.machine.frame import Frame
from pyrite.machine.loops import Loops
from pyrite.machine.values import (
    Cell,
    Function,
    Items,
    Known,
    ListShape,
    Method,
    Number,
    Opaque,
    OpaqueShape,
    RowList,
    Shape,
    Text,
    TupleShape,
    Value,
    is_text,
    storable,
)

_DEEPEST_CALLS = 16
# Where branches meet takes time quadratic in their number.
_MOST_INSTRUCTIONS = 400
_OUR_FUNCTIONS = "pyrite.rdd.functions"
_NO_WORDS: Mapping[str, Value] = {}
_UNBOX = {"i": "INT", "f": "FLOAT", "b": "BOOL"}


class Tracer:
    """Traces the functions of one program.

    `alone` says that no code of the user's runs between two rows but what is traced: captured
    variables can't change then.
    """

    def __init__(self, code: Code, alone: bool, captures: Captures) -> None:
        self.code = code
        self.alone = alone
        self.captures = captures
        self.arithmetic = Arithmetic(code)
        self.loops = Loops(self.arithmetic, self.taken_apart)
        self.collecting = Collecting(self.arithmetic, self.loops)
        self.calls = Calls(self.arithmetic, self.loops, self.collecting, self.call)
        self.steps = 0
        self._depth = 0
        self._listings: dict[CodeType, tuple[list[Instruction], dict[int, int]]] = {}

    def listing(self, code: CodeType) -> tuple[list[Instruction], dict[int, int]]:
        """The instructions of a function, and where its branches meet."""
        found = self._listings.get(code)
        if found is None:
            instructions = read(code)
            if len(instructions) > _MOST_INSTRUCTIONS:
                raise NotTraced("a long function")
            found = self._listings[code] = instructions, meeting_points(instructions)
        return found

    def taken_apart(self, shape: Shape, register: int) -> Value:
        """An object in a register, as a value of its shape."""
        if isinstance(shape, TupleShape):
            self.code.emit("TUPLE", register, len(shape.items))
            items = []
            for index, each in enumerate(shape.items):
                item = self.code.new()
                self.code.emit("ITEM", item, register, index)
                items.append(self.taken_apart(each, item))
            return Items(items)
        if isinstance(shape, ListShape):
            self.code.emit("LIST", register)
            return RowList(register, shape.item)
        if isinstance(shape, OpaqueShape):
            return Opaque(shape.name)
        if shape == "s":
            text = self.code.new()
            self.code.emit("TEXT", text, register)
            return Text(text)
        number = Number(shape, self.code.new())
        self.code.emit(_UNBOX[shape], number.register, register)
        self.code.unboxed.append(number)
        return number

    def call(
        self, function: Value, arguments: Sequence[Value], keywords: Mapping[str, Value] = _NO_WORDS
    ) -> Value:
        """Calls a known function."""
        if isinstance(function, Function):
            variables = _bound(function.code, arguments, keywords, {})
            return self._run(function.code, function.globals, function.cells, variables)
        if isinstance(function, Method):
            texts = self.arithmetic.texts
            return texts.call(function.name, function.owner, arguments, keywords)
        if not isinstance(function, Known):
            raise NotTraced("a call of a value that is not known")
        called = function.value
        if called is copy.deepcopy and len(arguments) == 1 and not keywords:
            return self.calls.copied(arguments[0])
        if type(called) is FunctionType:
            return self._call_function(called, arguments, keywords)
        if type(called) is partial:
            return self._call_partial(called, arguments, keywords)
        if type(called).__module__ == _OUR_FUNCTIONS:
            method: Any = type(called).__call__
            return self._call_function(method, [Known(called), *arguments], keywords)
        return self.calls.native(called, arguments, keywords)

    def _call_partial(
        self,
        called: partial[Any],
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
    ) -> Value:
        what = "an argument of partial"
        fixed = [self._given(what, each) for each in called.args]
        self.captured(what, partial(getattr, called, "keywords"))
        named = {
            name: self.captured(what, partial(getitem, called.keywords, name))
            for name in called.keywords
        }
        return self.call(Known(called.func), [*fixed, *arguments], {**named, **keywords})

    def _call_function(
        self, function: FunctionType, arguments: Sequence[Value], keywords: Mapping[str, Value]
    ) -> Value:
        code = function.__code__
        cells: dict[str, Cell] = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                cells[name] = Cell(self.captured(name, partial(getattr, cell, "cell_contents")))
            except ValueError as error:
                raise NotTraced(f"{name}, which is not assigned") from error
        given = function.__defaults__ or ()
        optional = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        named = function.__kwdefaults__ or {}
        variables = _bound(code, arguments, keywords, {*optional, *named})
        for name, value in zip(optional, given, strict=True):
            if name not in variables:
                variables[name] = self._given("a default", value)
        for name in named.keys() - variables.keys():
            variables[name] = self.captured("a default", partial(getitem, named, name))
        return self._run(code, function.__globals__, cells, variables)

    def _run(
        self,
        code: CodeType,
        globals: Mapping[str, Any],
        cells: Mapping[str, Cell],
        variables: dict[str, Value],
    ) -> Value:
        for name, value in variables.items():
            if name != ".0":
                storable(value)
        self._depth += 1
        if self._depth > _DEEPEST_CALLS:
            raise NotTraced("calls that lie too deep")
        frame = Frame(self, code, globals, cells)
        result = frame.run(variables)
        self._depth -= 1
        return frame.iterator() if code.co_flags & GENERATOR else result

    def global_value(self, name: str, globals: Mapping[str, Any]) -> Value:
        """A global variable, or a builtin."""
        if name in globals:
            found = globals[name]
            if isinstance(found, ModuleType | BuiltinFunctionType):
                return Known(found)
            return self.captured(name, partial(globals.__getitem__, name))
        if hasattr(builtins, name):
            return Known(getattr(builtins, name))
        raise NotTraced(f"{name}, which is not defined")

    def captured(self, name: str, read: Callable[[], Any]) -> Value:
        """A value from outside of the function."""
        if not self.alone:
            raise NotTraced(f"{name} could change between two rows")
        return lifted(self.captures.note(read))

    def _given(self, name: str, value: Any) -> Value:
        """A value that a function holds, and may change, but not replace."""
        return self.captured(name, lambda: value)

    def attribute(self, value: Value, name: str) -> Value:
        """An attribute of a module, of one of the engine's own functions, or of a text."""
        if is_text(value):
            return Method(value, name)
        if isinstance(value, Opaque):
            raise NotTraced(f"the attribute {name} of {value.name}")
        if isinstance(value, Known):
            owner = value.value
            is_ours = type(owner).__module__ == _OUR_FUNCTIONS
            if (isinstance(owner, ModuleType) or is_ours) and name in vars(owner):
                found = vars(owner)[name]
                return lifted(found) if is_ours else self.global_value(name, vars(owner))
            if owner is str and name in vars(str):
                return Known(getattr(str, name))
        raise NotTraced(f"the attribute {name}")


def _bound(
    code: CodeType,
    arguments: Sequence[Value],
    keywords: Mapping[str, Value],
    optional: Collection[str],
) -> dict[str, Value]:
    """The variables that a call sets, but those that have defaults and are not given."""
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    bound = dict(zip(positional, arguments, strict=False))
    named = set(names[code.co_posonlyargcount :]) - bound.keys()
    missing = set(names) - bound.keys() - keywords.keys() - set(optional)
    is_various = code.co_flags & VARIOUS_ARGUMENTS or len(arguments) > len(positional)
    if is_various or missing or not keywords.keys() <= named:
        raise NotTraced(f"the arguments of {code.co_name}")
    return {**bound, **keywords}
