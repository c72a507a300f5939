"""What operators of several rows give, by plain Python."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from plain_rows import Plain
from row_functions import digest, gathered, groups_in_order, rank


def reduced(parent: Plain, reduce: Callable[[list[Any]], Any]) -> Plain:
    """One row per key."""
    return Plain((key, reduce(values)) for key, values in parent.groups().values())


def reduce_all(function: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total


def distinct_rows(rows: list[Any]) -> list[Any]:
    return list({rank(row): row for row in rows}.values())


def joined(left: Plain, right: Plain, kind: str, count: int | None) -> Plain:
    """Rows of two sides by key; a side without the key gives None where the join is outer."""
    lefts, rights = left.groups(), right.groups()
    empty_left = [None] if kind in ("rightOuterJoin", "fullOuterJoin") else []
    empty_right = [None] if kind in ("leftOuterJoin", "fullOuterJoin") else []
    return Plain(
        (key, (v, w))
        for id, (key, _) in {**rights, **lefts}.items()
        for v in (lefts[id][1] if id in lefts else empty_left)
        for w in (rights[id][1] if id in rights else empty_right)
    )


def cogrouped(left: Plain, right: Plain, count: int | None) -> Plain:
    sides = left.groups(), right.groups()
    keys = {**sides[1], **sides[0]}
    return Plain(
        (key, groups_in_order(side[id][1] if id in side else () for side in sides))
        for id, (key, _) in keys.items()
    )


def without(left: Plain, right: Plain, of: Callable[[Any], Any]) -> Plain:
    there = {rank(of(row)) for row in right.rows}
    return Plain(row for row in left.rows if rank(of(row)) not in there)


def intersected(left: Plain, right: Plain) -> Plain:
    there = {rank(row) for row in right.rows}
    return Plain(row for row in distinct_rows(left.rows) if rank(row) in there)


def sort_by_key(parent: Plain, ascending: bool, count: int) -> Plain:
    rows = sorted(parent.rows, key=lambda row: rank(row[0]), reverse=not ascending)
    return Plain(rows, by_key=True)


def mapped_values(rows: list[Any]) -> list[Any]:
    return [(key, digest(value)) for key, value in rows]


def sampled(parent: Plain, fraction: float, seed: int) -> Plain:
    """As PySpark draws: each partition has its own dice, whose first ten bits are given up."""
    assert parent.parts is not None
    chosen: list[list[Any]] = []
    for index, part in enumerate(parent.parts):
        dice = Random(seed ^ index)
        for _ in range(10):
            dice.randint(0, 1)
        chosen.append([row for row in part if dice.random() < fraction])
    return Plain.laid(chosen)


def uniquely_numbered(parent: Plain) -> Plain:
    assert parent.parts is not None
    step = len(parent.parts)
    return Plain.laid(
        [
            [(row, first + step * place) for place, row in enumerate(part)]
            for first, part in enumerate(parent.parts)
        ]
    )


def all_gathered(parent: Plain, count: int) -> Plain:
    """A row for each partition with what every one of them said."""
    assert parent.parts is not None
    said = list(map(gathered, parent.parts))
    return Plain((index, tuple(said)) for index in range(len(said)))
