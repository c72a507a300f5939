"""Every result is delivered once, and a job that succeeds has all of them."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import CheckFailed
from pyrite.ids import JobId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class Delivery:
    """Counts the results of each job."""

    def __init__(self) -> None:
        self.missing: dict[JobId, set[int]] = {}

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None:
        if isinstance(event, ev.JobSubmitted):
            self.missing[event.job.id] = set(event.job.partitions)
        for command in commands:
            if isinstance(command, do.DeliverResult):
                self._deliver(command)
            elif isinstance(command, do.FinishJob):
                missing = self.missing.pop(command.job, None)
                if missing is None:
                    raise CheckFailed(f"job {command.job} ended twice")
                if missing and command.error is None:
                    raise CheckFailed(f"job {command.job} ended well without {sorted(missing)}")

    def _deliver(self, command: do.DeliverResult) -> None:
        missing = self.missing.get(command.job)
        if missing is None:
            raise CheckFailed(f"a result of job {command.job} was delivered after its end")
        if command.partition not in missing:
            raise CheckFailed(f"partition {command.partition} of job {command.job} came twice")
        missing.remove(command.partition)
