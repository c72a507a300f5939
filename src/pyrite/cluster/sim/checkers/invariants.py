"""The scheduler's own invariants, after every event."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.scheduler import Scheduler


class Invariants:
    """Asks the scheduler to look at itself."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        try:
            self.scheduler.check()
        except AssertionError as error:
            raise CheckFailed(f"after {type(event).__name__}: {error}") from error
