"""The tasks of one stage: the state of each, and the attempts at it."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrite.ids import ExecutorId, StageId
from pyrite.place.policy import Preferences
from pyrite.schedule.median import Median
from pyrite.schedule.queue import Load
from pyrite.schedule.rules import SpeculationRule
from pyrite.schedule.taskqueue import TaskQueue
from pyrite.schedule.taskstate import MOVES, TaskState

if TYPE_CHECKING:
    from pyrite.schedule.attempts import Attempt
    from pyrite.schedule.grouping import Inputs

WAITING, PENDING, RUNNING, SLOW, SPECULATED, DONE = TaskState


@dataclass(slots=True)
class Together:
    """By what it is decided whether some of a stage's tasks become one."""

    # What a partition takes, the last ones most; nothing until one is done.
    pace_s: float | None = None
    # What the tasks read, once that was asked for.
    inputs: Inputs | None = None
    weighed: bool = False
    # Whether some have become one.
    is_told: bool = False


class TaskSet:
    """Moves the tasks of a stage from state to state, as the table of moves allows."""

    def __init__(
        self,
        stage: StageId,
        partitions: Sequence[int],
        preferences: Preferences,
        slots: int,
        now_s: float,
        load: Load,
    ) -> None:
        self.stage = stage
        self.load = load
        self.total = len(partitions)
        self.queue = TaskQueue(preferences, slots, now_s)
        self.paused = False
        self.done = 0
        self.together = Together()
        self.count = 0
        self.failures: dict[int, int] = {}
        self.deaths: dict[int, int] = {}
        self.durations_s: list[float] = []
        self.usual_s = Median()
        # A task that is not listed is waiting.
        self._states: dict[int, TaskState] = {}
        self._running: dict[int, list[Attempt]] = {}
        self._attempts: dict[int, int] = {}
        self._slow: dict[int, None] = {}
        for partition in partitions:
            self.add(partition)

    # States

    def state(self, partition: int) -> TaskState:
        return self._states.get(partition, WAITING)

    def _move(self, partition: int, to: TaskState) -> None:
        before = self._states.get(partition, WAITING)
        assert to in MOVES[before], f"task {partition} is {before.value} and can't be {to.value}"
        self._states[partition] = to

    def is_pending(self, partition: int) -> bool:
        return partition in self.queue.pending

    def is_running(self, partition: int) -> bool:
        return partition in self._running

    @property
    def pending(self) -> Collection[int]:
        """The tasks that wait to be launched, in the order in which they were queued."""
        return self.queue.pending

    def running(self) -> list[Attempt]:
        """All attempts that are wanted; one may be at several partitions."""
        copies = self._running.values()
        return list(dict.fromkeys(attempt for each in copies for attempt in each))

    def attempts_of(self, partition: int) -> list[Attempt]:
        """The attempts at one partition that run and are wanted."""
        return list(self._running.get(partition, ()))

    def was_tried(self, partition: int) -> bool:
        return partition in self._attempts

    @property
    def has_work(self) -> bool:
        """Whether an executor could get a task now."""
        return not self.paused and bool(self.queue.pending or self._slow)

    @property
    def finished(self) -> bool:
        return not self.queue.pending and not self._running

    # Waiting for an executor

    def add(self, partition: int) -> None:
        """A task is to be launched: the first time, or again."""
        if partition not in self.queue.pending:
            self._move(partition, PENDING)
            self.queue.add(partition)

    def withdraw(self, partition: int) -> None:
        """A pending task is not to be launched now."""
        if partition in self.queue.pending:
            self._move(self.queue.take(partition), WAITING)

    def gives_any(self, now_s: float) -> bool:
        """Whether there is something that any executor may take."""
        return bool(self._slow) or self.queue.gives_any(now_s)

    def take_any(
        self, executor: ExecutorId, now_s: float, refused: Container[int] = ()
    ) -> int | None:
        """A pending task that any executor may take, or a slow one to be copied."""
        found = self.queue.take_any(now_s, refused)
        return found if found is not None else self._take_slow(executor, refused)

    def _take_slow(self, executor: ExecutorId, refused: Container[int]) -> int | None:
        for partition in self._slow:
            copies = self._running.get(partition, ())
            if len(copies) == 1 and copies[0].executor != executor and partition not in refused:
                del self._slow[partition]
                return partition
        return None

    # Attempts

    def launch(self, attempt: Attempt) -> None:
        """An attempt at tasks that left the queue, or a copy of a slow one, runs from now on."""
        is_copy = False
        for partition in attempt.wanted:
            copies = self._running.get(partition)
            if copies is None:
                self._running[partition] = [attempt]
                self._move(partition, RUNNING)
            else:
                copies.append(attempt)
                is_copy = True
                self._move(partition, SPECULATED)
        if not is_copy:
            self._count(attempt)

    def _count(self, attempt: Attempt) -> None:
        attempt.counts = True
        self.count += 1
        self.load.running += 1

    def next_number(self, partition: int) -> int:
        number = self._attempts.get(partition, 0)
        self._attempts[partition] = number + 1
        return number

    def finish(self, attempt: Attempt) -> None:
        """The attempt runs no more, whatever became of it."""
        if attempt.counts:
            attempt.counts = False
            self.count -= 1
            self.load.running -= 1
        for partition in attempt.wanted:
            copies = self._running.get(partition)
            if copies is not None and attempt in copies:
                copies.remove(attempt)
                if not copies:
                    del self._running[partition]
                    self._move(partition, WAITING)
                else:
                    self._move(partition, RUNNING)
                    if not any(each.counts for each in copies):
                        self._count(copies[0])
            self._slow.pop(partition, None)

    def succeed(self, attempt: Attempt, now_s: float) -> list[Attempt]:
        """Counts its partitions as done; gives the other attempts that are useless now."""
        useless = []
        for partition in attempt.wanted:
            self.done += 1
            if partition in self.queue.pending:
                self.queue.take(partition)
            for copy in self._running.pop(partition, ()):
                copy.wanted.remove(partition)
                if not copy.wanted:
                    useless.append(copy)
            self._move(partition, DONE)
        each_s = (now_s - attempt.started_s) / len(attempt.partitions)
        self.durations_s.append(each_s)
        pace_s = self.together.pace_s
        self.together.pace_s = each_s if pace_s is None else (pace_s + each_s) / 2
        return useless

    # Slow ones

    def find_slow(self, rule: SpeculationRule, now_s: float) -> bool:
        """Marks the stragglers that deserve a copy; True where there are some."""
        if self.done < rule.quantile * self.total or not self.done:
            return False
        for duration_s in self.durations_s:
            self.usual_s.add(duration_s)
        self.durations_s.clear()
        limit_s = max(rule.multiplier * self.usual_s.value, rule.least_s)
        for partition, copies in self._running.items():
            each_s = (now_s - copies[0].started_s) / len(copies[0].partitions)
            if len(copies) == 1 and each_s > limit_s:
                self.mark_slow(partition)
        return bool(self._slow)

    def mark_slow(self, partition: int) -> None:
        """The one attempt at the task takes so long that it deserves a copy."""
        if partition not in self._slow:
            self._move(partition, SLOW)
            self._slow[partition] = None
        self.queue.offer_again()
