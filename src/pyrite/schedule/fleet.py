"""Executors that come and go."""

from __future__ import annotations

from pyrite.ids import (
    StageId,
)
from pyrite.schedule import events as ev
from pyrite.schedule import reports
from pyrite.schedule.commands import (
    ClearExecutor,
    StartExecutor,
)
from pyrite.schedule.outcomes import Outcomes
from pyrite.schedule.state import Executor
from pyrite.schedule.taskset import Attempt

# An executor that ends before it ran a task this often in a row will not start at all.
FAILED_STARTS = 8


class Fleet(Outcomes):
    """Keeps count of the executors, and redoes what a lost one was doing."""

    def _on_joined(self, event: ev.ExecutorJoined) -> None:
        slot = next((i for i, each in enumerate(self.slots) if each is None), len(self.slots))
        if slot == len(self.slots):
            self.slots.append(event.executor)
        else:
            self.slots[slot] = event.executor
        executor = Executor(event.executor, event.node, slot)
        self.executors[event.executor] = self.free[event.executor] = executor

    def _on_lost(self, event: ev.ExecutorLost) -> None:
        executor = self.executors.pop(event.executor, None)
        if executor is None:
            return
        self.slots[executor.slot] = None
        self.free.pop(executor.id, None)
        self.kept.forget_executor(executor.id)
        self.health.forget_executor(executor.id)
        self._drop(self.pool.seal(f"e{executor.id}"))
        # It may have been killed while it wrote what nobody will ask for.
        self.commands.append(ClearExecutor(executor.id, self.pool.written_by(f"e{executor.id}")))
        for run in self.runs.values():
            if run.tasks is not None:
                run.tasks.forget_executor(executor.id)
        if executor.attempt is not None:
            self._lose_attempt(executor.attempt, event.reason)
        elif executor.ran == 0:
            self.failed_starts += 1
        if self.failed_starts >= FAILED_STARTS:
            # The next job asks for them again.
            self.not_started.append(executor.id)
            for job in list(self.jobs.values()):
                self._end_job(job, reports.cannot_start(event.reason))
            return
        self.commands.append(StartExecutor(executor.id))

    def _lose_attempt(self, attempt: Attempt, reason: str) -> None:
        del self.attempts[attempt.id]
        tasks = attempt.tasks
        if tasks is None:
            return
        tasks.finish(attempt)
        run = self.runs.get(StageId(tasks.stage))
        if run is None:
            return
        deaths = tasks.deaths.get(attempt.partition, 0) + 1
        tasks.deaths[attempt.partition] = deaths
        if deaths >= self.rules.max_deaths:
            report = reports.executor_died(
                run.spec, attempt.partition, attempt.executor, deaths, reason
            )
            self._fail_stage(run, report)
        else:
            self._retry(run, tasks, attempt)
