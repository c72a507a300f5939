"""Speculation: slow tasks get a second attempt on another executor."""

from __future__ import annotations

from pyrite.schedule.queue import StageQueue
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun, Stages
from pyrite.schedule.timer import SpeculationCheck
from pyrite.schedule.turn import Turn


class Speculation:
    """Checks for slow tasks periodically while there is a job."""

    def __init__(
        self, turn: Turn, rules: Rules, stages: Stages, queue: StageQueue[StageRun]
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.stages = stages
        self.queue = queue
        self._watches = False

    def watch(self) -> None:
        """Starts the periodic check for a new job."""
        if self.rules.speculation is not None and not self._watches:
            self._watches = True
            self.turn.set_timer(SpeculationCheck(), self.rules.speculation_interval_s)

    def look(self, timer: SpeculationCheck) -> None:
        """Marks slow tasks; a free executor may then take a copy of one."""
        self._watches = bool(self.stages)
        if not self.stages or self.rules.speculation is None:
            return
        for run in self.stages:
            if run.tasks is None or run.spec.barrier:
                continue
            if run.tasks.find_slow(self.rules.speculation, self.turn.now_s):
                self.queue.add(run)
        self.turn.set_timer(SpeculationCheck(), self.rules.speculation_interval_s)
