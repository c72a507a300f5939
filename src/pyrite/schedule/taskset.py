"""The tasks of one stage that still have to run, and which of them an executor gets next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrite.ids import ExecutorId, StageId
from pyrite.place.policy import Preferences
from pyrite.schedule.median import Median
from pyrite.schedule.queue import Load
from pyrite.schedule.rules import SpeculationRule
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
    """The tasks of one stage: the state of each, and queues of those that wait to be launched.

    Delay scheduling: a task that prefers some executors waits for them a while. One that prefers
    none has a home, the slot that a placement policy or its index gives it, so that partition i of
    co-partitioned RDDs meets its kin on one executor; any idle executor may still take it.
    """

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
        self.wait_s = preferences.wait_s
        self.local_at_s = now_s
        self.paused = False
        self.done = 0
        self.together = Together()
        self.count = 0
        # A task that is not listed is waiting.
        self._states: dict[int, TaskState] = {}
        self._running: dict[int, list[Attempt]] = {}
        self._attempts: dict[int, int] = {}
        self.failures: dict[int, int] = {}
        self.deaths: dict[int, int] = {}
        self.durations_s: list[float] = []
        self.usual_s = Median()
        self._slow: dict[int, None] = {}
        self._preferences = dict(preferences.executors)
        self._preferring: dict[ExecutorId, list[int]] = {}
        self._pending: dict[int, None] = {}
        # Those pending tasks that any executor may take.
        self._anywhere: dict[int, None] = {}
        self._by_executor: dict[ExecutorId, deque[int]] = {}
        self.slots = max(1, slots)
        # The slots of partitions whose home is not the one that their index says.
        self._near = preferences.homes
        self._homes: dict[int, deque[int]] = {}
        # Executors that became free no later than this one have no task of their own here, but
        # for the unasked; before the first round these are all there are.
        self.asked: int | None = None
        self.unasked: list[int] = []
        # Executors that became free no later than this one may take nothing of what any may take.
        self.offered = 0
        self.offered_all = False
        self.wakes_at_s = now_s
        # When it was last judged whether some executor may try each task that waits.
        self.judged: tuple[int, int] | None = None
        for partition, preferred in self._preferences.items():
            for executor in preferred:
                self._preferring.setdefault(executor, []).append(partition)
        for partition in partitions:
            self.queue(partition)

    # States

    def state(self, partition: int) -> TaskState:
        return self._states.get(partition, WAITING)

    def _move(self, partition: int, to: TaskState) -> None:
        before = self._states.get(partition, WAITING)
        assert to in MOVES[before], f"task {partition} is {before.value} and can't be {to.value}"
        self._states[partition] = to

    def is_pending(self, partition: int) -> bool:
        return partition in self._pending

    def is_running(self, partition: int) -> bool:
        return partition in self._running

    @property
    def pending(self) -> Collection[int]:
        """The tasks that wait to be launched, in the order in which they were queued."""
        return self._pending.keys()

    def running(self) -> list[Attempt]:
        """All attempts that are wanted; one may be at several partitions."""
        copies = self._running.values()
        return list(dict.fromkeys(attempt for each in copies for attempt in each))

    def attempts_of(self, partition: int) -> list[Attempt]:
        """The attempts at one partition that run and are wanted."""
        return list(self._running.get(partition, ()))

    def was_tried(self, partition: int) -> bool:
        return partition in self._attempts

    # Queues

    def queue(self, partition: int) -> None:
        """A task waits to be launched: the first time, or again."""
        if partition in self._pending:
            return
        self._move(partition, PENDING)
        self._pending[partition] = None
        self.offered = 0
        self.judged = None
        preferred = self._preferences.get(partition)
        if preferred:
            self.unasked.append(partition)
            for executor in preferred:
                self._by_executor.setdefault(executor, deque()).append(partition)
        else:
            self._add_anywhere(partition)

    def _add_anywhere(self, partition: int) -> None:
        self.offered = 0
        self.unasked.append(partition)
        self._anywhere[partition] = None
        home = self._home(partition)
        if home in self._homes:
            self._homes[home].append(partition)
        else:
            self._homes[home] = deque((partition,))

    def _home(self, partition: int) -> int:
        return self._near.get(partition, partition % self.slots)

    def take(self, partition: int) -> int:
        """The partition leaves the queues: it is about to be launched, or needs not be."""
        del self._pending[partition]
        self._anywhere.pop(partition, None)
        return partition

    def withdraw(self, partition: int) -> None:
        """A pending task is not to be launched now."""
        if partition in self._pending:
            self._move(self.take(partition), WAITING)

    def forget_executor(self, executor: ExecutorId) -> None:
        """Tasks that preferred a lost executor go wherever there is room."""
        self._by_executor.pop(executor, None)
        # All that preferred it, not just those that wait: a running one may come back.
        for partition in self._preferring.pop(executor, ()):
            left = [each for each in self._preferences[partition] if each != executor]
            if left:
                self._preferences[partition] = left
            else:
                del self._preferences[partition]
                if partition in self._pending:
                    self._add_anywhere(partition)

    def all_asked(self, freed: int) -> None:
        """Whoever became free until now has nothing of their own among the tasks that wait."""
        self.asked = freed
        self.unasked.clear()

    def ask_all_again(self) -> None:
        """Executors that were left out may take part again."""
        self.asked = self.offered = 0

    def offered_before(self, now_s: float) -> int:
        """Who became free up to then was offered all that any may take now, and took nothing."""
        return self.offered if self.offered_all or not self._waited(now_s) else 0

    def all_offered(self, freed: int, now_s: float) -> None:
        """Whoever became free until now may take nothing: they are left out, or refuse it."""
        self.offered = freed
        self.offered_all = self._waited(now_s)

    def _waited(self, now_s: float) -> bool:
        """Whether tasks that prefer someone may run anywhere."""
        return now_s >= self.local_at_s + self.wait_s

    def take_own(
        self, executor: ExecutorId, slot: int, now_s: float, refused: Container[int] = ()
    ) -> int | None:
        """A partition that belongs to this executor: its rows are kept there, or its home is."""
        found = self._pop(self._by_executor.get(executor), refused)
        if found is not None:
            self.local_at_s = now_s
            return found
        return self._pop(self._homes.get(slot % self.slots), refused)

    def gives_any(self, now_s: float) -> bool:
        """Whether there is something that any executor may take."""
        if self._anywhere or self._slow:
            return True
        return bool(self._pending) and self._waited(now_s)

    def take_any(
        self, executor: ExecutorId, now_s: float, refused: Container[int] = ()
    ) -> int | None:
        """A partition that the executor may compute although others would be better placed."""
        found = self._take_last(self._anywhere, refused)
        if found is None and self._waited(now_s):
            found = self._take_last(self._pending, refused)
        return found if found is not None else self._take_slow(executor, refused)

    def waits_until_s(self) -> float | None:
        """When tasks that wait for their preferred executor may run elsewhere."""
        if self.paused or len(self._pending) == len(self._anywhere):
            return None
        return self.local_at_s + self.wait_s

    def owners(self, partition: int, slots: Sequence[ExecutorId | None]) -> Iterator[ExecutorId]:
        """The executors that the partition belongs to."""
        preferred = self._preferences.get(partition)
        if preferred:
            yield from preferred
        else:
            for slot in range(self._home(partition), len(slots), self.slots):
                if (executor := slots[slot]) is not None:
                    yield executor

    def _pop(self, queue: deque[int] | None, refused: Container[int]) -> int | None:
        skipped = []
        found = None
        while queue:
            partition = queue.popleft()
            if partition not in self._pending:
                continue
            if partition in refused:
                skipped.append(partition)
                continue
            found = self.take(partition)
            break
        if skipped and queue is not None:
            queue.extend(skipped)
        return found

    def _take_last(self, queue: dict[int, None], refused: Container[int]) -> int | None:
        """From the far end, which the partition's own executor would reach last."""
        skipped = []
        found = None
        while queue and found is None:
            # Not by iterating, which would pass over all that was ever deleted there.
            partition, _ = queue.popitem()
            if partition in refused:
                skipped.append(partition)
            else:
                found = partition
        queue.update(dict.fromkeys(reversed(skipped)))
        if found is not None:
            self._pending.pop(found, None)
            self._anywhere.pop(found, None)
        return found

    def _take_slow(self, executor: ExecutorId, refused: Container[int]) -> int | None:
        for partition in self._slow:
            copies = self._running.get(partition, ())
            if len(copies) == 1 and copies[0].executor != executor and partition not in refused:
                del self._slow[partition]
                return partition
        return None

    def take_more(self, slot: int | None, most: int, takes: Callable[[int], bool]) -> Iterator[int]:
        """Further partitions for one task, until one does not suit: those whose home the slot is,
        or from the far end of what any executor may take."""
        home = None if slot is None else self._homes.get(slot % self.slots)
        for _ in range(most):
            found = self._last_anywhere() if slot is None else self._first_of(home)
            if found is None or not takes(found):
                return
            yield self.take(found)

    def _first_of(self, queue: deque[int] | None) -> int | None:
        while queue:
            if queue[0] in self._pending:
                return queue[0]
            queue.popleft()
        return None

    def _last_anywhere(self) -> int | None:
        if not self._anywhere:
            return None
        partition, _ = self._anywhere.popitem()
        self._anywhere[partition] = None
        return partition

    # Attempts

    def launch(self, attempt: Attempt) -> None:
        """An attempt at tasks that left the queues, or a copy of a slow one, runs from now on."""
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
            if partition in self._pending:
                self.take(partition)
            for copy in self._running.pop(partition, ()):
                copy.wanted.remove(partition)
                if not copy.wanted:
                    useless.append(copy)
            self._move(partition, DONE)
        each_s = (now_s - attempt.started_s) / (1 + len(attempt.also))
        self.durations_s.append(each_s)
        pace_s = self.together.pace_s
        self.together.pace_s = each_s if pace_s is None else (pace_s + each_s) / 2
        return useless

    @property
    def has_work(self) -> bool:
        """Whether an executor could get a task now."""
        return not self.paused and bool(self._pending or self._slow)

    @property
    def finished(self) -> bool:
        return not self._pending and not self._running

    def find_slow(self, rule: SpeculationRule, now_s: float) -> bool:
        """Marks the stragglers that deserve a copy; True where there are some."""
        if self.done < rule.quantile * self.total or not self.done:
            return False
        for duration_s in self.durations_s:
            self.usual_s.add(duration_s)
        self.durations_s.clear()
        limit_s = max(rule.multiplier * self.usual_s.value, rule.least_s)
        for partition, copies in self._running.items():
            each_s = (now_s - copies[0].started_s) / (1 + len(copies[0].also))
            if len(copies) == 1 and each_s > limit_s:
                self.mark_slow(partition)
        return bool(self._slow)

    def mark_slow(self, partition: int) -> None:
        """The one attempt at the task takes so long that it deserves a copy."""
        if partition not in self._slow:
            self._move(partition, SLOW)
            self._slow[partition] = None
        self.offered = 0
