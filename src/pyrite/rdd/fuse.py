"""Consecutive record operators compiled into one loop.

A chain of generators pays for a resumption per operator and record; one generated function pays
once. It also turns a StopIteration of a user's function into an error, where `map` would
silently end the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

FILENAME = "<pyrite pipeline>"

_LOOKED_UP = ["k{i}, v{i} = x", "for x in {f}[k{i}]:", "x = (k{i}, (v{i}, x))"]

# Lines of the loop body per kind; {f} is the user's function, x the row. Variables end in the
# step's number, since an outer loop still needs its own after an inner one has run.
BODY = {
    "map": ["x = {f}(x)"],
    "filter": ["if not {f}(x): continue"],
    "flatMap": ["for x in {f}(x):"],
    "mapValues": ["x = (x[0], {f}(x[1]))"],
    "flatMapValues": ["k{i} = x[0]", "for x in {f}(x[1]):", "x = (k{i}, x)"],
    "keyBy": ["x = ({f}(x), x)"],
    "keys": ["x = x[0]"],
    "values": ["x = x[1]"],
}

# The same for joins that the row machine prepared: {f} has an item for any key.
JOINED = {
    "join": _LOOKED_UP,
    "leftOuterJoin": _LOOKED_UP,
    "rightOuterJoin": [*_LOOKED_UP[:2], "x = (k{i}, (x, v{i}))"],
    "subtractByKey": ["if {f}[x[0]]: continue"],
    "fullOuterJoin": [
        "k{i}, (l{i}, r{i}) = x",
        "for v{i} in l{i} if len(l{i}) else {f}:",
        "for x in r{i} if len(r{i}) else {f}:",
        "x = (k{i}, (v{i}, x))",
    ],
}

# What a last step yields for each row where it gives many: iterables, which C code then walks.
MANY = {
    "flatMap": "yield {f}(x)",
    "flatMapValues": "yield zip(repeat(x[0]), {f}(x[1]))",
}

LINES = {**BODY, **JOINED}
LOOPS = {kind: sum(line.startswith("for") for line in lines) for kind, lines in LINES.items()}

# CPython refuses more than 20 nested blocks, and long functions compile slowly.
LONGEST = 40
DEEPEST = 8

Step = tuple[str, Any]


@lru_cache(maxsize=512)
def compile_pipeline(kinds: tuple[str, ...]) -> Callable[..., Iterator[Any]]:
    """The generator function for this sequence of kinds; it takes the rows and the functions.

    Where the last kind gives many rows for one, what is yielded are iterables of them.
    """
    names = [f"f{i}" for i in range(len(kinds))]
    lines = [f"def pipeline(rows, {', '.join(names)}):", " for x in rows:"]
    depth = 2
    for place, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        last = place == len(kinds) - 1
        for template in [MANY[kind]] if last and kind in MANY else LINES[kind]:
            line = template.format(f=name, i=place)
            lines.append(" " * depth + line)
            depth += line.endswith(":")
    if kinds[-1] not in MANY:
        lines.append(" " * depth + "yield x")
    namespace: dict[str, Any] = {"repeat": repeat}
    exec(compile("\n".join(lines), FILENAME, "exec"), namespace)
    pipeline: Callable[..., Iterator[Any]] = namespace["pipeline"]
    return pipeline


def run_steps(rows: Iterable[Any], steps: list[Step]) -> Iterator[Any]:
    """Runs record operators over rows in as few loops as possible."""
    if not steps:
        return iter(rows)
    if len(steps) == 1 and steps[0][0] == "map" and is_plain_callable(steps[0][1]):
        return map(steps[0][1], rows)
    chunk: list[Step] = []
    nested = 0
    for step in steps:
        loops = LOOPS[step[0]]
        if len(chunk) == LONGEST or nested + loops > DEEPEST:
            rows = fuse(rows, chunk)
            chunk, nested = [], 0
        chunk.append(step)
        nested += loops
    return fuse(rows, chunk)


def fuse(rows: Iterable[Any], steps: list[Step]) -> Iterator[Any]:
    kinds = tuple(kind for kind, _ in steps)
    made = compile_pipeline(kinds)(rows, *(function for _, function in steps))
    return chain.from_iterable(made) if kinds[-1] in MANY else made


def is_plain_callable(function: Any) -> bool:
    """Whether a C type or method is called, which can't raise StopIteration: `int`, `str.split`."""
    return function in (int, float, str, len, abs) or type(function) is METHOD


METHOD = type(str.split)
