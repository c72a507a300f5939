"""Placement policy: tasks run on the executors that hold the live rows they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyrite.ids import ExecutorId
from pyrite.place.policy import Preference, Strength, View

if TYPE_CHECKING:
    from pyrite.plan.stages import StageSpec


class LiveRows:
    """Prefers the executors with most of a task's kept partitions, and waits for them: live rows
    can't be fetched."""

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s

    def prefer(self, stage: StageSpec, partitions: Sequence[int], view: View) -> Preference | None:
        live = view.live_rdds()
        if stage.shape.rdds.isdisjoint(live):
            return None
        found: dict[int, Sequence[ExecutorId]] = {}
        for index in partitions:
            holders: list[ExecutorId] = []
            for partition in stage.shape.kept_partitions(index, live, view.is_live):
                holders += view.holders(partition)
            if holders:
                best = max(map(holders.count, holders))
                found[index] = [
                    each for each in dict.fromkeys(holders) if holders.count(each) == best
                ]
        return Preference(Strength.WAIT, executors=found, wait_s=self.wait_s)
