"""Random chains in which one step makes a list and another one, which may not run, reads it."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from typed_functions import FunctionMaker, compiled

# The layout of rows x, xs, zs, what is looped over, and the kind of its items.
_ROWS = [
    ("(i[f][i])", "xs", "f"),
    ("(i[i][f])", "xs", "i"),
    ("(is[i])", "xs.split()", "s"),
    ("(is[i])", "xs.split(',')", "s"),
]
# What a row is taken apart for, and what becomes of it between the first step and the last.
_BETWEEN = [
    ("filter", "x > 0"),
    ("filter", "len(ys) > 1"),
    ("filter", "x"),
    ("flatMap", "[(x, ys, zs) for z in zs]"),
    ("flatMap", "[(x, ys, zs), (x + 1, ys, zs)]"),
    ("flatMap", "((x, ys, zs) for z in zs if z)"),
    ("map", "(x, ys, zs)"),
    ("map", "(x, [x, x], zs)"),
    ("map", "(x - 1, ys, zs) if x else (x, ys, zs)"),
    ("keyBy", "x"),
]
_LAST = {
    "sum": ["sum(ys)", "x", "len(ys)", "sum(ys, x)", "max(ys) if x else 0", "sum(ys) if x else x"],
    "count": ["x", "row"],
    "combine": ["(x % 5, sum(ys))", "(x % 5, len(ys))", "(x & 3, x)"],
    "lists": ["(x % 5, ys)", "(x & 1, ys)"],
}


class ListChain(NamedTuple):
    """A chain, the layout of its rows, and what becomes of them."""

    layout: str
    steps: list[tuple[str, Any]]
    sink: str


def make_list_chain(random: Random) -> ListChain:
    layout, source, kind = random.choice(_ROWS)
    maker = FunctionMaker(random, captures=True)
    maker.names["i"].append("x")
    maker.names[kind].append("item")
    made = random.choice(_ITEMS[kind]) if random.random() < 0.7 else "{i}"
    for each in "if":
        made = made.replace(f"{{{each}}}", maker.expression(each, 1))
    chosen = f" if {maker.expression('b', 1)}" if random.random() < 0.3 else ""
    ys = f"[{made} for item in {source}{chosen}]"
    steps = [("map", compiled(["x, xs, zs = row", f"return x, {ys}, zs"], 1))]
    for _ in range(random.choice([0, 1, 1, 2])):
        name, between = random.choice(_BETWEEN)
        steps.append((name, compiled(["x, ys, zs = row", f"return {between}"], 1)))
        if name == "keyBy":
            steps.append(("values", None))
    if random.random() < 0.3:
        # Each item of the list beside the whole of it.
        steps += [
            ("map", compiled(["x, ys, zs = row", "return (ys, x), ys"], 1)),
            ("flatMapValues", compiled(["return row"], 1)),
            ("map", compiled(["(ys, x), y = row", "return x, ys, y"], 1)),
        ]
    sink = random.choice(list(_LAST))
    last = random.choice(_LAST[sink])
    steps.append(("map", compiled(["x, ys, zs = row", f"return {last}"], 1)))
    return ListChain(layout, steps, sink)


_ITEMS = {
    "i": ["item", "7 // item", "item + {i}", "item * {f}", "1 // (x - item)"],
    "f": ["item", "1 / item", "item * {f}", "item + {i}", "math.sqrt(item)"],
    "s": ["int(item)", "float(item)", "len(item)", "len(item) + {i}", "1 // len(item)"],
}
