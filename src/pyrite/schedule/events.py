"""What happened: the only thing the scheduler is told."""

from __future__ import annotations

from typing import NamedTuple

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


class Failure(NamedTuple):
    """Why an attempt failed, as the executor tells it."""

    kind: str
    message: str
    traceback: str = ""
    error: bytes | None = None


class JobSubmitted(NamedTuple):
    job: JobSpec


class CancelRequested(NamedTuple):
    """Ends jobs by id, group or tag; all of them when none is named."""

    reason: str
    job: JobId | None = None
    group: str | None = None
    tag: str | None = None
    future: bool = False


class TaskSucceeded(NamedTuple):
    """An attempt is done: its small result, or where the large one or the map output lies."""

    attempt: AttemptId
    result: bytes | BlockRef | None = None
    output: BlockRef | None = None
    accumulators: bytes | None = None
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()

    def blocks(self) -> list[BlockRef]:
        """Where its result or its map output lies, if it is a block."""
        return [each for each in (self.output, self.result) if isinstance(each, BlockRef)]


class TaskFailed(NamedTuple):
    attempt: AttemptId
    failure: Failure
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()


class TaskCancelled(NamedTuple):
    attempt: AttemptId
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()


class FetchFailed(NamedTuple):
    """A task could not read map outputs, by index and where they were said to lie.

    None of them where it was launched without the shuffle, which a kept RDD seemed to hide.
    """

    attempt: AttemptId
    shuffle: ShuffleId
    lost: tuple[tuple[int, BlockRef], ...]
    message: str
    stored: tuple[tuple[Partition, BlockRef | None], ...] = ()
    dropped: tuple[Partition, ...] = ()


class BlockLost(NamedTuple):
    """A kept partition's bytes are missing or corrupt."""

    partition: Partition
    ref: BlockRef


class NodeJoined(NamedTuple):
    """A host has come, or come back, with an empty pool of this size."""

    node: NodeId
    pool_bytes: int


class NodeLost(NamedTuple):
    """A host has gone, and with it its executors and all blocks that it held."""

    node: NodeId
    reason: str


class ExecutorJoined(NamedTuple):
    executor: ExecutorId
    node: NodeId


class StartFailed(NamedTuple):
    """An executor ended before it was ready for a task."""

    executor: ExecutorId
    node: NodeId
    reason: str


class ExecutorLost(NamedTuple):
    executor: ExecutorId
    reason: str


class SpaceWanted(NamedTuple):
    """A writer wants a segment of its node's pool; `owner` is an executor, or the driver."""

    node: NodeId
    owner: str
    segment: str
    bytes: int


class BlockPut(NamedTuple):
    """The driver wrote a block itself."""

    ref: BlockRef


class BlocksReleased(NamedTuple):
    """Nobody will read these blocks again."""

    refs: tuple[BlockRef, ...]


class ShuffleForgotten(NamedTuple):
    shuffle: ShuffleId


class RddPersisted(NamedTuple):
    rdd: RddId


class RddForgotten(NamedTuple):
    rdd: RddId


class BroadcastForgotten(NamedTuple):
    broadcast: BroadcastId


class BarrierReached(NamedTuple):
    """A task of a barrier stage waits for the others, with a word for them."""

    attempt: AttemptId
    message: str


class TimerFired(NamedTuple):
    name: str


Event = (
    JobSubmitted
    | CancelRequested
    | TaskSucceeded
    | TaskFailed
    | TaskCancelled
    | FetchFailed
    | BlockLost
    | NodeJoined
    | NodeLost
    | ExecutorJoined
    | StartFailed
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
