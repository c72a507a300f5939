"""A stage that reads several shuffles, placed anew with each of them (SCache, 3.2.4). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyrite.ids import NodeId
from pyrite.place.reducers import Reducer, ReducerNode, place, weigh


class Gathered(NamedTuple):
    """What a reducer has of earlier shuffles, all on one node."""

    node: NodeId
    size_bytes: int


def accumulate(
    hosts: Sequence[ReducerNode], reducers: Sequence[Reducer], gathered: Sequence[Gathered]
) -> list[NodeId]:
    """Places a stage anew with a further shuffle, by algorithm 2; what was gathered goes along."""
    # Where we read the paper differently: it compares what was gathered with `prob`, a share of
    # the new shuffle alone, times the size of all shuffles, which makes the new one's share too
    # large; here bytes are compared with bytes, and those that the new shuffle has on the same
    # node count too. And if the new places are better in nothing, all stay where they were: the
    # swaps alone nearly always find back to the old places, but not always.
    whole = [_with(reducer, earlier) for reducer, earlier in zip(reducers, gathered, strict=True)]
    places = place(hosts, whole)
    before = [each.node for each in gathered]
    return before if _is_no_gain(hosts, whole, before, places) else places


def together(parts: Sequence[Reducer]) -> Reducer:
    """What a reducer reads of several shuffles that are known at the same time."""
    if len(parts) == 1:
        return parts[0]
    held: dict[NodeId, int] = {}
    for part in parts:
        for node, size in part.held_bytes.items():
            held[node] = held.get(node, 0) + size
    return Reducer(sum(part.size_bytes for part in parts), held)


def _is_no_gain(
    hosts: Sequence[ReducerNode],
    reducers: Sequence[Reducer],
    before: list[NodeId],
    after: list[NodeId],
) -> bool:
    """Whether the new places are no better than the old, and the old can be kept."""
    running = {host.node for host in hosts if host.executors}
    if not reducers or any(node not in running for node in before):
        return False
    old, new = weigh(hosts, reducers, before), weigh(hosts, reducers, after)
    return old.heaviest_bytes <= new.heaviest_bytes and old.network_bytes <= new.network_bytes


def _with(reducer: Reducer, earlier: Gathered) -> Reducer:
    if not earlier.size_bytes:
        return reducer
    held = dict(reducer.held_bytes)
    held[earlier.node] = held.get(earlier.node, 0) + earlier.size_bytes
    return Reducer(reducer.size_bytes + earlier.size_bytes, held)
