"""Starts of executors, and how many have failed."""

from __future__ import annotations

from pyrite.ids import NodeId
from pyrite.schedule.commands import StartExecutor
from pyrite.schedule.turn import Turn

# After this many starts in a row without a task run, executors are assumed unable to start.
MOST_FAILED = 8


class Starts:
    """Replaces lost executors, until it seems that none can start."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._failed = 0
        self._given_up: list[StartExecutor] = []

    def work(self) -> None:
        """Resets the count of failed starts: an executor has run a task."""
        self._failed = 0

    def failed(self) -> None:
        self._failed += 1

    def replace(self, start: StartExecutor) -> bool:
        """Starts a replacement; returns False where too many starts have failed."""
        if self._failed < MOST_FAILED:
            self.turn.add(start)
            return True
        self._given_up.append(start)
        return False

    def try_again(self) -> None:
        """Retries the starts that were given up, for a new job."""
        if self._given_up:
            self._failed = 0
            for start in self._given_up:
                self.turn.add(start)
            self._given_up.clear()

    def forget_node(self, node: NodeId) -> None:
        self._given_up = [each for each in self._given_up if each.node != node]
