"""Executors that have to be started, and how often that failed."""

from __future__ import annotations

from pyrite.ids import NodeId
from pyrite.schedule.commands import StartExecutor
from pyrite.schedule.turn import Turn

# An executor that ends before it ran a task this often in a row will not start at all.
MOST_FAILED = 8


class Starts:
    """Replaces executors, until it seems that none can start."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._failed = 0
        self._given_up: list[StartExecutor] = []

    def work(self) -> None:
        """An executor has run a task: executors can start."""
        self._failed = 0

    def failed(self) -> None:
        self._failed += 1

    def replace(self, start: StartExecutor) -> bool:
        """Starts an executor in another's place; False where too many starts have failed."""
        if self._failed < MOST_FAILED:
            self.turn.add(start)
            return True
        self._given_up.append(start)
        return False

    def try_again(self) -> None:
        """A new job asks once more for executors that did not start."""
        if self._given_up:
            self._failed = 0
            for start in self._given_up:
                self.turn.add(start)
            self._given_up.clear()

    def forget_node(self, node: NodeId) -> None:
        self._given_up = [each for each in self._given_up if each.node != node]
