"""Placement policy: tasks run on the nodes that hold their kept blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyrite.ids import BlockRef, NodeId
from pyrite.place.policy import Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class KeptBlocks:
    """Prefers the node of a task's first kept partition, without waiting: a remote read beats
    waiting."""

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        kept = view.block_rdds()
        if not kept or stage.shape.rdds.isdisjoint(kept):
            return None
        nodes: dict[int, NodeId] = {}
        for index in partitions:
            wanted = stage.shape.kept_partitions(index, kept, view.has_blocks)
            blocks = next(filter(None, map(view.blocks, wanted)), ())
            if blocks:
                nodes[index] = fullest_node(blocks)
        return Preference(Strength.NEAR, nodes=nodes)


def fullest_node(blocks: Sequence[BlockRef]) -> NodeId:
    """The node that holds most bytes of a partition."""
    if len(blocks) == 1:
        return blocks[0].node
    sizes: dict[NodeId, int] = {}
    for ref in blocks:
        sizes[ref.node] = sizes.get(ref.node, 0) + ref.length
    return max(sizes, key=sizes.__getitem__)
