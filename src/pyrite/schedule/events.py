"""Events: the scheduler's only input."""

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
from pyrite.schedule.timer import Timer


class Failure(NamedTuple):
    """Why an attempt failed, as its executor reports it."""

    kind: str
    message: str
    traceback: str = ""
    error: bytes | None = None


class Stored(NamedTuple):
    """A partition that a task has kept: as a block, or as live rows of about `bytes` bytes."""

    partition: Partition
    ref: BlockRef | None
    bytes: int


class KeptNews(NamedTuple):
    """A task's report on kept partitions."""

    stored: tuple[Stored, ...] = ()
    dropped: tuple[Partition, ...] = ()
    # How many it read: as live rows, from its node's pool, from another node's pool, from disk.
    found: tuple[int, int, int, int] = (0, 0, 0, 0)
    # Those that it computed because they were stored nowhere.
    computed: tuple[Partition, ...] = ()


class JobSubmitted(NamedTuple):
    job: JobSpec


class CancelRequested(NamedTuple):
    """Cancels jobs by id, group or tag; all of them when none is named."""

    reason: str
    job: JobId | None = None
    group: str | None = None
    tag: str | None = None
    future: bool = False


class TaskOutput(NamedTuple):
    """The output of one partition: a small result inline, or the block of a large result or a map
    output, with its accumulator updates."""

    result: bytes | BlockRef | None = None
    output: BlockRef | None = None
    accumulators: bytes | None = None
    # The encoded size of each part of the map output, one byte each (place/sizes.py).
    sizes: bytes | None = None

    def blocks(self) -> list[BlockRef]:
        """Returns the blocks of its result and map output."""
        return [each for each in (self.output, self.result) if isinstance(each, BlockRef)]


class TaskSucceeded(NamedTuple):
    """An attempt succeeded; it made one output per partition, in the order of its launch
    command."""

    attempt: AttemptId
    made: tuple[TaskOutput, ...]
    kept: KeptNews = KeptNews()

    def blocks(self) -> list[BlockRef]:
        """Returns the blocks of its results and map outputs."""
        return [ref for each in self.made for ref in each.blocks()]


class TaskRaised(NamedTuple):
    attempt: AttemptId
    failure: Failure
    kept: KeptNews = KeptNews()


class TaskCancelled(NamedTuple):
    attempt: AttemptId
    kept: KeptNews = KeptNews()


class FetchFailed(NamedTuple):
    """A task could not read map outputs: their indices, and the refs that it was launched with.

    `lost` is empty where the task was launched without the shuffle, because kept partitions seemed
    to make it unnecessary.
    """

    attempt: AttemptId
    shuffle: ShuffleId
    lost: tuple[tuple[int, BlockRef], ...]
    message: str
    kept: KeptNews = KeptNews()


class BlockLost(NamedTuple):
    """A kept partition's bytes are missing or corrupt."""

    partition: Partition
    ref: BlockRef


class NodeJoined(NamedTuple):
    """A node has joined, or rejoined, with an empty pool of this size."""

    node: NodeId
    pool_bytes: int
    # Whether its pool may hold other nodes' partitions, and whether it runs no executors.
    lends: bool = True
    storage_only: bool = False


class NodeLost(NamedTuple):
    """A node is lost, and with it its executors and all of its blocks."""

    node: NodeId
    reason: str


class ExecutorJoined(NamedTuple):
    executor: ExecutorId
    node: NodeId


class StartFailed(NamedTuple):
    """An executor ended before it could accept tasks."""

    executor: ExecutorId
    node: NodeId
    reason: str


class ExecutorLost(NamedTuple):
    executor: ExecutorId
    reason: str


class SpaceWanted(NamedTuple):
    """A writer, an executor or the driver, requests room for a segment.

    A segment with an RDD is for blocks of kept partitions, and may lie on any node.
    """

    node: NodeId
    writer: ExecutorId
    segment: str
    bytes: int
    # Whether the writer will pack more blocks into it.
    packs: bool = True
    rdd: RddId | None = None
    # Whether kept partitions may go to disk when memory is full.
    to_disk: bool = True
    # Whether its node holds the rows already, so that the segment belongs on another.
    is_copy: bool = False


class SegmentMoved(NamedTuple):
    """A segment's copy is complete at its target."""

    move: int


class SegmentNotMoved(NamedTuple):
    """A segment could not be copied; nothing is left at the target."""

    move: int
    reason: str


class PartsFetched(NamedTuple):
    """A fetched segment is complete at its target."""

    fetch: int


class PartsNotFetched(NamedTuple):
    """A segment could not be fetched; nothing is left at the target."""

    fetch: int
    reason: str


class NodeLeaves(NamedTuple):
    """A storage-only node should leave once its blocks are elsewhere."""

    node: NodeId


class MemoryAsked(NamedTuple):
    """The user asks for a report of the pools' memory."""

    question: int


class BlockPut(NamedTuple):
    """The driver has written a block."""

    ref: BlockRef


class BlocksReleased(NamedTuple):
    """These blocks will not be read again."""

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
    """A task of a barrier stage waits for the others, with a message for them."""

    attempt: AttemptId
    message: str


class TimerFired(NamedTuple):
    timer: Timer


Event = (
    JobSubmitted
    | CancelRequested
    | TaskSucceeded
    | TaskRaised
    | TaskCancelled
    | FetchFailed
    | BlockLost
    | NodeJoined
    | NodeLost
    | ExecutorJoined
    | StartFailed
    | ExecutorLost
    | SpaceWanted
    | SegmentMoved
    | SegmentNotMoved
    | PartsFetched
    | PartsNotFetched
    | NodeLeaves
    | MemoryAsked
    | BlockPut
    | BlocksReleased
    | ShuffleForgotten
    | RddPersisted
    | RddForgotten
    | BroadcastForgotten
    | BarrierReached
    | TimerFired
)
