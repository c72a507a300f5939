"""Blocks of input files that tasks have left in their nodes' pools, by key (EclipseMR, iCache)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyrite.ids import BlockRef, NodeId


class CachedInputs:
    """Where each block is; a popular one may be on several nodes."""

    def __init__(self) -> None:
        self._refs: dict[NodeId, dict[int, BlockRef]] = {}
        self._in_segment: dict[str, tuple[NodeId, int]] = {}
        self._nodes: dict[int, dict[NodeId, None]] = {}

    def __iter__(self) -> Iterator[BlockRef]:
        return (ref for refs in self._refs.values() for ref in refs.values())

    def find(self, key: int, node: NodeId) -> BlockRef | None:
        return self._refs.get(node, {}).get(key)

    def on(self, node: NodeId) -> Collection[int]:
        """The keys of the blocks that a node has."""
        return self._refs.get(node, {}).keys()

    def nodes(self, key: int) -> Collection[NodeId]:
        """The nodes that have a block."""
        return self._nodes.get(key, {}).keys()

    def add(self, key: int, ref: BlockRef) -> bool:
        """Records a block; returns False where its node has it already."""
        refs = self._refs.setdefault(ref.node, {})
        if key in refs:
            return False
        refs[key] = ref
        self._in_segment[ref.segment] = ref.node, key
        self._nodes.setdefault(key, {})[ref.node] = None
        return True

    def forget(self, segment: str) -> None:
        """Forgets the block in a segment."""
        found = self._in_segment.pop(segment, None)
        if found is not None:
            node, key = found
            self._unlist(node, key)
            del self._refs[node][key]
            if not self._refs[node]:
                del self._refs[node]

    def forget_node(self, node: NodeId) -> None:
        for key, ref in self._refs.pop(node, {}).items():
            self._unlist(node, key)
            del self._in_segment[ref.segment]

    def _unlist(self, node: NodeId, key: int) -> None:
        del self._nodes[key][node]
        if not self._nodes[key]:
            del self._nodes[key]
