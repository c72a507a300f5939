"""The live executors: their nodes, their slots, and which are free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import takewhile
from typing import TYPE_CHECKING

from pyrite.ids import ExecutorId, NodeId

if TYPE_CHECKING:
    from pyrite.schedule.attempts import Attempt


@dataclass(slots=True)
class Executor:
    """A live executor, and its attempt if it is busy."""

    id: ExecutorId
    node: NodeId
    slot: int
    attempt: Attempt | None = None
    # Number of attempts that it has completed.
    ran: int = 0
    # Sequence number of its last release.
    freed: int = 0


class Fleet:
    """All live executors; a new one takes the lowest empty slot."""

    def __init__(self) -> None:
        self._executors: dict[ExecutorId, Executor] = {}
        self._on_node: dict[NodeId, dict[ExecutorId, Executor]] = {}
        self._counts: dict[NodeId, int] = {}
        self._free: dict[ExecutorId, Executor] = {}
        # Plain attributes, since other parts read them for every task. The free executors are in
        # the order of their release.
        self.free: Mapping[ExecutorId, Executor] = self._free
        # Sequence number of the last release.
        self.freed = 0
        # How many executors each node should have that is there or will be back, and all of them.
        self._planned: dict[NodeId, int] = {}
        self._expected = 0
        # Nodes some of whose executors have joined, left, or got or ended a task since last asked.
        self._stirred: dict[NodeId, None] = {}
        # How often an executor has joined or left.
        self.changes = 0
        self._slots: list[ExecutorId | None] = []
        self._empty_slots: list[int] = []

    def __len__(self) -> int:
        return len(self._executors)

    def __contains__(self, executor: ExecutorId) -> bool:
        return executor in self._executors

    def __iter__(self) -> Iterator[Executor]:
        return iter(self._executors.values())

    def get(self, executor: ExecutorId) -> Executor | None:
        return self._executors.get(executor)

    @property
    def counts(self) -> Mapping[NodeId, int]:
        """The number of executors on each node that has any."""
        return self._counts

    @property
    def slots(self) -> Sequence[ExecutorId | None]:
        """The executor in each slot."""
        return self._slots

    def on(self, node: NodeId) -> list[Executor]:
        return list(self._on_node.get(node, {}).values())

    @property
    def planned(self) -> Mapping[NodeId, int]:
        """How many executors each node should have, without nodes that leave for good."""
        return self._planned

    @property
    def staying(self) -> int:
        """How many executors the nodes should have that do not leave for good."""
        return self._expected

    @property
    def expected(self) -> int:
        """How many executors there will be, with those that are being started again."""
        return max(len(self), self._expected)

    def is_idle(self, node: NodeId) -> bool:
        """Whether the node has executors, and none of them has a task."""
        executors = self._on_node.get(node, {})
        return bool(executors) and all(each.attempt is None for each in executors.values())

    def take_stirred(self) -> list[NodeId]:
        """Returns the nodes whose executors have changed since this was last asked."""
        stirred = list(self._stirred)
        self._stirred.clear()
        return stirred

    # Joining and leaving

    def plan(self, node: NodeId, executors: int) -> None:
        """A node is there, perhaps again, and will have so many executors."""
        self._expected += executors - self._planned.get(node, 0)
        self._planned[node] = executors

    def withdraw(self, node: NodeId) -> None:
        """A node leaves with its executors, and will not be back."""
        self._expected -= self._planned.pop(node, 0)

    def join(self, id: ExecutorId, node: NodeId) -> None:
        if self._empty_slots:
            slot = heappop(self._empty_slots)
            self._slots[slot] = id
        else:
            slot = len(self._slots)
            self._slots.append(id)
        executor = Executor(id, node, slot)
        self._executors[id] = executor
        self._on_node.setdefault(node, {})[id] = executor
        self._counts[node] = len(self._on_node[node])
        if self._counts[node] > self._planned.get(node, 0):
            self.plan(node, self._counts[node])
        self.changes += 1
        self.release(executor)

    def remove(self, executor: Executor) -> None:
        self.changes += 1
        self._stirred[executor.node] = None
        del self._executors[executor.id]
        on_node = self._on_node[executor.node]
        del on_node[executor.id]
        self._counts[executor.node] = len(on_node)
        if not on_node:
            del self._on_node[executor.node], self._counts[executor.node]
        self._slots[executor.slot] = None
        heappush(self._empty_slots, executor.slot)
        self._free.pop(executor.id, None)

    # Free and busy

    def freed_since(self, number: int) -> list[Executor]:
        """Returns the executors released after release `number` that are still free."""
        found = list(takewhile(lambda each: each.freed > number, reversed(self._free.values())))
        found.reverse()
        return found

    def occupy(self, executor: Executor, attempt: Attempt) -> None:
        executor.attempt = attempt
        self._stirred[executor.node] = None
        del self._free[executor.id]

    def release(self, executor: Executor) -> None:
        self.freed += 1
        executor.freed = self.freed
        executor.attempt = None
        self._stirred[executor.node] = None
        self._free[executor.id] = executor
