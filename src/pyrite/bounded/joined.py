"""Joins and cogroups over native vectors, by the row machine; as `join` and `group` do where a side
has other rows than packed pairs, or memory is short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pyrite.bounded.dealing import PLAINLY, DealtPairs
from pyrite.bounded.group import Values, cogroup
from pyrite.bounded.join import (
    NOTHING,
    Batches,
    Join,
    full_outer_join,
    join,
    left_outer_join,
    right_outer_join,
    subtract_by_key,
)
from pyrite.bounded.space import Space
from pyrite.bounded.traced import deal_chain
from pyrite.bounded.vectors import Side, closed, gather, rows_of_sides
from pyrite.machine._rows import MOST_SIDES
from pyrite.machine.chain import PAIRING, Chain, ChainRows
from pyrite.machine.framerows import Frame, FrameRows, rows_of
from pyrite.machine.lookup import Lookup
from pyrite.machine.packed import Undealt

_DEALT_ROWS = 65_536


class Looking(NamedTuple):
    """Which side of a join is looked up in, by which step for the other one's rows, what stands for
    values that it does not have, and how many of a key's values are asked for."""

    side: int
    step: str
    missing: tuple[Any, ...]
    most: int | None = None


LOOKING: dict[Join, Looking] = {
    join: Looking(1, "join", ()),
    left_outer_join: Looking(1, "leftOuterJoin", NOTHING),
    right_outer_join: Looking(0, "rightOuterJoin", NOTHING),
    # Whether there is one: the values of a key may be many, and are not kept for long.
    subtract_by_key: Looking(1, "subtractByKey", (), 1),
}


def join_chains(how: Join, left: Chain, right: Chain, space: Space) -> Iterator[Any]:
    """The rows of a join; natively, they are steps over those of one side."""
    if how is full_outer_join:
        return _pair_all(left, right, space)
    looking = LOOKING[how]
    chains = [left, right]
    other = chains[1 - looking.side]
    side = gather(_frames(chains[looking.side], space), space)
    if isinstance(side, Side) and closed([side], space):
        lookup = Lookup(side.groups, side.layout, looking.missing, looking.most)
        steps = [*other.steps, (looking.step, lookup)]
        return ChainRows(other.behind(other.rows, steps, other.alone))
    held: Batches = side.batches() if isinstance(side, Side) else side
    rest = _batches(other, space)
    return how(rest, held, space) if looking.side else how(held, rest, space)


def cogroup_chains(
    chains: list[Chain], space: Space
) -> Iterator[tuple[Any, tuple[Values[Any], ...]]]:
    """All values of each key from each side, as `cogroup` returns them."""
    gathered: list[Side | Iterator[list[Any]]] = []
    if len(chains) <= MOST_SIDES:
        for chain in chains:
            gathered.append(gather(_frames(chain, space), space))
            if not isinstance(gathered[-1], Side):
                break
    sides = [each for each in gathered if isinstance(each, Side)]
    kinds = {each.layout[1] for each in sides}
    if len(sides) == len(chains) and len(kinds) == 1 and closed(sides, space):
        return rows_of_sides(sides)
    batches = [each.batches() if isinstance(each, Side) else each for each in gathered]
    rest = [_batches(chain, space) for chain in chains[len(batches) :]]
    return cogroup([*batches, *rest], space)


def _pair_all(left: Chain, right: Chain, space: Space) -> Iterator[Any]:
    grouped = cogroup_chains([left, right], space)
    return ChainRows(left.behind(grouped, [(PAIRING, NOTHING)], True))


def _frames(chain: Chain, space: Space) -> Iterator[Frame]:
    """The rows of a chain, packed where they can be."""
    if isinstance(chain.rows, FrameRows) and not chain.steps:
        yield from chain.rows.rest()
        return
    rows = deal_chain(chain, space, PLAINLY)
    if not isinstance(rows, DealtPairs):
        yield from space.weighed(rows).chunks(space.chunk_rows)
        return
    for dealt in rows.deal(1, _DEALT_ROWS):
        if isinstance(dealt, Undealt):
            yield from space.weighed(dealt.rows).chunks(space.chunk_rows)
        else:
            yield from (each for each in dealt if len(each))


def _batches(chain: Chain, space: Space) -> Iterator[list[Any]]:
    if isinstance(chain.rows, FrameRows) and not chain.steps:
        return map(rows_of, chain.rows.rest())
    return space.weighed(chain.run()).chunks(space.chunk_rows)
