"""Placement policy: tasks run on the nodes that their operators prefer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyrite.ids import NodeId
from pyrite.place.policy import Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class PreferredLocations:
    """Prefers the first node with executors among its operators' preferred locations."""

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        if not stage.shape.has_locations:
            return None
        nodes_with_executors = view.nodes()
        nodes: dict[int, NodeId] = {}
        for index in partitions:
            named = stage.shape.preferred_locations(index)
            found = next((each for each in named if each in nodes_with_executors), None)
            if found is not None:
                nodes[index] = NodeId(found)
        return Preference(Strength.NEAR, nodes=nodes)
