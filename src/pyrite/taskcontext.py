"""What a task can learn about itself, and how the tasks of a barrier stage meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple, TypeVar

from pyrite.pysparkerrors import PySparkRuntimeError

C = TypeVar("C", bound="TaskContext")

CURE = "use rdd.barrier().mapPartitions(f)"
# All executors are on this machine, and none of them listens.
ADDRESS = "127.0.0.1:0"


class ResourceInformation(NamedTuple):
    """Accelerators of one kind."""

    name: str
    addresses: list[str]


class TaskInfo(NamedTuple):
    """The identity of one running attempt, as the executor was told it."""

    stage: int
    partition: int
    number: int
    attempt: int
    partitions: int
    properties: dict[str, str]
    barrier: bool
    # How it meets the others; nothing where the task has ended.
    meet: Callable[[str], list[str]] | None = None
    cpus: int = 1
    cpu_amount: Decimal = Decimal(1)
    resources: Mapping[str, ResourceInformation] = {}


class TaskContext:
    """The running task: partition, stage, attempt and the job's local properties.

    It can be sent to the driver, where it still tells of the task. Outside of a task its fields
    are None.

    >>> sc.parallelize([1, 2], 2).map(lambda _: TaskContext.get().partitionId()).collect()
    [0, 1]
    """

    _current: ClassVar[TaskContext | None] = None

    def __init__(self, info: TaskInfo | None = None) -> None:
        if info is None and TaskContext._current is not None:
            info = TaskContext._current._info
        self._info: TaskInfo | None = info

    @classmethod
    def get(cls) -> TaskContext | None:
        """The context of the task that runs here, or None in the driver."""
        return TaskContext._current

    @classmethod
    def from_json(cls: type[C], json: dict[str, Any]) -> C:
        """A context with the fields of a dict, by the names of their methods."""
        amount = json.get("cpuAmount", json["cpus"])
        resources = {
            name: ResourceInformation(found["name"], found["addresses"])
            for name, found in json["resources"].items()
        }
        return cls(
            TaskInfo(
                *(json["stageId"], json["partitionId"]),
                *(json["attemptNumber"], json["taskAttemptId"]),
                partitions=1,
                properties=json["localProperties"],
                barrier=False,
                cpus=json["cpus"],
                cpu_amount=Decimal(amount),
                resources=resources,
            )
        )

    @classmethod
    def _set(cls, info: TaskInfo | None) -> None:
        if info is None:
            TaskContext._current = None
        else:
            TaskContext._current = (BarrierTaskContext if info.barrier else TaskContext)(info)

    def __reduce__(self) -> Any:
        return type(self), (self._info and self._info._replace(meet=None),)

    def _get(self, field: str) -> Any:
        return None if self._info is None else getattr(self._info, field)

    def stageId(self) -> int:
        """The number of the stage that this task belongs to."""
        stage: int = self._get("stage")
        return stage

    def partitionId(self) -> int:
        """The index of the partition that is computed."""
        partition: int = self._get("partition")
        return partition

    def attemptNumber(self) -> int:
        """How often this task has been tried before: 0 the first time."""
        number: int = self._get("number")
        return number

    def taskAttemptId(self) -> int:
        """A number that no other attempt in this application has."""
        attempt: int = self._get("attempt")
        return attempt

    def getLocalProperty(self, key: str) -> str | None:
        """A property that the driver's thread had set, or None."""
        return (self._get("properties") or {}).get(key)

    def cpus(self) -> int:
        """The cores that the task may use: one."""
        cpus: int = self._get("cpus")
        return cpus

    def cpuAmount(self) -> Decimal:
        """The cores that the task may use, as a number that could be a fraction."""
        amount: Decimal = self._get("cpu_amount")
        return amount

    def resources(self) -> dict[str, ResourceInformation]:
        """Accelerators given to the task: none."""
        resources = self._get("resources")
        return None if resources is None else dict(resources)  # type: ignore[return-value]


class BarrierTaskInfo(NamedTuple):
    """Where a task of a barrier stage runs, as host:port."""

    address: str


class BarrierTaskContext(TaskContext):
    """A task of a barrier stage, which can wait for the others."""

    @classmethod
    def get(cls) -> BarrierTaskContext:
        """The context of the running barrier task; an error elsewhere."""
        current = TaskContext._current
        if not isinstance(current, BarrierTaskContext):
            raise PySparkRuntimeError(
                f"It is not in a barrier stage; {CURE}", "NOT_IN_BARRIER_STAGE", {}
            )
        return current

    def barrier(self) -> None:
        """Waits until all tasks of the stage have come this far."""
        self._meet("")

    def allGather(self, message: str = "") -> list[str]:
        """Waits like `barrier`, and gives every task's message in the order of partitions."""
        if not isinstance(message, str):
            raise TypeError(f"allGather takes a str, not {type(message).__name__}")
        return self._meet(message)

    def _meet(self, message: str) -> list[str]:
        meet = self._running().meet
        assert meet is not None
        return meet(message)

    def getTaskInfos(self) -> list[BarrierTaskInfo]:
        """One entry per task of the stage, in the order of partitions."""
        return [BarrierTaskInfo(ADDRESS) for _ in range(self._running().partitions)]

    def _running(self) -> TaskInfo:
        info = self._info
        if info is None or info.meet is None:
            message = f"this is not the context of a running barrier task; {CURE}"
            raise PySparkRuntimeError(message, "CALL_BEFORE_INITIALIZE")
        return info


__all__ = ["BarrierTaskContext", "BarrierTaskInfo", "TaskContext"]
