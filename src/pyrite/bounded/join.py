"""Joins two sides: builds a table of one side's values by key, and looks up the other side's rows.

Where the table does not fit in memory, both sides are cogrouped through spill files instead.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from pyrite.bounded.group import cogroup
from pyrite.bounded.space import Space

Row = tuple[Any, Any]
Batches = Iterable[list[Row]]
NOTHING = (None,)
# How many rows of a table are returned at a time.
_ROWS_PER_BATCH = 64


def join(left: Batches, right: Batches, space: Space) -> Iterator[Row]:
    """Returns each pair of values that have the same key on both sides."""
    return look_up(left, right, space, ())


def left_outer_join(left: Batches, right: Batches, space: Space) -> Iterator[Row]:
    """As `join`, plus each value on the left whose key is not on the right, with None."""
    return look_up(left, right, space, NOTHING)


def look_up(left: Batches, right: Batches, space: Space, missing: tuple[Any, ...]) -> Iterator[Row]:
    """Returns each left value with the right values of its key, or with `missing` where there are
    none."""
    table, rest = build_table(right, space)
    if rest is not None:
        return pairs_of_groups(cogroup([left, rest], space, held=1), (), missing)
    find = table.get
    return (
        (key, (value, other))
        for key, value in chain.from_iterable(left)
        for other in find(key, missing)
    )


def right_outer_join(left: Batches, right: Batches, space: Space) -> Iterator[Row]:
    """As `join`, plus each value on the right whose key is not on the left, with None."""
    table, rest = build_table(left, space)
    if rest is not None:
        return pairs_of_groups(cogroup([rest, right], space), NOTHING, ())
    find = table.get
    return (
        (key, (other, value))
        for key, value in chain.from_iterable(right)
        for other in find(key, NOTHING)
    )


def full_outer_join(left: Batches, right: Batches, space: Space) -> Iterator[Row]:
    """As `join`, plus each value whose key is on one side only, with None."""
    return pairs_of_groups(cogroup([left, right], space), NOTHING, NOTHING)


def subtract_by_key(left: Batches, right: Batches, space: Space) -> Iterator[Row]:
    """Returns the left rows whose key is not on the right."""
    table, rest = build_table(right, space)
    if rest is None:
        return (row for row in chain.from_iterable(left) if row[0] not in table)
    groups = cogroup([left, rest], space, held=1)
    return ((key, value) for key, (mine, theirs) in groups if not len(theirs) for value in mine)


Join = Callable[[Batches, Batches, Space], Iterator[Row]]


def build_table(side: Batches, space: Space) -> tuple[dict[Any, list[Any]], Batches | None]:
    """Returns the side's values by key; where memory runs out, all of its rows as batches
    instead."""
    table: defaultdict[Any, list[Any]] = defaultdict(list)
    batches = iter(side)
    for batch in batches:
        pieces = space.pieces(batch)
        for some in pieces:
            for key, value in some:
                table[key].append(value)
            if space.over_after(some):
                return {}, chain(unbuild(table), pieces, batches)
    return table, None


def unbuild(table: dict[Any, list[Any]]) -> Iterator[list[Row]]:
    """Returns the rows that a table was made of, and frees each as it is returned."""
    while table:
        key, values = table.popitem()
        values.reverse()
        while values:
            last = values[-_ROWS_PER_BATCH:]
            del values[-_ROWS_PER_BATCH:]
            yield [(key, value) for value in reversed(last)]


def pairs_of_groups(
    groups: Iterable[tuple[Any, tuple[Any, ...]]], no_left: tuple[Any, ...], no_right: Any
) -> Iterator[Row]:
    """Returns all pairs of each group; an empty side is replaced by `no_left` or `no_right`."""
    for key, (left, right) in groups:
        others = right if len(right) else no_right
        for value in left if len(left) else no_left:
            for other in others:
                yield key, (value, other)
