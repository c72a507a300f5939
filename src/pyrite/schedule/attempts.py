"""Attempts: running tasks, each on one executor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyrite.ids import AttemptId, BlockRef, ExecutorId, Partition, TaskKey
from pyrite.probe import probe
from pyrite.schedule.commands import CancelTask, KillExecutor
from pyrite.schedule.rules import Rules
from pyrite.schedule.taskinputs import InputBlock, Prefetched
from pyrite.schedule.timer import CancelGrace
from pyrite.schedule.turn import Turn

if TYPE_CHECKING:
    from pyrite.schedule.taskset import TaskSet


@dataclass(slots=True, eq=False)
class Attempt:
    """One try at a task on one executor: at one partition, or at several tiny ones."""

    id: AttemptId
    # The task set that it belongs to; None once its result is not needed.
    tasks: TaskSet | None
    keys: tuple[TaskKey, ...]
    executor: ExecutorId
    number: int
    started_s: float
    # The blocks of kept partitions that it reads.
    blocks: tuple[tuple[Partition, BlockRef], ...] = ()
    # The prefetched segments that it reads.
    prefetched: tuple[Prefetched, ...] = ()
    # The blocks of input files that it may read from a pool.
    cached: tuple[InputBlock, ...] = ()
    # Its tasks that no other attempt has completed.
    wanted: list[TaskKey] = field(init=False)
    # Whether its scheduler pool counts it: one attempt per running task counts.
    counts: bool = False

    def __post_init__(self) -> None:
        self.wanted = list(self.keys)

    def segments(self) -> list[str]:
        """Returns the names of the segments that it reads."""
        if not self.blocks and not self.prefetched and not self.cached:
            return []
        named = [ref.segment for _, ref in self.blocks]
        named += [ref.segment for _, ref in self.cached if ref is not None]
        return named + [name for each in self.prefetched for name in each.segments]


class Attempts:
    """All attempts whose end their executors have not reported."""

    def __init__(self, turn: Turn, rules: Rules) -> None:
        self.turn = turn
        self.rules = rules
        self._attempts: dict[AttemptId, Attempt] = {}
        self._next = 0

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._attempts.values())

    def __len__(self) -> int:
        return len(self._attempts)

    def get(self, attempt: AttemptId) -> Attempt | None:
        return self._attempts.get(attempt)

    def next_id(self) -> AttemptId:
        self._next += 1
        return AttemptId(self._next - 1)

    def add(self, attempt: Attempt) -> None:
        self._attempts[attempt.id] = attempt

    def remove(self, attempt: AttemptId) -> Attempt | None:
        """Removes an attempt that has ended, whatever its outcome."""
        return self._attempts.pop(attempt, None)

    def cancel(self, attempt: Attempt) -> None:
        """Cancels an attempt whose result is not needed; its executor stays busy until it reports
        the end."""
        if attempt.tasks is not None:
            attempt.tasks.finish(attempt)
            attempt.tasks = None
        self.turn.add(CancelTask(attempt.id, attempt.executor))
        self.turn.set_timer(CancelGrace(attempt.id), self.rules.cancel_grace_s)

    def on_grace_over(self, timer: CancelGrace) -> None:
        """Kills the executor of a cancelled attempt that still runs."""
        found = self._attempts.get(timer.attempt)
        if found is not None:
            probe("a cancelled task does not react")
            self.turn.add(KillExecutor(found.executor, "its task did not react to cancellation"))
