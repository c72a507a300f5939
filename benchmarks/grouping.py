"""Grouping by integer key in two processes, for the hand-written programs."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from benchmarks.pair import Peer


def grouped_in_pair(peer: Peer, pairs: Iterable[tuple[int, Any]]) -> dict[int, list[Any]]:
    """The groups of the keys that are this process's own (even or odd), from both processes."""
    groups: dict[int, list[Any]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    kept: dict[int, list[Any]] = {}
    given: dict[int, list[Any]] = {}
    for key, values in groups.items():
        (kept if key & 1 == peer.index else given)[key] = values
    for key, values in peer.exchange(given).items():
        if key in kept:
            kept[key] += values
        else:
            kept[key] = values
    return kept


def grouped(pairs: Iterable[tuple[int, Any]]) -> dict[int, list[Any]]:
    """The groups of pairs that are all this process's own."""
    groups: dict[int, list[Any]] = {}
    for key, value in pairs:
        if key in groups:
            groups[key].append(value)
        else:
            groups[key] = [value]
    return groups
