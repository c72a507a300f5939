"""What a task can learn about itself, and how the tasks of a barrier stage meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

CURE = "use rdd.barrier().mapPartitions(f)"


class TaskInfo(NamedTuple):
    """The identity of one running attempt, as the executor was told it."""

    stage: int
    partition: int
    number: int
    attempt: int
    partitions: int
    properties: dict[str, str]
    barrier: bool
    meet: Callable[[str], list[str]]


class TaskContext:
    """The running task: partition, stage, attempt and the job's local properties.

    >>> sc.parallelize([1, 2], 2).map(lambda _: TaskContext.get().partitionId()).collect()
    [0, 1]
    """

    _info: ClassVar[TaskInfo | None] = None
    _current: ClassVar[TaskContext | None] = None

    @classmethod
    def get(cls) -> TaskContext | None:
        """The context of the task that runs here, or None in the driver."""
        return TaskContext._current

    @classmethod
    def _set(cls, info: TaskInfo | None) -> None:
        TaskContext._info = info
        TaskContext._current = None if info is None else TaskContext()
        BarrierTaskContext._barrier = None if info is None else BarrierTaskContext()

    def _known(self) -> TaskInfo:
        info = TaskContext._info
        if info is None:
            raise RuntimeError(f"{type(self).__name__} is only known inside a task")
        return info

    def stageId(self) -> int:
        """The number of the stage that this task belongs to."""
        return self._known().stage

    def partitionId(self) -> int:
        """The index of the partition that is computed."""
        return self._known().partition

    def attemptNumber(self) -> int:
        """How often this task has been tried before: 0 the first time."""
        return self._known().number

    def taskAttemptId(self) -> int:
        """A number that no other attempt in this application has."""
        return self._known().attempt

    def getLocalProperty(self, key: str) -> str | None:
        """A property that the driver's thread had set, or None."""
        return self._known().properties.get(key)

    def cpus(self) -> int:
        """The cores that the task may use: one."""
        self._known()
        return 1

    def resources(self) -> dict[str, Any]:
        """Accelerators given to the task: none."""
        self._known()
        return {}


class BarrierTaskInfo(NamedTuple):
    """Where a task of a barrier stage runs."""

    address: str


class BarrierTaskContext(TaskContext):
    """A task of a barrier stage, which can wait for the others."""

    _barrier: ClassVar[BarrierTaskContext | None] = None

    @classmethod
    def get(cls) -> BarrierTaskContext:
        """The context of the running barrier task; an error elsewhere."""
        if BarrierTaskContext._barrier is None:
            raise RuntimeError(f"BarrierTaskContext.get() is only known inside a task; {CURE}")
        return BarrierTaskContext._barrier

    def barrier(self) -> None:
        """Waits until all tasks of the stage have come this far."""
        self._meet("")

    def allGather(self, message: str = "") -> list[str]:
        """Waits like `barrier`, and gives every task's message in the order of partitions."""
        if not isinstance(message, str):
            raise TypeError(f"allGather takes a str, not {type(message).__name__}")
        return self._meet(message)

    def _meet(self, message: str) -> list[str]:
        info = self._known()
        if not info.barrier:
            raise RuntimeError(f"this task's stage is not a barrier stage; {CURE}")
        return info.meet(message)

    def getTaskInfos(self) -> list[BarrierTaskInfo]:
        """One entry per task of the stage, in the order of partitions."""
        return [BarrierTaskInfo("127.0.0.1") for _ in range(self._known().partitions)]


__all__ = ["BarrierTaskContext", "BarrierTaskInfo", "TaskContext"]
