"""Placement of a stage that reads several shuffles, renewed with each of them (SCache, 3.2.4).
Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyrite.ids import NodeId
from pyrite.place.reducers import Reducer, ReducerNode, place, weigh


class Gathered(NamedTuple):
    """A reducer's input from earlier shuffles, all on one node."""

    node: NodeId
    size_bytes: int


def accumulate(
    hosts: Sequence[ReducerNode], reducers: Sequence[Reducer], gathered: Sequence[Gathered]
) -> list[NodeId]:
    """Places a stage's reducers again with a further shuffle, by algorithm 2; gathered input moves
    along."""
    # This differs from the paper, which compares what was gathered with `prob`, a share of the new
    # shuffle alone, times the size of all shuffles: that overstates the new one's share. Here bytes
    # are compared with bytes, including the new shuffle's bytes on the same node. And if the new
    # places improve nothing, all reducers stay: the swaps alone nearly always restore the old
    # places, but not always.
    whole = [
        _with_gathered(reducer, earlier)
        for reducer, earlier in zip(reducers, gathered, strict=True)
    ]
    places = place(hosts, whole)
    before = [each.node for each in gathered]
    return before if _brings_no_gain(hosts, whole, before, places) else places


def together(parts: Sequence[Reducer]) -> Reducer:
    """Merges a reducer's input from several shuffles."""
    if len(parts) == 1:
        return parts[0]
    held: dict[NodeId, int] = {}
    for part in parts:
        for node, size in part.held_bytes.items():
            held[node] = held.get(node, 0) + size
    return Reducer(sum(part.size_bytes for part in parts), held)


def _brings_no_gain(
    hosts: Sequence[ReducerNode],
    reducers: Sequence[Reducer],
    before: list[NodeId],
    after: list[NodeId],
) -> bool:
    """Whether the new places are no better than the old ones, and these can be kept."""
    running = {host.node for host in hosts if host.executors}
    if not reducers or any(node not in running for node in before):
        return False
    old, new = weigh(hosts, reducers, before), weigh(hosts, reducers, after)
    return old.heaviest_bytes <= new.heaviest_bytes and old.network_bytes <= new.network_bytes


def _with_gathered(reducer: Reducer, earlier: Gathered) -> Reducer:
    if not earlier.size_bytes:
        return reducer
    held = dict(reducer.held_bytes)
    held[earlier.node] = held.get(earlier.node, 0) + earlier.size_bytes
    return Reducer(reducer.size_bytes + earlier.size_bytes, held)
