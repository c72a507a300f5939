"""Pending tasks that go by the ranges of their keys."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterator, Mapping

from pyrite.ids import ExecutorId, TaskKey
from pyrite.place.laf import KEYS
from pyrite.place.policy import ExecutorRanges

# How many tasks to either side of its range an idle executor chooses from.
LOOKED_AT = 32


class RangedTasks:
    """Finds the pending task that is in an executor's range, or nearest to it."""

    def __init__(self, keys: Mapping[int, int], ranges: ExecutorRanges) -> None:
        self.ranges = ranges
        self._keys: dict[TaskKey, int] = {}
        self._keys.update(keys.items())
        self._pending: dict[TaskKey, None] = {}
        self._by_block: dict[int, dict[TaskKey, None]] = {}
        # The same by key, once somebody asks: adding many tasks one by one would be slow.
        self._sorted: list[tuple[int, int]] | None = None
        self._cuts = ranges.cuts

    def __contains__(self, task: TaskKey) -> bool:
        return task in self._pending

    def __len__(self) -> int:
        return len(self._pending)

    def has_key(self, task: TaskKey) -> bool:
        return task in self._keys

    def add(self, task: TaskKey) -> None:
        assert isinstance(task, int)
        self._pending[task] = None
        self._by_block.setdefault(self._keys[task], {})[task] = None
        if self._sorted is not None:
            insort(self._sorted, (self._keys[task], task))

    def discard(self, task: TaskKey) -> None:
        if task in self._pending:
            assert isinstance(task, int)
            del self._pending[task]
            key = self._keys[task]
            del self._by_block[key][task]
            if not self._by_block[key]:
                del self._by_block[key]
            if self._sorted is not None:
                del self._sorted[bisect_left(self._sorted, (self._keys[task], task))]

    def owners(self, task: TaskKey) -> Iterator[ExecutorId]:
        yield from self.ranges.executors(self._keys[task])

    def within(
        self, executor: ExecutorId, refused: Container[TaskKey], leaves: bool
    ) -> TaskKey | None:
        """Returns a task whose block is in the memory of the executor's node, or else one of its
        own stretches; with `leaves` none whose block others have in memory, who may be idle too."""
        held = self.ranges.cached(executor)
        few = held if len(held) < len(self._by_block) else self._by_block
        for key in few:
            if key in held and key in self._by_block:
                for found in self._by_block[key]:
                    if found not in refused:
                        return found
        elsewhere: TaskKey | None = None
        for key, task in self._inside(executor):
            if task in refused:
                continue
            # What others have in memory is left to them, if there is anything else.
            if not self.ranges.is_cached(key):
                return task
            elsewhere = task if elsewhere is None else elsewhere
        return None if leaves else elsewhere

    def _inside(self, executor: ExecutorId) -> Iterator[tuple[int, int]]:
        tasks = self._by_key()
        for low, high in self.ranges.spans(executor):
            for place in range(bisect_left(tasks, (low, -1)), len(tasks)):
                if tasks[place][0] >= high:
                    break
                yield tasks[place]

    def nearest(self, executor: ExecutorId, refused: Container[TaskKey]) -> TaskKey | None:
        """Returns the task whose key is in the executor's range or nearest to it, around the
        circle."""
        tasks = self._by_key()
        spans = self.ranges.spans(executor)
        low, high = spans[0] if spans else (0, KEYS)
        count = len(tasks)
        # The first at or after the end of the range, and the last before its start.
        after, before = bisect_left(tasks, (high, -1)), bisect_left(tasks, (low, -1)) - 1
        ahead = [tasks[(after + step) % count] for step in range(min(count, LOOKED_AT))]
        behind = [tasks[(before - step) % count] for step in range(min(count, LOOKED_AT))]
        found = [((key - high) % KEYS, task, key) for key, task in ahead if task not in refused]
        found += [((low - key) % KEYS, task, key) for key, task in behind if task not in refused]
        found += [(0, task, key) for key, task in self._inside(executor) if task not in refused]
        # What others have in memory is left to them, if there is anything else.
        cold = [each for each in found if not self.ranges.is_cached(each[2])]
        if not found:
            return next((task for _, task in tasks if task not in refused), None)
        return min(cold or found)[1]

    def have_moved(self) -> bool:
        """Whether the ranges have changed since the last time that this was asked."""
        before, self._cuts = self._cuts, self.ranges.cuts
        return before != self._cuts

    def _by_key(self) -> list[tuple[int, int]]:
        if self._sorted is None:
            self._sorted = sorted(
                (self._keys[task], task) for task in self._pending if isinstance(task, int)
            )
        return self._sorted
