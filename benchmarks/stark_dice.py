"""The baseline of Stark's figures: partitions lie where dice say, as Spark scatters them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pyrite.ids import NodeId
from pyrite.place.keptblocks import KeptBlocks
from pyrite.place.liverows import LiveRows
from pyrite.place.policy import Policy, Preference, Strength, View
from pyrite.plan.stages import StageSpec


class DiceHomes:
    """Prefers a node by chance for each task, the same for each partition of a stage."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        nodes: list[NodeId] = sorted(view.nodes())
        if not nodes:
            return None
        dice = Random(f"{self.seed} {stage.id}")
        chosen = [dice.choice(nodes) for _ in range(stage.partitions)]
        return Preference(Strength.SHARE, nodes={index: chosen[index] for index in partitions})


def by_dice(wait_s: float) -> tuple[Policy, ...]:
    """The policies of Spark: where kept rows are, else anywhere."""
    return LiveRows(wait_s), KeptBlocks(), DiceHomes()
