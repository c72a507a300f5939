"""Input that lies on a ring of the simulated nodes: who has which block on its disk."""

from __future__ import annotations

from collections.abc import Sequence

from pyrite.ids import NodeId
from pyrite.place.laf import KEYS


class RingInput:
    """Each node owns an equal range of keys; its two neighbours have copies."""

    def __init__(self, nodes: Sequence[NodeId]) -> None:
        self.nodes = list(nodes)

    def holders(self, key: int) -> list[NodeId]:
        """The nodes that have a block, its owner first."""
        count = len(self.nodes)
        owner = key * count // KEYS
        places = dict.fromkeys((owner, (owner + 1) % count, (owner - 1) % count))
        return [self.nodes[place] for place in places]
