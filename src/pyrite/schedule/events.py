"""Events: the scheduler's only input."""

from __future__ import annotations

from typing import NamedTuple

from pyrite.ids import (
    AttemptId,
    BlockRef,
    BroadcastId,
    ExecutorId,
    JobId,
    NamespaceId,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
)
from pyrite.metrics import NO_METRICS, TaskMetrics
from pyrite.plan.stages import JobSpec
from pyrite.schedule.timer import Timer

# In a reason, before what a dead executor has printed: a story without values is cut there.
PRINTED = "; the last that it printed:\n"


class Failure(NamedTuple):
    """Why an attempt failed, as its executor reports it."""

    kind: str
    message: str
    traceback: str = ""
    error: bytes | None = None
    # The message and the traceback without values: types and places.
    told: str = ""
    places: str = ""


class Stored(NamedTuple):
    """A partition that a task has kept: in blocks, or without any as live rows of about `bytes`
    bytes."""

    partition: Partition
    blocks: tuple[BlockRef, ...]
    bytes: int
    # How long it took to compute, without kept partitions that it is made of.
    delay_s: float = 0.0


class InputNews(NamedTuple):
    """A block of an input file that a task has put into its node's pool, or could not read there
    any more."""

    key: int
    ref: BlockRef
    is_lost: bool = False


class KeptNews(NamedTuple):
    """A task's report on kept partitions."""

    stored: tuple[Stored, ...] = ()
    dropped: tuple[Partition, ...] = ()
    # How many it read: as live rows, from its node's pool, from another node's pool, from disk.
    found: tuple[int, int, int, int] = (0, 0, 0, 0)
    # Those that it computed because they were stored nowhere.
    computed: tuple[Partition, ...] = ()
    # The bytes that it wrote to disk because no pool had room.
    spilled_bytes: int = 0
    inputs: tuple[InputNews, ...] = ()


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
    """The output of one partition: a small result inline, or the blocks of a large one, or a map
    output; with its accumulator updates."""

    result: bytes | tuple[BlockRef, ...] | None = None
    output: BlockRef | None = None
    accumulators: bytes | None = None
    # The encoded size of each part of the map output, one byte each (place/sizes.py).
    sizes: bytes | None = None
    # What the row machine ran of its functions, and why it did not run others.
    traced: tuple[str, ...] = ()

    def blocks(self) -> list[BlockRef]:
        """Returns the blocks of its result and map output."""
        result = self.result if isinstance(self.result, tuple) else ()
        return [*result] if self.output is None else [self.output, *result]


class TaskSucceeded(NamedTuple):
    """An attempt succeeded; it made one output per partition, in the order of its launch
    command."""

    attempt: AttemptId
    made: tuple[TaskOutput, ...]
    kept: KeptNews = KeptNews()
    metrics: TaskMetrics = NO_METRICS

    def blocks(self) -> list[BlockRef]:
        """Returns the blocks of its results and map outputs."""
        return [ref for each in self.made for ref in each.blocks()]


class TaskRaised(NamedTuple):
    attempt: AttemptId
    failure: Failure
    kept: KeptNews = KeptNews()
    metrics: TaskMetrics = NO_METRICS


class TaskCancelled(NamedTuple):
    attempt: AttemptId
    kept: KeptNews = KeptNews()
    metrics: TaskMetrics = NO_METRICS


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
    metrics: TaskMetrics = NO_METRICS


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
    # How many executors it will have.
    executors: int = 0


class NodeLost(NamedTuple):
    """A node is lost, and with it its executors and all of its blocks."""

    node: NodeId
    reason: str


class NodeWithdrawn(NamedTuple):
    """A lost node will not be back."""

    node: NodeId


class ExecutorJoined(NamedTuple):
    executor: ExecutorId
    node: NodeId
    host: str = ""
    pid: int = 0


class StartFailed(NamedTuple):
    """An executor ended before it could accept tasks."""

    executor: ExecutorId
    node: NodeId
    reason: str


class ExecutorLost(NamedTuple):
    executor: ExecutorId
    reason: str
    # The last lines of its error output.
    output: tuple[str, ...] = ()


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
    # Whether it is for a block of an input file, which gives way to everything else.
    cached: bool = False
    # That block's key, if it belongs on the key's node and not on the writer's.
    key: int | None = None


class SegmentMoved(NamedTuple):
    """A segment's copy is complete at its target."""

    move: int


class SegmentNotMoved(NamedTuple):
    """A segment could not be copied; nothing is left at the target."""

    move: int
    reason: str


class PartsFetched(NamedTuple):
    """A fetched segment is complete at its target.

    The seconds that it had the network to itself, and the processor seconds that others lacked; 0
    where nothing was measured.
    """

    fetch: int
    link_s: float = 0.0
    taken_s: float = 0.0


class PartsNotFetched(NamedTuple):
    """A segment could not be fetched; nothing is left at the target."""

    fetch: int
    reason: str


class NodeLeaves(NamedTuple):
    """A node should leave once its tasks have ended and its blocks are elsewhere, at the latest
    when its time is over."""

    node: NodeId
    by_s: float | None = None


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
    # The collection that it belongs to.
    namespace: NamespaceId | None = None
    # How, as users name it.
    level: str = ""
    # The digest of its partitioner, if it has one and belongs to a collection.
    partitioner: str = ""


class NamespaceMade(NamedTuple):
    """A collection was made, of so many partitions in so many groups."""

    namespace: NamespaceId
    name: str
    partitions: int
    groups: int
    # Whether the groups split and merge with the data's size.
    extendable: bool = False
    # The digest of its partitioner.
    partitioner: str = ""


class NamespaceDropped(NamedTuple):
    """A collection ended; what is kept of its RDDs stays."""

    namespace: NamespaceId


class CheckpointEnded(NamedTuple):
    """A checkpoint that was ordered is written, or could not be."""

    rdd: RddId
    is_written: bool
    reason: str = ""
    # Whether it could be written another time.
    may_retry: bool = True


class RddReported(NamedTuple):
    """The user asks to size the groups of the RDD's collection."""

    rdd: RddId


class CollectionsAsked(NamedTuple):
    """The user asks for a report of the collections."""

    question: int


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
    | NodeWithdrawn
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
    | NamespaceMade
    | NamespaceDropped
    | RddReported
    | CheckpointEnded
    | CollectionsAsked
    | RddForgotten
    | BroadcastForgotten
    | BarrierReached
    | TimerFired
)
