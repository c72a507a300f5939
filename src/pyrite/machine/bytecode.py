"""One dialect for the bytecode of CPython 3.11 to 3.13.

`read` returns a function's instructions without what differs between versions. It refuses code that
holds anything it does not know, and interpreters that it was not tested with.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import Any, NamedTuple

VERSION = sys.version_info[:2]
# Flags of code objects, as `inspect` names them, which takes long to load.
VARIOUS_ARGUMENTS = 0x04 | 0x08
GENERATOR = 0x20
ASYNCHRONOUS = 0x80 | 0x200

KNOWN_VERSIONS = ((3, 11), (3, 12), (3, 13))


class NotTraced(Exception):
    """A function that the machine does not run; the text says why."""


class Instruction(NamedTuple):
    """One instruction; `target` is the index of the instruction that it may jump to."""

    op: str
    argument: Any = None
    target: int = -1


# Of a value in an f-string: {value!r}
_CONVERSIONS = ("", "s", "r", "a")
COMPARISONS = frozenset({"<", "<=", "==", "!=", ">", ">="})
OPERATORS = frozenset({"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"})

_SKIPPED = frozenset(
    {"RESUME", "PRECALL", "CACHE", "EXTENDED_ARG", "NOP", "COPY_FREE_VARS", "MAKE_CELL"}
)
# Instructions that have the same meaning in all versions, by what they take from `dis`.
_WITH_VALUE = {
    "LOAD_FAST": "local",
    "LOAD_FAST_CHECK": "local",
    "LOAD_FAST_AND_CLEAR": "local_cleared",
    "STORE_FAST": "store",
    "STORE_DEREF": "store_cell",
    "LOAD_CONST": "constant",
    "LOAD_DEREF": "cell",
    "LOAD_CLOSURE": "closure",
    "LOAD_METHOD": "method",
}
_WITH_NUMBER = {
    "UNPACK_SEQUENCE": "unpack",
    "BUILD_TUPLE": "tuple",
    "BUILD_LIST": "list",
    "BUILD_SLICE": "slice",
    "SWAP": "swap",
    "COPY": "copy",
    "BUILD_SET": "set",
    "BUILD_STRING": "text",
    "LIST_APPEND": "append",
    "SET_ADD": "append",
    "LIST_EXTEND": "extend",
    "CALL_KW": "call_named",
    "SET_FUNCTION_ATTRIBUTE": "function_attribute",
}
_BARE = {
    "GET_ITER": "iterate",
    "RETURN_VALUE": "return",
    "POP_TOP": "pop",
    "UNARY_NEGATIVE": "negative",
    "UNARY_NOT": "not",
    "UNARY_INVERT": "invert",
    "TO_BOOL": "bool",
    "PUSH_NULL": "null",
    "END_FOR": "end_for",
    "BINARY_SUBSCR": "subscript",
    "YIELD_VALUE": "yield",
}
# What is refused, in the words of those who wrote it.
_REFUSED = {
    "BUILD_MAP": "a dict",
    "BUILD_CONST_KEY_MAP": "a dict",
    "MAP_ADD": "a dict",
    "SET_UPDATE": "a set of constants",
    "CALL_FUNCTION_EX": "a call with *arguments or **keywords",
    "UNPACK_EX": "a starred variable",
    "RAISE_VARARGS": "raise",
    "LOAD_ASSERTION_ERROR": "assert",
    "IMPORT_NAME": "an import",
    "STORE_SUBSCR": "an assignment to an item",
    "DELETE_SUBSCR": "a deletion",
    "STORE_ATTR": "an assignment to an attribute",
    "STORE_GLOBAL": "an assignment to a global variable",
    "BEFORE_WITH": "with",
    "LIST_TO_TUPLE": "a starred tuple",
}
_PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("local", "local"),
    "STORE_FAST_STORE_FAST": ("store", "store"),
    "STORE_FAST_LOAD_FAST": ("store", "local"),
}
_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})


def read(code: CodeType) -> list[Instruction]:
    """Returns the instructions of a function, or of a generator expression."""
    if VERSION not in KNOWN_VERSIONS:
        raise NotTraced(f"Python {VERSION[0]}.{VERSION[1]} is not known yet")
    is_generator = code.co_flags & GENERATOR
    if code.co_flags & ASYNCHRONOUS or (is_generator and code.co_name != "<genexpr>"):
        raise NotTraced("a generator")
    return _Reader(code).read()


class _Reader:
    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.made: list[Instruction] = []
        self.places: dict[int, int] = {}
        self.jumps: list[tuple[int, int]] = []
        # Whether the names of a call's last arguments were told: since 3.13 they are on the stack.
        self.has_names = False

    def read(self) -> list[Instruction]:
        handlers = _handler_offsets(self.code)
        for instruction in dis.get_instructions(self.code):
            if instruction.offset in handlers:
                # What follows is reached by exceptions only.
                break
            self.places[instruction.offset] = len(self.made)
            if instruction.opname not in _SKIPPED:
                self._add(instruction)
        for place, offset in self.jumps:
            if offset not in self.places:
                raise NotTraced("an exception handler")
            # An instruction that is skipped stands for the one after it.
            self.made[place] = self.made[place]._replace(target=self.places[offset])
        return self.made

    def _put(self, op: str, argument: Any = None) -> None:
        self.made.append(Instruction(op, argument))

    def _jump(self, op: str, argument: Any, instruction: dis.Instruction) -> None:
        self.jumps.append((len(self.made), instruction.argval))
        self._put(op, argument)

    def _add(self, instruction: dis.Instruction) -> None:
        name = instruction.opname
        if name in _WITH_VALUE:
            self._put(_WITH_VALUE[name], instruction.argval)
        elif name in _WITH_NUMBER:
            self._put(_WITH_NUMBER[name], instruction.arg)
        elif name in _BARE:
            self._put(_BARE[name])
        elif name in _PAIRS:
            for op, variable in zip(_PAIRS[name], instruction.argval, strict=True):
                self._put(op, variable)
        elif name == "FOR_ITER":
            self._jump("for", None, instruction)
        elif name in _JUMPS:
            self._jump("jump", None, instruction)
        elif name in ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"):
            self._jump("jump_or_pop", name == "JUMP_IF_TRUE_OR_POP", instruction)
        elif name.startswith("POP_JUMP_"):
            self._jump("branch", name.rpartition("IF_")[2], instruction)
        else:
            self._add_varying(instruction)

    def _add_varying(self, instruction: dis.Instruction) -> None:
        """Adds an instruction whose form differs between versions."""
        name, number, shown = instruction.opname, instruction.arg, instruction.argrepr
        match name:
            case "KW_NAMES":
                assert number is not None
                self._put("constant", self.code.co_consts[number])
                self.has_names = True
            case "CALL":
                self._put("call_named" if self.has_names else "call", number)
                self.has_names = False
            case "FORMAT_VALUE":
                assert number is not None
                self._put("format", (_CONVERSIONS[number & 3], bool(number & 4)))
            case "CONVERT_VALUE":
                self._put("convert", _CONVERSIONS[number or 0])
            case "FORMAT_SIMPLE" | "FORMAT_WITH_SPEC":
                self._put("format", ("", name == "FORMAT_WITH_SPEC"))
            case "BINARY_OP":
                self._put("binary", _operator(shown))
            case "COMPARE_OP":
                sign = shown.removeprefix("bool(").removesuffix(")")
                if sign not in COMPARISONS:
                    raise NotTraced(f"a comparison by {sign}")
                self._put("compare", sign)
            case "IS_OP":
                self._put("compare", "is not" if number else "is")
            case "CONTAINS_OP":
                self._put("contains", bool(number))
            case "BINARY_SLICE":
                self._put("slice", 2)
                self._put("subscript")
            case "RETURN_CONST":
                self._put("constant", instruction.argval)
                self._put("return")
            case "RETURN_GENERATOR":
                # The first value that is sent in, which the next instruction drops.
                self._put("constant", None)
            case "LOAD_GLOBAL":
                self._global(instruction)
            case "LOAD_ATTR":
                is_method = VERSION >= (3, 12) and number is not None and number & 1
                self._put("method" if is_method else "attribute", instruction.argval)
            case "MAKE_FUNCTION":
                self._put("make_function", number if VERSION < (3, 13) else 0)
            case _:
                raise NotTraced(_REFUSED.get(name, f"the instruction {name}"))

    def _global(self, instruction: dis.Instruction) -> None:
        has_null = "NULL" in instruction.argrepr
        if has_null and VERSION < (3, 13):
            self._put("null")
        self._put("global", instruction.argval)
        if has_null and VERSION >= (3, 13):
            self._put("null")


def _operator(shown: str) -> str:
    """The sign of an operator, with "=" behind it where it is in place."""
    if shown.removesuffix("=") not in OPERATORS:
        raise NotTraced(f"the operator {shown}")
    return shown


def _handler_offsets(code: CodeType) -> set[int]:
    """Where exception handlers begin; comprehensions of 3.12 and later have one each."""
    if not code.co_exceptiontable:
        return set()
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return {entry.target for entry in entries}
