"""Attempts: tasks that run, each on one executor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyrite.ids import AttemptId, BlockRef, ExecutorId, Partition, TaskKey
from pyrite.probe import probe
from pyrite.schedule.commands import CancelTask, KillExecutor, Prefetched
from pyrite.schedule.rules import Rules
from pyrite.schedule.timer import CancelGrace
from pyrite.schedule.turn import Turn

if TYPE_CHECKING:
    from pyrite.schedule.taskset import TaskSet


@dataclass(slots=True, eq=False)
class Attempt:
    """One try at a task on one executor: at one partition, or at several tiny ones."""

    id: AttemptId
    # The tasks that it is one of; None once nobody wants its result.
    tasks: TaskSet | None
    keys: tuple[TaskKey, ...]
    executor: ExecutorId
    number: int
    started_s: float
    # The kept partitions that it was told to read.
    blocks: tuple[tuple[Partition, BlockRef], ...] = ()
    # What was prefetched for it.
    prefetched: tuple[Prefetched, ...] = ()
    # Those of its tasks that no copy has done meanwhile.
    wanted: list[TaskKey] = field(init=False)
    # Whether its pool's load counts it: of the copies of a partition one does.
    counts: bool = False

    def __post_init__(self) -> None:
        self.wanted = list(self.keys)

    def segments(self) -> list[str]:
        """Those that it was told to read."""
        if not self.blocks and not self.prefetched:
            return []
        named = [ref.segment for _, ref in self.blocks]
        return named + [name for each in self.prefetched for name in each.segments]


class Attempts:
    """All attempts whose executors have not said how they ended."""

    def __init__(self, turn: Turn, rules: Rules) -> None:
        self.turn = turn
        self.rules = rules
        self._attempts: dict[AttemptId, Attempt] = {}
        self._next = 0

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._attempts.values())

    def get(self, attempt: AttemptId) -> Attempt | None:
        return self._attempts.get(attempt)

    def next_id(self) -> AttemptId:
        self._next += 1
        return AttemptId(self._next - 1)

    def add(self, attempt: Attempt) -> None:
        self._attempts[attempt.id] = attempt

    def remove(self, attempt: AttemptId) -> Attempt | None:
        """The attempt runs no more, whatever became of it."""
        return self._attempts.pop(attempt, None)

    def cancel(self, attempt: Attempt) -> None:
        """Ends an attempt whose result nobody wants; its executor stays busy until it says so."""
        if attempt.tasks is not None:
            attempt.tasks.finish(attempt)
            attempt.tasks = None
        self.turn.add(CancelTask(attempt.id, attempt.executor))
        self.turn.set_timer(CancelGrace(attempt.id), self.rules.cancel_grace_s)

    def on_grace_over(self, timer: CancelGrace) -> None:
        """A cancelled attempt that still runs is ended with its executor."""
        found = self._attempts.get(timer.attempt)
        if found is not None:
            probe("a cancelled task does not react")
            self.turn.add(KillExecutor(found.executor, "its task did not react to cancellation"))
