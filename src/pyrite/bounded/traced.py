"""Combines, groups and joins by key; asks the row machine where there are enough rows for it, or
packed ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain as chained
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from pyrite.bounded.aggregate import Aggregator, Combining, combine_combiners, value_fold
from pyrite.bounded.group import Values, cogroup, drained, group_locally, group_values
from pyrite.bounded.join import Join
from pyrite.bounded.space import Space
from pyrite.machine.chain import Chain, Tracing
from pyrite.machine.framerows import rows_of
from pyrite.machine.packed import PackedRows

if TYPE_CHECKING:
    from pyrite.bounded.dealing import Sending


class JoinInput(Protocol):
    """One side of a join or cogroup."""

    def batches(self) -> Iterator[list[Any]]:
        """Its rows in lists."""

    def chain(self) -> Chain:
        """Its rows, and the steps that are still to be run over them."""


Rows = Iterator[tuple[Any, Any]]


def combine_chain(chain: Chain, aggregator: Aggregator[Any, Any], space: Space) -> Rows:
    """Returns one combiner per key of the chain's results, as `combine_values` does."""
    plain = Combining(value_fold(aggregator), aggregator.merge_combiners, space)
    if not chain.tracing.is_usable():
        return plain.run(chain.run())
    weighed = space.weighed(chain.first_results())
    while some := weighed.take(space.stride_rows):
        plain.fold(plain.combined, some)
        if space.over():
            return plain.run(chained(weighed.rows, chain.run()))
    row = list(islice(chain.rows, 1))
    plain.fold(plain.combined, chain.over(iter(row)))
    if not row:
        return plain.results()
    from pyrite.bounded.keyed import combine_behind

    return combine_behind(chain, aggregator, plain, row)


def combine_frames(
    frames: Iterator[list[Any] | PackedRows],
    aggregator: Aggregator[Any, Any],
    space: Space,
    tracing: Tracing,
) -> Rows:
    """Returns one combiner per key from combiners made elsewhere, of which some may be packed."""
    first = next(frames, [])
    frames = chained((first,), frames)
    if not isinstance(first, PackedRows) or not tracing.is_usable():
        return combine_combiners(map(rows_of, frames), aggregator, space)
    from pyrite.bounded.keyed import combine_packed

    return combine_packed(first.layout, frames, aggregator, space, tracing.give_back_every)


def group_chain(chain: Chain, space: Space) -> Iterator[Any]:
    """Groups the chain's results before they are sent, as `group_locally` does, or sends them as
    they are where they are packed."""
    if not chain.tracing.is_usable():
        return group_locally(chain.run(), space)
    from pyrite.bounded.dealing import GROUPING

    return deal_chain(chain, space, GROUPING)


def send_chain(chain: Chain, space: Space) -> Iterator[Any]:
    """The chain's results as they are sent by key: packed where they can be."""
    if not chain.tracing.is_usable():
        return chain.last_rows()
    from pyrite.bounded.dealing import PLAINLY

    return deal_chain(chain, space, PLAINLY)


def deal_chain(chain: Chain, space: Space, sending: Sending) -> Iterator[Any]:
    """The chain's results, which can be dealt out where they are packed."""
    weighed = space.weighed(chain.first_results())
    first: list[Any] = []
    while some := weighed.take(space.stride_rows):
        first += some
        if space.over():
            return sending.rows(chained(drained(first), weighed.rows, chain.run()), space)
    row = list(islice(chain.rows, 1))
    first += chain.over(iter(row))
    if not row:
        return sending.rows(iter(first), space)
    from pyrite.bounded.dealing import deal_behind

    return deal_behind(chain, space, first, row, sending)


def group_frames(frames: Iterator[list[Any] | PackedRows], space: Space, tracing: Tracing) -> Rows:
    """Returns all values of each key, as `group_values` does, of frames that may be packed."""
    first = next(frames, [])
    frames = chained((first,), frames)
    if isinstance(first, PackedRows) and tracing.is_usable():
        from pyrite.bounded.vectors import group_packed

        return group_packed(frames, space)
    return group_values(map(rows_of, frames), space)


def join_sides(
    how: Join, left: JoinInput, right: JoinInput, space: Space, tracing: Tracing
) -> Rows:
    """Returns the rows of a join."""
    if not tracing.is_usable():
        return how(left.batches(), right.batches(), space)
    from pyrite.bounded.joined import join_chains

    return join_chains(how, left.chain(), right.chain(), space)


def cogroup_sides(
    sides: Sequence[JoinInput], space: Space, tracing: Tracing
) -> Iterator[tuple[Any, tuple[Values[Any], ...]]]:
    """Returns all values of each key from each side, as `cogroup` does."""
    if not tracing.is_usable():
        return cogroup([each.batches() for each in sides], space)
    from pyrite.bounded.joined import cogroup_chains

    return cogroup_chains([each.chain() for each in sides], space)
