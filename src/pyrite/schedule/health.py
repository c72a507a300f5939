"""Excludes executors that failed too often from a task, a stage, or the whole application."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pyrite.ids import ExecutorId, TaskKey


@dataclass(frozen=True, slots=True)
class ExclusionRule:
    """How often an executor may fail before it is excluded."""

    enabled: bool = False
    per_task: int = 1
    per_stage: int = 2
    per_application: int = 2
    timeout_s: float = 3600.0


class Health:
    """Counts failures by executor and decides where each may still run."""

    def __init__(self, rule: ExclusionRule) -> None:
        self.rule = rule
        self.stages: dict[int, dict[ExecutorId, dict[TaskKey, int]]] = {}
        self.recent: dict[ExecutorId, int] = {}
        self.failures: deque[tuple[float, ExecutorId]] = deque()
        # Increases whenever the set of usable executors may have shrunk.
        self.changes = 0

    def failed(self, stage: int, task: TaskKey, executor: ExecutorId, now_s: float) -> None:
        if not self.rule.enabled:
            return
        self.changes += 1
        counts = self.stages.setdefault(stage, {}).setdefault(executor, {})
        counts[task] = counts.get(task, 0) + 1
        self.recent[executor] = self.recent.get(executor, 0) + 1
        self.failures.append((now_s, executor))

    def forgive(self, now_s: float) -> bool:
        """Forgets expired failures; returns whether an executor is no longer excluded."""
        returned = False
        while self.failures and now_s - self.failures[0][0] >= self.rule.timeout_s:
            _, executor = self.failures.popleft()
            self.recent[executor] -= 1
            returned = returned or self.recent[executor] == self.rule.per_application - 1
            if not self.recent[executor]:
                del self.recent[executor]
        return returned

    def excluded(self, executor: ExecutorId) -> bool:
        """Whether the executor is excluded from the application."""
        return executor in self.recent and self.recent[executor] >= self.rule.per_application

    def excluded_from(self, stage: int, executor: ExecutorId) -> bool:
        """Whether the executor is excluded from this stage."""
        return len(self._counts(stage, executor)) >= self.rule.per_stage

    def refused(self, stage: int, executor: ExecutorId) -> Sequence[TaskKey]:
        """Returns the tasks of the stage that this executor may not try again."""
        counts = self._counts(stage, executor)
        if not counts:
            return ()
        return [task for task, count in counts.items() if count >= self.rule.per_task]

    def _counts(self, stage: int, executor: ExecutorId) -> dict[TaskKey, int]:
        found = self.stages.get(stage)
        return {} if found is None else found.get(executor, {})

    def forget_stage(self, stage: int) -> None:
        self.stages.pop(stage, None)

    def forget_executor(self, executor: ExecutorId) -> None:
        self.changes += 1
        if self.recent.pop(executor, None) is not None:
            self.failures = deque(each for each in self.failures if each[1] != executor)
        for executors in self.stages.values():
            executors.pop(executor, None)
