"""One traced call: its stack, its variables, and its branches."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrite.machine.branches import joined
from pyrite.machine.bytecode import GENERATOR, VERSION, Instruction, NotTraced
from pyrite.machine.calls import items_of
from pyrite.machine.emit import Label, Line, kind_of
from pyrite.machine.gathering import Gathering
from pyrite.machine.sequences import slice_of, subscript, unpacked
from pyrite.machine.values import (
    NEW_SET,
    NULL,
    UNSET,
    Cell,
    Function,
    GatheredItems,
    Items,
    Iterator,
    Known,
    LoopItems,
    Marker,
    Once,
    Opaque,
    Sequenced,
    Value,
    constant_of,
    is_empty_list,
    is_lazy,
    storable,
)

if TYPE_CHECKING:
    from pyrite.machine.trace import Tracer

_MOST_STEPS = 20_000
_DEEPEST_BRANCHES = 48


class Way(NamedTuple):
    """Where a way through the code ended: with a returned value, or at the meeting point with what
    is on the stack and in the variables."""

    returned: Value | None
    stack: list[Value]
    variables: dict[str, Value]


class Frame:
    """One call of a function."""

    def __init__(
        self,
        tracer: Tracer,
        code: CodeType,
        globals: Mapping[str, Any],
        free: Mapping[str, Cell],
    ) -> None:
        self.tracer = tracer
        self.code = tracer.code
        self.arithmetic = tracer.arithmetic
        self.instructions, self.meeting_points = tracer.listing(code)
        self.globals = globals
        self.is_generator = bool(code.co_flags & GENERATOR)
        # Variables of outer functions, and the own ones that inner functions share: those are kept
        # with the others, since an inner function is called on the spot or not at all.
        self.free = free
        self.shared = frozenset(code.co_cellvars)
        self._yielded: list[Value] = []
        # A generator's loop over a list of the row.
        self._yielding: LoopItems | None = None
        # Where the open branches meet, and what the open loops gather.
        self._meetings: list[int] = []
        self._gathering = Gathering()

    def run(self, variables: dict[str, Value]) -> Value:
        """Traces the call; returns its result."""
        way = self._walk(0, [], variables, -1)
        assert way.returned is not None
        return way.returned

    def iterator(self) -> Value:
        """What a generator has yielded."""
        return Once(self._yielded) if self._yielding is None else self._yielding

    def _walk(self, place: int, stack: list[Value], variables: dict[str, Value], stop: int) -> Way:
        """Traces from a place up to a return, or to `stop`."""
        stack, variables = list(stack), dict(variables)
        while place != stop:
            self.tracer.steps += 1
            if self.tracer.steps > _MOST_STEPS:
                raise NotTraced("too much code")
            here = self.instructions[place]
            match here.op:
                case "return":
                    return Way(stack.pop(), [], {})
                case "jump":
                    place = here.target
                case "for":
                    place = self._loop(place, stack, variables)
                case "branch" | "jump_or_pop":
                    end = self._branch(place, stack, variables)
                    if isinstance(end, Way):
                        return end
                    place = end
                case _:
                    self._step(here, stack, variables)
                    place += 1
        return Way(None, stack, variables)

    def _step(self, here: Instruction, stack: list[Value], variables: dict[str, Value]) -> None:
        argument = here.argument
        match here.op:
            case "closure":
                stack.append(self._cell(argument, variables))
            case "local" if argument in self.shared or argument in self.free:
                # Since 3.13 cells are loaded like variables.
                stack.append(self._cell(argument, variables))
            case "local":
                stack.append(_readable(argument, variables.get(argument)))
            case "local_cleared":
                stack.append(variables.get(argument, UNSET))
                variables[argument] = UNSET
            case "store":
                variables[argument] = storable(stack.pop())
            case "store_cell":
                if argument not in self.shared:
                    raise NotTraced(f"an assignment to {argument} of an outer function")
                if any(map(is_lazy, stack[:-1])):
                    raise NotTraced(f"{argument} changes before an iterator is read")
                variables[argument] = storable(stack.pop())
            case "constant":
                stack.append(constant_of(argument))
            case "cell":
                stack.append(_readable(argument, self._cell(argument, variables).value))
            case "global":
                stack.append(self.tracer.global_value(argument, self.globals))
            case "null":
                stack.append(NULL)
            case "pop":
                stack.pop()
            case "swap":
                stack[-1], stack[-argument] = stack[-argument], stack[-1]
            case "copy":
                stack.append(storable(stack[-argument]))
            case "attribute":
                stack.append(self.tracer.attribute(stack.pop(), argument))
            case "method":
                found = self.tracer.attribute(stack.pop(), argument)
                # A function of a module; both orders of a call's two places are understood.
                stack += [found, NULL] if VERSION >= (3, 12) else [NULL, found]
            case "yield":
                self._yield(stack.pop())
                stack.append(Known(None))
            case _:
                self._operate(here, stack)

    def _operate(self, here: Instruction, stack: list[Value]) -> None:
        argument, arithmetic = here.argument, self.arithmetic
        match here.op:
            case "binary":
                right, left = stack.pop(), stack.pop()
                stack.append(arithmetic.binary(argument, left, right))
            case "compare":
                right, left = stack.pop(), stack.pop()
                stack.append(arithmetic.compare(argument, left, right))
            case "contains":
                container, wanted = stack.pop(), stack.pop()
                found = arithmetic.contains(container, wanted)
                stack.append(arithmetic.negated(found) if argument else found)
            case "negative":
                stack.append(arithmetic.unary("-", stack.pop()))
            case "invert":
                stack.append(arithmetic.unary("~", stack.pop()))
            case "not":
                stack.append(arithmetic.negated(stack.pop()))
            case "bool":
                stack.append(arithmetic.as_bool(stack.pop()))
            case "call":
                self._call(argument, stack)
            case "call_named":
                names = [
                    str(each.value) for each in items_of(stack.pop()) if isinstance(each, Known)
                ]
                self._call(argument, stack, names)
            case "convert":
                stack.append(arithmetic.texts.converted(stack.pop(), argument))
            case "format":
                conversion, has_spec = argument
                spec = stack.pop() if has_spec else Known("")
                value = arithmetic.texts.converted(stack.pop(), conversion)
                stack.append(arithmetic.texts.formatted(value, spec))
            case "text":
                parts = _popped(stack, argument)
                stack.append(functools.reduce(arithmetic.texts.joined, parts))
            case "set":
                items = _popped(stack, argument)
                stack.append(self.tracer.collecting.set(Items(items)) if items else NEW_SET)
            case "make_function" | "function_attribute":
                self._make_function(here, stack)
            case "tuple" | "list":
                items = _popped(stack, argument)
                stack.append(Items([storable(each) for each in items], here.op == "list"))
            case "unpack":
                stack.extend(reversed(unpacked(self.tracer, stack.pop(), argument)))
            case "slice" | "subscript":
                self._subscript(here, stack)
            case "iterate":
                stack.append(self._iterator(stack.pop()))
            case "append" | "extend":
                self._append(here, stack)
            case _:
                raise NotTraced(f"the instruction {here.op}")

    def _cell(self, name: str, variables: dict[str, Value]) -> Cell:
        return Cell(variables.get(name)) if name in self.shared else self.free[name]

    def _call(self, count: int, stack: list[Value], names: Sequence[str] = ()) -> None:
        """Calls a function; the last arguments have these names."""
        arguments = _popped(stack, count)
        keywords = dict(zip(names, _popped(arguments, len(names)), strict=True))
        second, first = stack.pop(), stack.pop()
        if first is NULL or second is NULL:
            function = second if first is NULL else first
        else:
            function, arguments = first, [second, *arguments]
        stack.append(self.tracer.call(function, arguments, keywords))

    def _make_function(self, here: Instruction, stack: list[Value]) -> None:
        """Makes an inner function, with its cells and without defaults."""
        made = stack.pop()
        if here.argument & ~8:
            raise NotTraced("an inner function with defaults")
        if not isinstance(made, Known | Function):
            raise NotTraced("an inner function")
        code: CodeType = made.code if isinstance(made, Function) else made.value
        cells: dict[str, Cell] = {}
        if here.argument & 8:
            given = stack.pop()
            for name, cell in zip(code.co_freevars, items_of(given), strict=True):
                if not isinstance(cell, Cell):
                    raise NotTraced("an inner function's variable")
                cells[name] = cell
        stack.append(Function(code, cells, self.globals))

    def _iterator(self, value: Value) -> Iterator:
        if isinstance(value, LoopItems) and not value.is_once:
            value = self.tracer.collecting.gathered(value)
        if isinstance(value, Sequenced):
            return Iterator(value)
        if isinstance(value, Iterator):
            return value
        return Iterator(items_of(value), is_lazy=is_lazy(value))

    def _subscript(self, here: Instruction, stack: list[Value]) -> None:
        if here.op == "slice":
            stack.append(slice_of(_popped(stack, here.argument)))
            return
        index, sequence = stack.pop(), stack.pop()
        stack.append(subscript(self.tracer, sequence, index))

    def _append(self, here: Instruction, stack: list[Value]) -> None:
        """Adds to a list that a comprehension or a display is filling: nobody else knows it."""
        added = stack.pop()
        target = stack[-here.argument]
        if isinstance(target, GatheredItems) and here.op == "append":
            self._gathering.take(target, added, self._meetings)
        elif here.op == "extend" and is_empty_list(target) and isinstance(added, Sequenced):
            stack[-here.argument] = self.tracer.collecting.list(added)
        elif isinstance(target, Items) and target.is_list:
            more = items_of(added) if here.op == "extend" else (storable(added),)
            stack[-here.argument] = Items((*target.items, *more), True)
        else:
            raise NotTraced("a change of a list")

    def _yield(self, value: Value) -> None:
        if self._gathering.is_open:
            self._gathering.take(None, value, self._meetings)
        elif self._meetings or self._yielding is not None:
            raise NotTraced("a generator that leaves out items")
        else:
            self._yielded.append(value)

    def _loop(self, place: int, stack: list[Value], variables: dict[str, Value]) -> int:
        """One round of a loop over known items, or all of a comprehension over a row's list."""
        iterator = stack[-1]
        target = self.instructions[place].target
        if not isinstance(iterator, Iterator):
            raise NotTraced("a loop over an unknown value")
        if isinstance(iterator.items, Sequenced):
            loop = self._gather(place, iterator.items, stack, variables)
            stack.pop()
            if loop.is_once:
                self._yielding = loop
            elif stack[-1] is NEW_SET:
                stack[-1] = self.tracer.collecting.set(loop)
            else:
                stack[-1] = loop
            return self._behind(target)
        if iterator.position == len(iterator.items):
            stack.pop()
            return self._behind(target)
        stack[-1] = Iterator(iterator.items, iterator.position + 1, iterator.is_lazy)
        stack.append(iterator.items[iterator.position])
        return place + 1

    def _gather(
        self,
        place: int,
        over: Sequenced,
        stack: list[Value],
        variables: dict[str, Value],
    ) -> LoopItems:
        """The loop of a comprehension, or of a generator expression."""
        if self.is_generator:
            is_open = self._gathering.is_open or self._meetings
            if is_open or self._yielded or self._yielding is not None:
                raise NotTraced("a generator with several loops")
        elif len(stack) < 2 or not (stack[-2] is NEW_SET or is_empty_list(stack[-2])):
            raise NotTraced("a loop that is no comprehension, over values of a row")
        gathered = GatheredItems(len(self._meetings), place, Label())
        lines, self.code.lines = self.code.lines, []
        item = self.tracer.loops.item_registers(over)
        value = self.tracer.loops.item(over, item)
        kept = stack[:-1] if self.is_generator else [*stack[:-2], gathered]
        self._gathering.begin(gathered)
        way = self._walk(place + 1, [*kept, Iterator(over), value], variables, place)
        self._gathering.end()
        round_lines, self.code.lines = self.code.lines, lines
        for name, before in variables.items():
            if before is not UNSET and way.variables.get(name) is not before:
                raise NotTraced("a loop that changes a variable")
        if way.returned is not None or gathered.value is None:
            raise NotTraced("a loop that is no comprehension, over values of a row")
        return self.tracer.loops.made(
            LoopItems(over, item, round_lines, gathered.value, gathered.skip, self.is_generator)
        )

    def _behind(self, target: int) -> int:
        """The place behind a loop."""
        if VERSION >= (3, 12) and self.instructions[target].op == "end_for":
            target += 1
            if VERSION >= (3, 13) and self.instructions[target].op == "pop":
                target += 1
        return target

    def _branch(self, place: int, stack: list[Value], variables: dict[str, Value]) -> int | Way:
        """Traces both ways of a branch up to where they meet; returns where to go on, or the
        result."""
        here = self.instructions[place]
        value = stack.pop()
        keeps = here.op == "jump_or_pop"
        if here.op == "branch" and here.argument in ("NONE", "NOT_NONE"):
            if isinstance(value, Marker | Opaque):
                raise NotTraced("a comparison with None")
            kind_of(value)
            is_none = isinstance(value, Known) and value.value is None
            return here.target if is_none == (here.argument == "NONE") else place + 1
        jumps_if = here.argument is True or here.argument == "TRUE"
        condition = self.arithmetic.truth(value)
        kept = [*stack, value] if keeps else stack
        if isinstance(condition, Known):
            if bool(condition.value) != jumps_if:
                return place + 1
            stack[:] = kept
            return here.target
        return self._both(place, condition, jumps_if, kept, stack, variables)

    def _both(
        self,
        place: int,
        condition: Value,
        jumps_if: bool,
        kept: list[Value],
        stack: list[Value],
        variables: dict[str, Value],
    ) -> int | Way:
        meeting = self.meeting_points[place]
        code = self.code
        register = code.register(condition)
        lines = code.lines
        self._meetings.append(meeting)
        if len(self._meetings) > _DEEPEST_BRANCHES:
            raise NotTraced("branches that lie too deep")
        code.lines = []
        jumped = self._walk(self.instructions[place].target, kept, variables, meeting)
        jumped_lines, code.lines = code.lines, []
        jumped_item = self._gathering.taken()
        other = self._walk(place + 1, stack, variables, meeting)
        other_lines, code.lines = code.lines, lines
        other_item = self._gathering.taken()
        self._meetings.pop()
        if jumped_item is not None or other_item is not None:
            self._gathering.leave_out(jumped_item, other_item, jumped_lines, other_lines)
        if (jumped.returned is None) != (other.returned is None):
            raise NotTraced("branches of which one returns")
        returned: Value | None = None
        if jumped.returned is not None and other.returned is not None:
            returned = joined(code, jumped.returned, other.returned, jumped_lines, other_lines)
        else:
            stack[:] = [
                joined(code, one, two, jumped_lines, other_lines)
                for one, two in zip(jumped.stack, other.stack, strict=True)
            ]
            for name in {**jumped.variables, **other.variables}:
                one = jumped.variables.get(name, UNSET)
                two = other.variables.get(name, UNSET)
                try:
                    both = joined(code, one, two, jumped_lines, other_lines)
                except NotTraced:
                    # Only a use of the variable would matter.
                    both = UNSET
                variables[name] = both
        self._emit_both(register, jumps_if, jumped_lines, other_lines)
        return meeting if returned is None else Way(returned, [], {})

    def _emit_both(
        self,
        register: int,
        jumps_if: bool,
        jumped_lines: list[Line | Label],
        other_lines: list[Line | Label],
    ) -> None:
        otherwise, end = Label(), Label()
        self.code.emit("JUMP_UNLESS" if jumps_if else "JUMP_IF", register, otherwise)
        self.code.lines += jumped_lines
        self.code.emit("JUMP", 0, end)
        self.code.lines.append(otherwise)
        self.code.lines += other_lines
        self.code.lines.append(end)


def _popped(stack: list[Value], count: int) -> list[Value]:
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return taken


def _readable(name: str, value: Value | None) -> Value:
    if value is None or value is UNSET:
        raise NotTraced(f"{name}, which may not be assigned")
    return value
