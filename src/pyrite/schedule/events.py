"""What happened: the only thing the scheduler is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyrite.ids import (
    AttemptId,
    BlockRef,
    BroadcastId,
    ExecutorId,
    JobId,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
)
from pyrite.plan.stages import JobSpec


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed, as the executor tells it."""

    kind: str
    message: str
    traceback: str = ""
    error: bytes | None = None


@dataclass(frozen=True, slots=True)
class JobSubmitted:
    job: JobSpec


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Ends jobs by id, group or tag; all of them when none is named."""

    reason: str
    job: JobId | None = None
    group: str | None = None
    tag: str | None = None
    future: bool = False


@dataclass(frozen=True, slots=True)
class TaskSucceeded:
    """An attempt is done: its small result, or where the large one or the map output lies."""

    attempt: AttemptId
    result: bytes | BlockRef | None = None
    output: BlockRef | None = None
    accumulators: bytes | None = None
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()
    metrics: Any = None


@dataclass(frozen=True, slots=True)
class TaskFailed:
    attempt: AttemptId
    failure: Failure
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskCancelled:
    attempt: AttemptId
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """A task could not read a map output (`index`), or a kept block that it was promised."""

    attempt: AttemptId
    shuffle: ShuffleId
    index: int
    epoch: int
    message: str
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockLost:
    """A kept partition's bytes are missing or corrupt."""

    partition: Partition
    ref: BlockRef


@dataclass(frozen=True, slots=True)
class ExecutorJoined:
    executor: ExecutorId
    node: NodeId


@dataclass(frozen=True, slots=True)
class ExecutorLost:
    executor: ExecutorId
    reason: str


@dataclass(frozen=True, slots=True)
class SpaceWanted:
    """A writer wants a segment of the pool; `owner` is an executor, or the driver."""

    owner: str
    segment: str
    bytes: int


@dataclass(frozen=True, slots=True)
class BlockPut:
    """The driver wrote a block itself."""

    ref: BlockRef


@dataclass(frozen=True, slots=True)
class BlocksReleased:
    """Nobody will read these blocks again."""

    refs: tuple[BlockRef, ...]


@dataclass(frozen=True, slots=True)
class ShuffleForgotten:
    shuffle: ShuffleId


@dataclass(frozen=True, slots=True)
class RddPersisted:
    rdd: RddId


@dataclass(frozen=True, slots=True)
class RddForgotten:
    rdd: RddId


@dataclass(frozen=True, slots=True)
class BroadcastForgotten:
    broadcast: BroadcastId


@dataclass(frozen=True, slots=True)
class BarrierReached:
    """A task of a barrier stage waits for the others, with a word for them."""

    attempt: AttemptId
    message: str


@dataclass(frozen=True, slots=True)
class TimerFired:
    name: str


Event = (
    JobSubmitted
    | CancelRequested
    | TaskSucceeded
    | TaskFailed
    | TaskCancelled
    | FetchFailed
    | BlockLost
    | ExecutorJoined
    | ExecutorLost
    | SpaceWanted
    | BlockPut
    | BlocksReleased
    | ShuffleForgotten
    | RddPersisted
    | RddForgotten
    | BroadcastForgotten
    | BarrierReached
    | TimerFired
)
