"""A placement policy of its own: each node has a range of keys, and tasks go to theirs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from pyrite.ids import NodeId
from pyrite.place.policy import Preference, Strength, View
from pyrite.plan.stages import StageSpec


def key_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class HashRanges:
    """Places tasks on a consistent-hash ring, by the keys of their partitions."""

    def __init__(self, keys: Mapping[int, int]) -> None:
        self.keys = keys

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        ring = sorted((key_of(node), node) for node in view.nodes())
        if not ring:
            return None
        nodes = {index: owner(ring, self.keys[index]) for index in partitions if index in self.keys}
        return Preference(Strength.SHARE, nodes=nodes)


def owner(ring: Sequence[tuple[int, NodeId]], key: int) -> NodeId:
    """The first node at or after the key, around the ring."""
    place = bisect_left(ring, (key, NodeId("")))
    return ring[place % len(ring)][1]
