"""The tasks of one stage that wait to be launched, and which of them an executor gets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence

from pyrite.ids import ExecutorId, PieceId, TaskKey
from pyrite.place.policy import Preferences


class TaskQueue:
    """Delay scheduling: a task that prefers some executors waits for them a while.

    One that prefers none has a home, the slot that a placement policy or its index gives it, so
    that partition i of co-partitioned RDDs meets its kin on one executor; any idle executor may
    still take it.
    """

    def __init__(self, preferences: Preferences, slots: int, now_s: float) -> None:
        self.pending: dict[TaskKey, None] = {}
        self.slots = max(1, slots)
        self._wait_s = preferences.wait_s
        self._local_at_s = now_s
        # Those pending tasks that any executor may take.
        self._anywhere: dict[TaskKey, None] = {}
        self._preferences: dict[TaskKey, Sequence[ExecutorId]] = {}
        self._preferences.update(preferences.executors.items())
        self._preferring: dict[ExecutorId, list[TaskKey]] = {}
        self._by_executor: dict[ExecutorId, deque[TaskKey]] = {}
        # The slots of partitions whose home is not the one that their index says.
        self._near = preferences.homes
        self._homes: dict[int, deque[TaskKey]] = {}
        # Executors that became free no later than this one have no task of their own here, but
        # for the unasked; before the first round these are all there are.
        self.asked: int | None = None
        self.unasked: list[TaskKey] = []
        # Executors that became free no later than this one may take nothing of what any may take.
        self._offered = 0
        self._offered_all = False
        self.wakes_at_s = now_s
        # When it was last judged whether some executor may try each task that waits.
        self.judged: tuple[int, int] | None = None
        for task, preferred in self._preferences.items():
            for executor in preferred:
                self._preferring.setdefault(executor, []).append(task)

    # Coming and going

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
            self._add_anywhere(task)

    def _add_anywhere(self, task: TaskKey) -> None:
        self._offered = 0
        self.unasked.append(task)
        self._anywhere[task] = None
        home = self._home(task)
        if home in self._homes:
            self._homes[home].append(task)
        else:
            self._homes[home] = deque((task,))

    def _home(self, task: TaskKey) -> int:
        if isinstance(task, PieceId):
            # The pieces of a reducer go apart.
            return sum(task) % self.slots
        return self._near.get(task, task % self.slots)

    def take(self, task: TaskKey) -> TaskKey:
        """The task waits no more."""
        del self.pending[task]
        self._anywhere.pop(task, None)
        return task

    def forget_executor(self, executor: ExecutorId) -> None:
        """Tasks that preferred a lost executor go wherever there is room."""
        self._by_executor.pop(executor, None)
        # All that preferred it, not just those that wait: a running one may come back.
        for task in self._preferring.pop(executor, ()):
            left = [each for each in self._preferences[task] if each != executor]
            if left:
                self._preferences[task] = left
            else:
                del self._preferences[task]
                if task in self.pending:
                    self._add_anywhere(task)

    # What belongs to an executor

    def take_own(
        self, executor: ExecutorId, slot: int, now_s: float, refused: Container[TaskKey] = ()
    ) -> TaskKey | None:
        """A task that belongs to this executor: its rows are kept there, or its home is."""
        found = self._pop(self._by_executor.get(executor), refused)
        if found is not None:
            self._local_at_s = now_s
            return found
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
        """The executors that the task belongs to."""
        preferred = self._preferences.get(task)
        if preferred:
            yield from preferred
        else:
            for slot in range(self._home(task), len(slots), self.slots):
                if (executor := slots[slot]) is not None:
                    yield executor

    def all_asked(self, freed: int) -> None:
        """Whoever became free until now has nothing of their own among the tasks that wait."""
        self.asked = freed
        self.unasked.clear()

    def ask_all_again(self) -> None:
        """Executors that were left out may take part again."""
        self.asked = self._offered = 0

    # What any executor may take

    def is_for_any(self, task: TaskKey) -> bool:
        return task in self._anywhere

    def gives_any(self, now_s: float) -> bool:
        """Whether there is something that any executor may take."""
        return bool(self._anywhere) or (bool(self.pending) and self._waited(now_s))

    def take_any(self, now_s: float, refused: Container[TaskKey] = ()) -> TaskKey | None:
        """A task that an executor may compute although others would be better placed."""
        found = self._take_last(self._anywhere, refused)
        if found is None and self._waited(now_s):
            found = self._take_last(self.pending, refused)
        return found

    def _take_last(self, queue: dict[TaskKey, None], refused: Container[TaskKey]) -> TaskKey | None:
        """From the far end, which the task's own executor would reach last."""
        skipped = []
        found = None
        while queue and found is None:
            # Not by iterating, which would pass over all that was ever deleted there.
            task, _ = queue.popitem()
            if task in refused:
                skipped.append(task)
            else:
                found = task
        queue.update(dict.fromkeys(reversed(skipped)))
        if found is not None:
            self.pending.pop(found, None)
            self._anywhere.pop(found, None)
        return found

    def _waited(self, now_s: float) -> bool:
        """Whether tasks that prefer someone may run anywhere."""
        return now_s >= self._local_at_s + self._wait_s

    def waits_until_s(self) -> float | None:
        """When tasks that wait for their preferred executor may run elsewhere."""
        if len(self.pending) == len(self._anywhere):
            return None
        return self._local_at_s + self._wait_s

    def offered_before(self, now_s: float) -> int:
        """Who became free up to then was offered all that any may take now, and took nothing."""
        return self._offered if self._offered_all or not self._waited(now_s) else 0

    def all_offered(self, freed: int, now_s: float) -> None:
        """Whoever became free until now may take nothing: they are left out, or refuse it."""
        self._offered = freed
        self._offered_all = self._waited(now_s)

    def offer_again(self) -> None:
        """There is more that any executor may take."""
        self._offered = 0

    # Several for one task

    def take_more(
        self, slot: int | None, most: int, takes: Callable[[TaskKey], bool]
    ) -> Iterator[TaskKey]:
        """Further partitions for one task, until one does not suit: those whose home the slot is,
        or from the far end of what any executor may take."""
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
