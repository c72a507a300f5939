"""Deliberate bugs in how nodes leave."""

from __future__ import annotations

from collections import Counter
from typing import Any

from mutating import KEPT_ONLY, mutation

from pyrite.blocks.pool import Segment
from pyrite.schedule.commands import ReleaseNode
from pyrite.schedule.departures import Departures
from pyrite.schedule.recovery import Recovery
from pyrite.schedule.room import Room


@mutation(Recovery, "retire")
def a_leaving_node_gets_tasks(self: Recovery, executor: Any) -> None:
    pass


@mutation(Departures, "settle")
def a_node_leaves_while_its_tasks_run(self: Departures) -> None:
    for node in self.room.leaving:
        self.room.stop_clearing(node)
        self.turn.add(ReleaseNode(node))


@mutation(Departures, "_stays_for", within=KEPT_ONLY)
def a_node_leaves_with_outputs_that_can_not_be_made_alike(self: Departures, outputs: Any) -> bool:
    return False


is_needed = Room._is_needed


@mutation(Room, "_is_needed", within=KEPT_ONLY)
def a_node_leaves_with_results_beside_lost_outputs(
    self: Room, segment: Segment, lost: Counter[str]
) -> bool:
    return segment.name not in lost and is_needed(self, segment, lost)
