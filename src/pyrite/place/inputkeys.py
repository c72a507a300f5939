"""Placement policy: tasks run on the nodes whose ranges of keys include their input's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyrite.place.policy import Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class InputKeys:
    """Gives tasks to the ranges of their keys (EclipseMR, II-E), which move while they wait.

    With a wait, other executors may take a task only after it: forever in algorithm 1, and five
    seconds in the delay scheduling of II-F. Without one, an idle executor takes the waiting task
    that is nearest to its range.
    """

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        if not stage.shape.has_keys:
            return None
        found = {index: stage.shape.key(index) for index in partitions}
        keys = {index: key for index, key in found.items() if key is not None}
        strength = Strength.WAIT if self.wait_s else Strength.SHARE
        return Preference(strength, wait_s=self.wait_s, keys=keys)
