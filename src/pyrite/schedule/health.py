"""Executors that failed too often are left out, for a task, a stage, or the whole application."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import ExecutorId


@dataclass(frozen=True, slots=True)
class ExclusionRule:
    """How often an executor may fail before it is left out."""

    enabled: bool = False
    per_task: int = 1
    per_stage: int = 2
    per_application: int = 2
    timeout_s: float = 3600.0


class Health:
    """Counts failures by executor and says where an executor may still be used."""

    def __init__(self, rule: ExclusionRule) -> None:
        self.rule = rule
        self.tasks: dict[tuple[int, ExecutorId], dict[int, int]] = {}
        self.recent: dict[ExecutorId, list[float]] = {}

    def failed(self, stage: int, partition: int, executor: ExecutorId, now_s: float) -> None:
        if not self.rule.enabled:
            return
        counts = self.tasks.setdefault((stage, executor), {})
        counts[partition] = counts.get(partition, 0) + 1
        self.recent.setdefault(executor, []).append(now_s)

    def excluded(self, executor: ExecutorId, now_s: float) -> bool:
        """Whether the executor is left out of everything."""
        times = self.recent.get(executor)
        if not times:
            return False
        recent = [at_s for at_s in times if now_s - at_s < self.rule.timeout_s]
        self.recent[executor] = recent
        return len(recent) >= self.rule.per_application

    def excluded_from(self, stage: int, executor: ExecutorId) -> bool:
        """Whether the executor is left out of this stage."""
        return len(self.tasks.get((stage, executor), ())) >= self.rule.per_stage

    def refused(self, stage: int, executor: ExecutorId) -> list[int]:
        """The partitions of the stage that this executor may not try again."""
        counts = self.tasks.get((stage, executor))
        if not counts:
            return []
        return [index for index, count in counts.items() if count >= self.rule.per_task]

    def forget_stage(self, stage: int) -> None:
        for key in [key for key in self.tasks if key[0] == stage]:
            del self.tasks[key]

    def forget_executor(self, executor: ExecutorId) -> None:
        self.recent.pop(executor, None)
        for key in [key for key in self.tasks if key[1] == executor]:
            del self.tasks[key]
