"""How many lambdas of programs the row machine's reader understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from pyrite.machine.bytecode import NotTraced, read


class Understood(NamedTuple):
    """How many lambdas of some files were read, and why others were not."""

    lambdas: int
    read: int
    refusals: Counter[str]


def understood(paths: list[Path]) -> Understood:
    """Reads all lambdas of Python files, and of the indented programs in pages."""
    refusals: Counter[str] = Counter()
    count = 0
    for path in paths:
        for code in _functions(_source(path), str(path)):
            count += 1
            try:
                read(code)
            except NotTraced as refused:
                refusals[str(refused)] += 1
    return Understood(count, count - sum(refusals.values()), refusals)


def _source(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    lines = (line[4:] for line in text.splitlines() if line.startswith("    "))
    return "\n".join(line for line in lines if "lambda" in line)


def _functions(source: str, name: str) -> Iterator[CodeType]:
    try:
        compiled = [compile(source, name, "exec")]
    except SyntaxError:
        compiled = []
        for line in source.splitlines():
            try:
                compiled.append(compile(line, name, "exec"))
            except SyntaxError:
                continue
    for code in compiled:
        yield from _inner(code)


def _inner(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_name == "<lambda>":
                yield each
            yield from _inner(each)
