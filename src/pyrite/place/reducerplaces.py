"""Placement policy: reducers run on the nodes that SCache's algorithms chose for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyrite.place.policy import Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class ReducerPlaces:
    """Prefers the node on which a reducer was placed by its input."""

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        places = view.reducer_places(stage.id)
        nodes = {index: places[index] for index in partitions if index in places}
        return Preference(Strength.SHARE, nodes=nodes) if nodes else None
