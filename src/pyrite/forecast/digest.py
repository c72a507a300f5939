"""The bytes of a shuffle, summed by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyrite.forecast.fetches import ForecastFetches
from pyrite.forecast.machines import CostedNode
from pyrite.forecast.network import Sources
from pyrite.ids import BlockRef, NodeId
from pyrite.schedule.taskinputs import Snapshot


def added_up(refs: Iterable[BlockRef]) -> tuple[dict[NodeId, float], dict[NodeId, float]]:
    """The bytes of blocks by node: in total, and on its disk."""
    everywhere: dict[NodeId, float] = {}
    on_disk: dict[NodeId, float] = {}
    for node, _, _, length, medium in refs:
        everywhere[node] = everywhere.get(node, 0.0) + length
        if medium == "disk":
            on_disk[node] = on_disk.get(node, 0.0) + length
    return everywhere, on_disk


class Digest:
    """The bytes of a shuffle's map outputs by node, summed once for all readers."""

    def __init__(self, snapshot: Snapshot, nodes: dict[NodeId, CostedNode]) -> None:
        self.snapshot = snapshot
        everywhere, on_disk = added_up(snapshot.refs)
        self.sources = Sources(everywhere)
        self.on_disk = Sources(on_disk)
        self._lives = {node: nodes[node].life for node in everywhere}
        self._outputs: dict[NodeId, list[int]] = {}
        self._in_fetched: dict[str, tuple[dict[NodeId, float], dict[NodeId, float]]] = {}

    def lost_nodes(self, nodes: dict[NodeId, CostedNode]) -> list[NodeId]:
        """The nodes that were lost, with their outputs, since the snapshot was taken."""
        return [
            node
            for node, life in self._lives.items()
            if not nodes[node].alive or nodes[node].life != life
        ]

    def outputs_on(self, node: NodeId) -> list[int]:
        """The outputs on a node; cached, as many readers ask when a node is lost."""
        if node not in self._outputs:
            refs = self.snapshot.refs
            self._outputs[node] = [index for index, ref in enumerate(refs) if ref.node == node]
        return self._outputs[node]

    def rest(self, prefetched: ForecastFetches, segments: Sequence[str]) -> tuple[Sources, Sources]:
        """The bytes that are not in these prefetched segments: in total, and on disks.

        An output may have been recomputed elsewhere since it was fetched: its new place need not be
        read.
        """
        if not segments:
            return self.sources, self.on_disk
        taken: dict[NodeId, float] = {}
        from_disk: dict[NodeId, float] = {}
        for segment in segments:
            found = self._in_fetched.get(segment)
            if found is None:
                found = added_up(self.snapshot.refs[index] for index in prefetched.maps_in(segment))
                self._in_fetched[segment] = found
            for sums, more in zip((taken, from_disk), found, strict=True):
                for node, size in more.items():
                    sums[node] = sums.get(node, 0.0) + size
        return self.sources.without(taken), self.on_disk.without(from_disk)
