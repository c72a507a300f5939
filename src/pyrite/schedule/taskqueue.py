"""The pending tasks of one stage, and which of them an executor gets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from math import inf

from pyrite.ids import ExecutorId, PieceId, TaskKey
from pyrite.place.policy import Preferences
from pyrite.schedule.rangedtasks import RangedTasks


class TaskQueue:
    """Delay scheduling: a task waits a while for the executors that it prefers.

    A task without preferences has a home: the slot that a placement policy chose, or that its index
    gives. So partition i of co-partitioned RDDs runs on one executor; any idle executor may still
    take it.
    """

    def __init__(self, preferences: Preferences, slots: int, now_s: float) -> None:
        self.pending: dict[TaskKey, None] = {}
        self.slots = max(1, slots)
        self._wait_s = preferences.wait_s
        self._local_at_s = now_s
        self._oldest_first = bool(preferences.groups)
        # Pending tasks that any executor may take.
        self._anywhere: dict[TaskKey, None] = {}
        self._preferences: dict[TaskKey, Sequence[ExecutorId]] = {}
        self._preferences.update(preferences.executors.items())
        self._preferring: dict[ExecutorId, list[TaskKey]] = {}
        self._by_executor: dict[ExecutorId, deque[TaskKey]] = {}
        # Home slots that differ from what the index gives.
        self._assigned_homes = preferences.homes
        self._homes: dict[int, deque[TaskKey]] = {}
        # Tasks that go by ranges of keys; whether other executors wait before they take them.
        self.ranged: RangedTasks | None = None
        if preferences.ranges is not None and preferences.keys:
            self.ranged = RangedTasks(preferences.keys, preferences.ranges)
        self._ranged_wait = preferences.keys_wait
        self._taken: set[TaskKey] = set()
        # Executors released up to this release have no own task here except among `unasked`; None
        # before the first round, when all tasks are unasked.
        self.asked: int | None = None
        self.unasked: list[TaskKey] = []
        # Executors released up to this release can take none of the tasks that any may take.
        self._offered = 0
        self._offered_all = False
        self.wakes_at_s = now_s
        # Health and size of the fleet when tasks were last checked for an executor that may run
        # them.
        self.judged: tuple[int, int] | None = None
        for task, preferred in self._preferences.items():
            for executor in preferred:
                self._preferring.setdefault(executor, []).append(task)

    # Adding and removing

    def add(self, task: TaskKey) -> None:
        self.pending[task] = None
        self._offered = 0
        self.judged = None
        preferred = self._preferences.get(task)
        if preferred:
            self.unasked.append(task)
            for executor in preferred:
                self._by_executor.setdefault(executor, deque()).append(task)
        else:
            self._add_unpreferring(task)

    def _add_unpreferring(self, task: TaskKey) -> None:
        self._offered = 0
        self.unasked.append(task)
        is_ranged = self.ranged is not None and self.ranged.has_key(task)
        # One that was tried may be refused where its range is.
        if not is_ranged or not self._ranged_wait or task in self._taken:
            self._anywhere[task] = None
        if self.ranged is not None and is_ranged:
            self.ranged.add(task)
            return
        home = self._home(task)
        if home in self._homes:
            self._homes[home].append(task)
        else:
            self._homes[home] = deque((task,))

    def _home(self, task: TaskKey) -> int:
        if isinstance(task, PieceId):
            # Spread the pieces of a reducer.
            return sum(task) % self.slots
        return self._assigned_homes.get(task, task % self.slots)

    def take(self, task: TaskKey) -> TaskKey:
        """Removes a task from the queue."""
        del self.pending[task]
        self._anywhere.pop(task, None)
        if self.ranged is not None:
            self.ranged.discard(task)
            self._taken.add(task)
        return task

    def forget_executor(self, executor: ExecutorId) -> None:
        """Removes a lost executor from preferences; tasks without another may run anywhere."""
        self._by_executor.pop(executor, None)
        # Also tasks that are running: they may be queued again.
        for task in self._preferring.pop(executor, ()):
            left = [each for each in self._preferences[task] if each != executor]
            if left:
                self._preferences[task] = left
            else:
                del self._preferences[task]
                if task in self.pending:
                    self._add_unpreferring(task)

    # Tasks of an executor's own

    def take_own(
        self, executor: ExecutorId, slot: int, now_s: float, refused: Container[TaskKey] = ()
    ) -> TaskKey | None:
        """Takes a task that prefers this executor, or has its home there."""
        found = self._pop(self._by_executor.get(executor), refused)
        if found is not None:
            self._local_at_s = now_s
            return found
        if self.ranged is not None:
            # Where others need not wait, they are offered what is left once all were asked.
            found = self.ranged.within(executor, refused, leaves=not self._ranged_wait)
            if found is not None:
                self._local_at_s = now_s
                return self.take(found)
        return self._pop(self._homes.get(slot % self.slots), refused)

    def _pop(self, queue: deque[TaskKey] | None, refused: Container[TaskKey]) -> TaskKey | None:
        skipped = []
        found = None
        while queue:
            task = queue.popleft()
            if task not in self.pending:
                continue
            if task in refused:
                skipped.append(task)
                continue
            found = self.take(task)
            break
        if skipped and queue is not None:
            queue.extend(skipped)
        return found

    def owners(self, task: TaskKey, slots: Sequence[ExecutorId | None]) -> Iterator[ExecutorId]:
        """Returns the executors that the task prefers, or its home."""
        preferred = self._preferences.get(task)
        if preferred:
            yield from preferred
        elif self.ranged is not None and task in self.ranged:
            yield from self.ranged.owners(task)
        else:
            for slot in range(self._home(task), len(slots), self.slots):
                if (executor := slots[slot]) is not None:
                    yield executor

    def all_asked(self, freed: int) -> None:
        """Records that executors released up to `freed` have no own task among those pending."""
        self.asked = freed
        self.unasked.clear()

    def ask_all_again(self) -> None:
        """Offers all tasks again, after executors are no longer excluded."""
        self.asked = self._offered = 0

    def follow_ranges(self) -> None:
        """Offers tasks to the executors that have their ranges now."""
        if self.ranged is not None and self.ranged.have_moved() and self.asked is not None:
            self.ask_all_again()

    # Tasks that any executor may take

    def is_for_any(self, task: TaskKey) -> bool:
        return task in self._anywhere

    def gives_any(self, now_s: float) -> bool:
        """Whether there is a task that any executor may take."""
        return bool(self._anywhere) or (bool(self.pending) and self._waited(now_s))

    def take_any(
        self, executor: ExecutorId, now_s: float, refused: Container[TaskKey] = ()
    ) -> TaskKey | None:
        """Takes a task for an executor that is not among its preferred ones."""
        if self.ranged and (not self._ranged_wait or self._waited(now_s)):
            near = self.ranged.nearest(executor, refused)
            if near is not None:
                return self.take(near)
        take = self._take_oldest if self._oldest_first else self._take_last
        found = take(self._anywhere, refused)
        if found is None and self._waited(now_s):
            found = take(self.pending, refused)
        return found

    def _take_oldest(
        self, queue: dict[TaskKey, None], refused: Container[TaskKey]
    ) -> TaskKey | None:
        """Takes the task that waited longest."""
        found = next((task for task in queue if task not in refused), None)
        return None if found is None else self.take(found)

    def _take_last(self, queue: dict[TaskKey, None], refused: Container[TaskKey]) -> TaskKey | None:
        """Takes from the end that the task's own executor would reach last."""
        skipped = []
        found = None
        while queue and found is None:
            # popitem, since iterating from the end would pass over all deleted entries.
            task, _ = queue.popitem()
            if task in refused:
                skipped.append(task)
            else:
                found = task
        queue.update(dict.fromkeys(reversed(skipped)))
        if found is not None:
            self.pending.pop(found, None)
            self._anywhere.pop(found, None)
            if self.ranged is not None:
                self.ranged.discard(found)
        return found

    def _waited(self, now_s: float) -> bool:
        """Whether the locality wait is over."""
        return now_s >= self._local_at_s + self._wait_s

    def waits_until_s(self) -> float | None:
        """Returns when the locality wait ends; None where no task waits for an executor."""
        if len(self.pending) == len(self._anywhere) or self._wait_s == inf:
            return None
        return self._local_at_s + self._wait_s

    def offered_before(self, now_s: float) -> int:
        """Returns the release up to which executors were offered all of these tasks and took
        none."""
        return self._offered if self._offered_all or not self._waited(now_s) else 0

    def all_offered(self, freed: int, now_s: float) -> None:
        """Records that executors released up to `freed` can take none of these tasks."""
        self._offered = freed
        self._offered_all = self._waited(now_s)

    def offer_again(self) -> None:
        """Offers tasks to all executors again."""
        self._offered = 0

    # Groups

    def take_partition(self, task: int) -> int:
        """Removes a partition's task from the queue, to run it with others."""
        self.take(task)
        return task

    def take_more(
        self, slot: int | None, most: int, takes: Callable[[TaskKey], bool]
    ) -> Iterator[TaskKey]:
        """Takes further tasks for a group while `takes` accepts them: from the slot's home queue,
        or from the end of those that any executor may take."""
        home = None if slot is None else self._homes.get(slot % self.slots)
        for _ in range(most):
            found = self._last_anywhere() if slot is None else self._first_of(home)
            if found is None or not takes(found):
                return
            yield self.take(found)

    def _first_of(self, queue: deque[TaskKey] | None) -> TaskKey | None:
        while queue:
            if queue[0] in self.pending:
                return queue[0]
            queue.popleft()
        return None

    def _last_anywhere(self) -> TaskKey | None:
        if not self._anywhere:
            return None
        task, _ = self._anywhere.popitem()
        self._anywhere[task] = None
        return task
