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
from pyrite.schedule.timer import Timer


class Failure(NamedTuple):
    """Why an attempt failed, as the executor tells it."""

    kind: str
    message: str
    traceback: str = ""
    error: bytes | None = None


class Stored(NamedTuple):
    """A partition that is kept from now on: as a block, or as live rows of about so many bytes."""

    partition: Partition
    ref: BlockRef | None
    bytes: int


class KeptNews(NamedTuple):
    """What a task did with kept partitions."""

    stored: tuple[Stored, ...] = ()
    dropped: tuple[Partition, ...] = ()
    # How many it read: live, in its node's pool, in another node's, on disk.
    found: tuple[int, int, int, int] = (0, 0, 0, 0)
    # Those that it computed, as they were nowhere.
    computed: tuple[Partition, ...] = ()


class JobSubmitted(NamedTuple):
    job: JobSpec


class CancelRequested(NamedTuple):
    """Ends jobs by id, group or tag; all of them when none is named."""

    reason: str
    job: JobId | None = None
    group: str | None = None
    tag: str | None = None
    future: bool = False


class TaskOutput(NamedTuple):
    """What was made of one partition: a small result, or where the large one or the map output
    lies, and what was added to accumulators."""

    result: bytes | BlockRef | None = None
    output: BlockRef | None = None
    accumulators: bytes | None = None
    # How large the parts of the map output are, a byte each (place/sizes.py).
    sizes: bytes | None = None

    def blocks(self) -> list[BlockRef]:
        """Where its result or its map output lies, if it is a block."""
        return [each for each in (self.output, self.result) if isinstance(each, BlockRef)]


class TaskSucceeded(NamedTuple):
    """An attempt is done, with what it made of each of its partitions, in the order of the
    launch."""

    attempt: AttemptId
    made: tuple[TaskOutput, ...]
    kept: KeptNews = KeptNews()

    def blocks(self) -> list[BlockRef]:
        """Where its results or its map outputs lie, as far as they are blocks."""
        return [ref for each in self.made for ref in each.blocks()]


class TaskRaised(NamedTuple):
    attempt: AttemptId
    failure: Failure
    kept: KeptNews = KeptNews()


class TaskCancelled(NamedTuple):
    attempt: AttemptId
    kept: KeptNews = KeptNews()


class FetchFailed(NamedTuple):
    """A task could not read map outputs, by index and where they were said to lie.

    None of them where it was launched without the shuffle, which a kept RDD seemed to hide.
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
    """A host has come, or come back, with an empty pool of this size."""

    node: NodeId
    pool_bytes: int
    # Whether other nodes' partitions may lie in its pool, and whether it has nothing but that.
    lends: bool = True
    storage_only: bool = False


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
    """A writer wants a segment; `writer` is an executor, or the driver.

    It is for blocks of kept partitions where it names their RDD, and may then lie on any node.
    """

    node: NodeId
    writer: ExecutorId
    segment: str
    bytes: int
    # Whether more blocks will be packed into it.
    packs: bool = True
    rdd: RddId | None = None
    # Whether what is kept may go to disk when there is no room in memory.
    to_disk: bool = True
    # Whether its node has the rows already, so that it is to lie on another.
    is_copy: bool = False


class SegmentMoved(NamedTuple):
    """A copy of a segment lies where it was sent, complete."""

    move: int


class SegmentNotMoved(NamedTuple):
    """A segment could not be copied; nothing is left where it was sent."""

    move: int
    reason: str


class PartsFetched(NamedTuple):
    """A prefetched segment lies where it was wanted, complete."""

    fetch: int


class PartsNotFetched(NamedTuple):
    """A prefetched segment could not be fetched; nothing of it is left."""

    fetch: int
    reason: str


class NodeLeaves(NamedTuple):
    """A storage-only node should go as soon as its blocks are elsewhere."""

    node: NodeId


class MemoryAsked(NamedTuple):
    """Somebody wants to know what lies in the pools."""

    question: int


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
