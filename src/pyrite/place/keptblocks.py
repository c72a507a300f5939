"""Placement policy: tasks run on the nodes that hold their kept blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyrite.ids import NodeId
from pyrite.place.policy import Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class KeptBlocks:
    """Prefers the node of a task's first kept block, without waiting: a remote read beats
    waiting."""

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        kept = view.block_rdds()
        if not kept or stage.shape.rdds.isdisjoint(kept):
            return None
        nodes: dict[int, NodeId] = {}
        for index in partitions:
            wanted = stage.shape.kept_partitions(index, kept, view.has_block)
            blocks = [ref for each in wanted if (ref := view.block(each)) is not None]
            if blocks:
                nodes[index] = blocks[0].node
        return Preference(Strength.NEAR, nodes=nodes)
