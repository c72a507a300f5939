"""The tasks of one stage: the state of each, and the attempts at it."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrite.ids import ExecutorId, StageId, TaskKey
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
class GroupingState:
    """What the grouping of a stage's tasks is based on."""

    # Moving average of a task's duration; None until one is done.
    pace_s: float | None = None
    # The tasks' input sizes, once `weighed`.
    inputs: Inputs | None = None
    weighed: bool = False
    # Whether a group was recorded in the story.
    is_recorded: bool = False


class TaskSet:
    """Tracks the state of each task; the table of moves lists all transitions."""

    def __init__(
        self,
        stage: StageId,
        keys: Sequence[TaskKey],
        preferences: Preferences,
        slots: int,
        now_s: float,
        load: Load,
    ) -> None:
        self.stage = stage
        self.load = load
        self.total = len(keys)
        self.queue = TaskQueue(preferences, slots, now_s)
        self.paused = False
        self.done = 0
        self.together = GroupingState()
        self.count = 0
        self.failures: dict[TaskKey, int] = {}
        self.deaths: dict[TaskKey, int] = {}
        self.durations_s: list[float] = []
        self.usual_s = Median()
        # A task that is not listed is waiting.
        self._states: dict[TaskKey, TaskState] = {}
        self._running: dict[TaskKey, list[Attempt]] = {}
        self._attempts: dict[TaskKey, int] = {}
        self._slow: dict[TaskKey, None] = {}
        for task in keys:
            self.add(task)

    # States

    def state(self, task: TaskKey) -> TaskState:
        return self._states.get(task, WAITING)

    def _move(self, task: TaskKey, to: TaskState) -> None:
        before = self._states.get(task, WAITING)
        assert to in MOVES[before], f"task {task} is {before.value} and can't be {to.value}"
        self._states[task] = to

    def is_pending(self, task: TaskKey) -> bool:
        return task in self.queue.pending

    def is_running(self, task: TaskKey) -> bool:
        return task in self._running

    @property
    def pending(self) -> Collection[TaskKey]:
        """The pending tasks, in the order in which they were queued."""
        return self.queue.pending

    @property
    def slow(self) -> Collection[TaskKey]:
        """The running tasks that wait for an executor to run a copy of them."""
        return self._slow

    def running(self) -> list[Attempt]:
        """Returns all running attempts; one may compute several tasks."""
        copies = self._running.values()
        return list(dict.fromkeys(attempt for each in copies for attempt in each))

    def attempts_of(self, task: TaskKey) -> list[Attempt]:
        """Returns the running attempts at one task."""
        return list(self._running.get(task, ()))

    def was_tried(self, task: TaskKey) -> bool:
        return task in self._attempts

    @property
    def has_work(self) -> bool:
        """Whether a task could be launched now."""
        return not self.paused and bool(self.queue.pending or self._slow)

    @property
    def finished(self) -> bool:
        return not self.queue.pending and not self._running

    # Waiting for an executor

    def add(self, task: TaskKey) -> None:
        """Queues a task, for the first time or again."""
        if task not in self.queue.pending:
            self._move(task, PENDING)
            self.queue.add(task)

    def withdraw(self, task: TaskKey) -> None:
        """Takes a pending task out of the queue."""
        if task in self.queue.pending:
            self._move(self.queue.take(task), WAITING)

    def gives_any(self, now_s: float) -> bool:
        """Whether there is a task that any executor may take."""
        return bool(self._slow) or self.queue.gives_any(now_s)

    def take_any(
        self, executor: ExecutorId, now_s: float, refused: Container[TaskKey] = ()
    ) -> TaskKey | None:
        """Takes a pending task that any executor may take, or a slow one to copy."""
        found = self.queue.take_any(executor, now_s, refused)
        return found if found is not None else self._take_slow(executor, refused)

    def _take_slow(self, executor: ExecutorId, refused: Container[TaskKey]) -> TaskKey | None:
        for task in self._slow:
            copies = self._running.get(task, ())
            if len(copies) == 1 and copies[0].executor != executor and task not in refused:
                del self._slow[task]
                return task
        return None

    # Attempts

    def launch(self, attempt: Attempt) -> None:
        """Records the start of an attempt at tasks taken from the queue, or of a copy of a slow
        task."""
        is_copy = False
        for task in attempt.wanted:
            copies = self._running.get(task)
            if copies is None:
                self._running[task] = [attempt]
                self._move(task, RUNNING)
            else:
                copies.append(attempt)
                is_copy = True
                self._move(task, SPECULATED)
        if not is_copy:
            self._count(attempt)

    def _count(self, attempt: Attempt) -> None:
        attempt.counts = True
        self.count += 1
        self.load.running += 1

    def next_number(self, task: TaskKey) -> int:
        number = self._attempts.get(task, 0)
        self._attempts[task] = number + 1
        return number

    def finish(self, attempt: Attempt) -> None:
        """Records the end of an attempt, whatever its outcome."""
        if attempt.counts:
            attempt.counts = False
            self.count -= 1
            self.load.running -= 1
        for task in attempt.wanted:
            copies = self._running.get(task)
            if copies is not None and attempt in copies:
                copies.remove(attempt)
                if not copies:
                    del self._running[task]
                    self._move(task, WAITING)
                else:
                    self._move(task, RUNNING)
                    if not any(each.counts for each in copies):
                        self._count(copies[0])
            self._slow.pop(task, None)

    def succeed(self, attempt: Attempt, now_s: float) -> list[Attempt]:
        """Marks an attempt's tasks as done; returns the attempts that are useless now."""
        useless = []
        for task in attempt.wanted:
            self.done += 1
            if task in self.queue.pending:
                self.queue.take(task)
            for copy in self._running.pop(task, ()):
                copy.wanted.remove(task)
                if not copy.wanted:
                    useless.append(copy)
            self._move(task, DONE)
        each_s = (now_s - attempt.started_s) / len(attempt.keys)
        self.durations_s.append(each_s)
        pace_s = self.together.pace_s
        self.together.pace_s = each_s if pace_s is None else (pace_s + each_s) / 2
        return useless

    # Speculation

    def find_slow(self, rule: SpeculationRule, now_s: float) -> bool:
        """Marks stragglers; returns whether there are any."""
        if self.done < rule.quantile * self.total or not self.done:
            return False
        for duration_s in self.durations_s:
            self.usual_s.add(duration_s)
        self.durations_s.clear()
        limit_s = max(rule.multiplier * self.usual_s.value, rule.least_s)
        for task, copies in self._running.items():
            each_s = (now_s - copies[0].started_s) / len(copies[0].keys)
            if len(copies) == 1 and each_s > limit_s:
                self.mark_slow(task)
        return bool(self._slow)

    def mark_slow(self, task: TaskKey) -> None:
        """Marks a running task as slow: it may get a copy."""
        if task not in self._slow:
            self._move(task, SLOW)
            self._slow[task] = None
        self.queue.offer_again()
