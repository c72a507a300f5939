"""Which nodes have copies of broadcasts, which others can take from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyrite.ids import BlockRef, NodeId

# So many nodes are named to one that needs a copy.
MOST_HOLDERS = 3


class CopyHolders:
    """The nodes that have a copy of each block of broadcasts that tasks need, in the order in which
    they got it."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[int, dict[NodeId, None]]] = {}
        self.told = 0

    def others(
        self, refs: Iterable[BlockRef], node: NodeId
    ) -> Iterator[tuple[str, int, list[NodeId]]]:
        """The holders to name to a node that runs a task with these blocks; each that asks begins
        with another."""
        for ref in refs:
            if ref.node == node:
                continue
            holders = self.nodes.setdefault(ref.segment, {}).setdefault(ref.offset, {})
            if holders and node not in holders:
                there = list(holders)
                start = self.told % len(there)
                self.told += MOST_HOLDERS
                chosen = (there[start:] + there[:start])[:MOST_HOLDERS]
                yield ref.segment, ref.offset, chosen

    def note(self, segment: str, offset: int, node: NodeId) -> None:
        """A node has a copy now; one of a block that was dropped is not counted."""
        holders = self.nodes.get(segment, {}).get(offset)
        if holders is not None:
            holders[node] = None

    def unknown(self, segments: Iterable[str]) -> list[str]:
        """Those of the segments that are gone: what any node has copied, some task has needed."""
        return [each for each in segments if each not in self.nodes]

    def forget(self, segments: Iterable[str]) -> None:
        """These segments are gone, and their copies with them."""
        for segment in segments:
            self.nodes.pop(segment, None)

    def forget_node(self, node: NodeId) -> None:
        for blocks in self.nodes.values():
            for holders in blocks.values():
                holders.pop(node, None)
