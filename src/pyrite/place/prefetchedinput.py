"""Placement policy: reducers run where their input was prefetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyrite.place.policy import Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class PrefetchedInput:
    """Prefers the executors of that node, and waits at most as long as fetching the input again
    takes."""

    def __init__(self, most_wait_s: float) -> None:
        self.most_wait_s = most_wait_s

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        prefetched = view.prefetched(stage.id)
        if not prefetched:
            return None
        executors = {node: view.executors_on(node) for node in dict.fromkeys(prefetched.values())}
        found = {
            index: executors[prefetched[index]]
            for index in partitions
            if index in prefetched and executors[prefetched[index]]
        }
        wait_s = min(self.most_wait_s, view.refetch_s(stage.id))
        return Preference(Strength.WAIT, executors=found, wait_s=wait_s)
