"""The desk: where the user's threads wait for their jobs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator

from pyrite.ids import BlockRef, JobId, StageId
from pyrite.schedule.commands import CountAccumulators, DeliverResult, FinishJob

Result = bytes | BlockRef | None


class Waiter:
    """One job's results as they come in."""

    def __init__(self, job: JobId) -> None:
        self.job = job
        self.stage = StageId(-1)
        self.results: deque[tuple[int, Result]] = deque()
        self.updates: list[bytes] = []
        self.error: Exception | None = None
        self.ended = False
        self.changed = threading.Condition()

    def wait(self) -> None:
        """Blocks until the job has ended."""
        with self.changed:
            while not self.ended:
                self.changed.wait()

    def wait_until(self, timeout_s: float) -> bool:
        """Blocks until the job has ended or the time is over; True when it has ended."""
        with self.changed:
            return self.changed.wait_for(lambda: self.ended, timeout_s)

    def each(self) -> Iterator[tuple[int, Result]]:
        """Results in the order of their arrival, until the job ends."""
        while True:
            with self.changed:
                while not self.results and not self.ended:
                    self.changed.wait()
                if not self.results:
                    return
                found = self.results.popleft()
            yield found


class Desk:
    """All jobs that a thread waits for."""

    def __init__(self) -> None:
        self.waiters: dict[JobId, Waiter] = {}
        self.end: Exception | None = None

    def open(self, job: JobId) -> Waiter:
        waiter = self.waiters[job] = Waiter(job)
        # Jobs may come while the engine ends, in another thread.
        if self.end is not None:
            self.perform(FinishJob(job, self.end))
        return waiter

    def close(self, job: JobId) -> None:
        self.waiters.pop(job, None)

    def perform(self, command: DeliverResult | CountAccumulators | FinishJob) -> None:
        waiter = self.waiters.get(command.job)
        if waiter is None:
            return
        match command:
            case CountAccumulators():
                waiter.updates.append(command.updates)
            case DeliverResult():
                waiter.results.append((command.partition, command.result))
            case FinishJob():
                with waiter.changed:
                    waiter.error = command.error
                    waiter.ended = True
                    waiter.changed.notify_all()
                return
        with waiter.changed:
            waiter.changed.notify_all()

    def fail_all(self, error: Exception) -> None:
        """The engine can't go on; nobody may wait for ever."""
        self.end = error
        for job in list(self.waiters):
            self.perform(FinishJob(job, error))
