"""What a function's code refers to, and what of a code object decides what it does."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

GLOBAL = (
    *("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"),
    "LOAD_FROM_DICT_OR_GLOBALS",
)
ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


class Import(NamedTuple):
    """An import statement: how many dots, the module, and what is taken from it."""

    level: int
    name: str
    taken: tuple[str, ...]


class CodeNames(NamedTuple):
    """Global names with the attributes that are read of them, and imported modules."""

    chains: tuple[tuple[str, ...], ...]
    imports: tuple[Import, ...]


def names_of(code: CodeType) -> CodeNames:
    """What the code, and the code inside it, looks up by name."""
    chains: dict[tuple[str, ...], None] = {}
    imports: dict[Import, None] = {}
    for each in codes(code):
        chain: tuple[str, ...] = ()
        steps = [step for step in dis.get_instructions(each) if step.opname != "EXTENDED_ARG"]
        for place, step in enumerate(steps):
            if chain and step.opname in ATTRIBUTE:
                chain = (*chain, step.argval)
                continue
            if chain:
                chains[chain] = None
            chain = (step.argval,) if step.opname in GLOBAL else ()
            if step.opname == "IMPORT_NAME":
                level, taken = (before.argval for before in steps[place - 2 : place])
                imports[Import(level, step.argval, taken or ())] = None
        if chain:
            chains[chain] = None
    return CodeNames(tuple(chains), tuple(imports))


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object, and those of the functions that it makes."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def facts_of(code: CodeType) -> tuple[object, ...]:
    """All that decides what the code does: not where it stands, nor in which file."""
    return (
        code.co_code,
        code.co_consts,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_exceptiontable,
    )
