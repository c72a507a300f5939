"""Commands: the scheduler's only output."""

from __future__ import annotations

from typing import NamedTuple

from pyrite.blocks.fetched import Stretch
from pyrite.ids import (
    AttemptId,
    BlockRef,
    BroadcastId,
    ExecutorId,
    JobId,
    Medium,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.memory import MemoryReport
from pyrite.place.collectionreport import CollectionReport
from pyrite.schedule.taskinputs import Divided, InputBlock, Prefetched, Snapshot
from pyrite.schedule.timer import Timer


class LaunchTask(NamedTuple):
    attempt: AttemptId
    executor: ExecutorId
    stage: StageId
    # Computed in sequence; most tasks have one.
    partitions: tuple[int, ...]
    number: int
    job: JobId
    inputs: tuple[Snapshot, ...] = ()
    blocks: tuple[tuple[Partition, BlockRef], ...] = ()
    prefetched: tuple[Prefetched, ...] = ()
    # Set where the task is a piece of a divided reducer, or merges the pieces.
    divided: Divided | None = None
    # Blocks of input files that it may find in memory, or leave there.
    cached: tuple[InputBlock, ...] = ()

    @property
    def completes(self) -> tuple[int, ...]:
        """The partitions that are done when it succeeds; none for a piece."""
        is_piece = self.divided is not None and self.divided.maps is not None
        return () if is_piece else self.partitions


class CancelTask(NamedTuple):
    attempt: AttemptId
    executor: ExecutorId


class KillExecutor(NamedTuple):
    """End the process of an executor that does not react."""

    executor: ExecutorId
    reason: str


class StartExecutor(NamedTuple):
    """Replace an executor that was lost, on its node."""

    lost: ExecutorId
    node: NodeId


class DeliverResult(NamedTuple):
    """Hand a partition's result to the job; each partition is delivered once."""

    job: JobId
    partition: int
    result: bytes | tuple[BlockRef, ...] | None


class CountAccumulators(NamedTuple):
    job: JobId
    updates: bytes


class FinishJob(NamedTuple):
    job: JobId
    error: Exception | None = None


class GrantSpace(NamedTuple):
    """The reply to SpaceWanted: the node that holds the segment, or None where no pool has room."""

    writer: ExecutorId
    segment: str
    place: NodeId | None


class MoveSegment(NamedTuple):
    """Copy a segment to another node's memory, or to a disk, under a new name; the source stays."""

    move: int
    node: NodeId
    segment: str
    target: NodeId
    new_segment: str
    bytes: int
    # The medium of the copy.
    medium: Medium


class FetchParts(NamedTuple):
    """Have a node fetch the same parts of several map outputs from one source node into a new
    segment of at most `bytes` bytes.

    `maps` and `refs` name the outputs, `parts` the parts of each.
    """

    fetch: int
    node: NodeId
    segment: str
    bytes: int
    source: NodeId
    parts: tuple[int, ...]
    maps: tuple[int, ...]
    refs: tuple[BlockRef, ...]
    # The medium of the new segment.
    medium: Medium
    # Where it lies, if it has no file of its own.
    stretch: Stretch | None = None


class ReleaseNode(NamedTuple):
    """Let a leaving node go: it holds no block that is needed."""

    node: NodeId


class WantExecutors(NamedTuple):
    """Have nodes with so many executors in all, those of leaving nodes not counted: start further
    ones, or give up those that were asked for and have not come."""

    executors: int
    leaving: tuple[NodeId, ...] = ()


class NodeDismissed(NamedTuple):
    """Records that a node has to leave, since it had no task for so long."""

    node: NodeId
    idle_s: float


class TellMemory(NamedTuple):
    """The reply to MemoryAsked."""

    question: int
    report: MemoryReport


class WriteCheckpoints(NamedTuple):
    """Have the driver write RDDs from what is kept of them: after the loss of a node, the longest
    recovery would take `longest_s`, which is above the bound."""

    rdds: tuple[RddId, ...]
    longest_s: float
    bound_s: float
    bytes: int


class TellCollections(NamedTuple):
    """The reply to CollectionsAsked."""

    question: int
    report: tuple[CollectionReport, ...]


class DropSegments(NamedTuple):
    """Remove segments of a node: none of their blocks is needed."""

    node: NodeId
    segments: tuple[str, ...]


class ClearExecutor(NamedTuple):
    """Remove a lost executor's files, except the segments that the ledger lists."""

    executor: ExecutorId
    node: NodeId
    known: tuple[str, ...]


class DropRdd(NamedTuple):
    """Have executors drop the live rows of this RDD."""

    rdd: RddId


class DropRows(NamedTuple):
    """Have one executor drop the live rows of a partition, of which others hold a copy."""

    executor: ExecutorId
    partition: Partition


class RateRows(NamedTuple):
    """Tell an executor whether others hold a copy of its live rows: then they are evicted first."""

    executor: ExecutorId
    partition: Partition
    is_replica: bool


class DropShuffle(NamedTuple):
    """Have executors drop their snapshot of this shuffle."""

    shuffle: ShuffleId


class DropBroadcast(NamedTuple):
    """Have executors drop their decoded copy."""

    broadcast: BroadcastId


class ForgetStage(NamedTuple):
    """Have executors drop a stage's functions: none of its tasks will run."""

    stage: StageId


class ReducersPlaced(NamedTuple):
    """Records the placement of a stage's reducers.

    `heaviest_bytes` and `mean_bytes` are input bytes per executor, on the most loaded node and on
    average; `network_bytes` must cross the network. `how` says where each shuffle's sizes come
    from, `moved` how many reducers had another place before.
    """

    stage: StageId
    heaviest_bytes: float
    mean_bytes: float
    network_bytes: float
    shuffles: tuple[ShuffleId, ...] = ()
    how: tuple[str, ...] = ()
    moved: int = 0


class ReducerDivided(NamedTuple):
    """Records that a reducer is divided: its input, an executor's even share of all input, and the
    number of pieces."""

    stage: StageId
    partition: int
    bytes: int
    even_bytes: float
    pieces: int


class SizesForeseen(NamedTuple):
    """Records the accuracy of a shuffle's forecast, made when `seen` of its maps were done.

    Errors are fractions of the true sizes (place/predict.py).
    """

    shuffle: ShuffleId
    how: str
    seen: int
    maps: int
    mean_error: float
    misplaced: float
    total_error: float
    heaviest_error: float
    predicted_bytes: tuple[int, ...]
    true_bytes: tuple[int, ...]


class ShuffleLeftAlone(NamedTuple):
    """Records that a stage's input is too small for placing its reducers, or prefetching for
    them."""

    stage: StageId
    read_bytes: int
    small_bytes: int


class FetchingStopped(NamedTuple):
    """Records that no more of a stage's input is prefetched: links are so fast that it takes more
    processor time from tasks than reducers would wait."""

    stage: StageId
    link_bytes_per_s: float
    taken_s_per_byte: float


class ReducersGrouped(NamedTuple):
    """Records the first group of a stage's tiny reducers.

    `total_bytes` is the input of all reducers and `how` its source; `waiting` reducers were
    pending, `together` of them form the group and read `together_bytes`; `task_s` is how long one
    task takes.
    """

    stage: StageId
    how: str
    total_bytes: float
    waiting: int
    together: int
    together_bytes: float
    task_s: float


class ReplicaMade(NamedTuple):
    """Records that a task ran where its collection partition was not held, and left a replica
    there, one of `copies` now, beside so many other collection partitions."""

    partition: Partition
    place: ExecutorId | NodeId
    copies: int
    contention: int


class ReplicaDropped(NamedTuple):
    """Records that a replica was unused for so long, or that its room was needed."""

    partition: Partition
    place: ExecutorId | NodeId
    idle_s: float
    copies: int


class PartitionsStarted(NamedTuple):
    """Records at which executor partitions of a collection start that nobody holds, and how many
    collection partitions it had."""

    collection: str
    partitions: tuple[int, ...]
    executor: ExecutorId
    contention: int


class GroupsResized(NamedTuple):
    """Records that a group of a collection split in two, or that two merged: their first partitions
    and ends, their bytes, and the executors that each of the new ones gets."""

    collection: str
    version: int
    before: tuple[tuple[int, ...], ...]
    after: tuple[tuple[int, ...], ...]
    bytes: int
    executors: tuple[tuple[ExecutorId, ...], ...] = ()


class ReleaseBarrier(NamedTuple):
    """Let the tasks of a barrier go on; each gets the messages of all."""

    attempts: tuple[tuple[AttemptId, ExecutorId], ...]
    messages: tuple[str, ...]


class SetTimer(NamedTuple):
    timer: Timer
    at_s: float


Command = (
    LaunchTask
    | CancelTask
    | KillExecutor
    | StartExecutor
    | DeliverResult
    | CountAccumulators
    | FinishJob
    | GrantSpace
    | MoveSegment
    | FetchParts
    | ReleaseNode
    | WantExecutors
    | NodeDismissed
    | TellMemory
    | TellCollections
    | WriteCheckpoints
    | DropSegments
    | ClearExecutor
    | DropRdd
    | DropRows
    | RateRows
    | DropShuffle
    | DropBroadcast
    | ForgetStage
    | ReducersPlaced
    | SizesForeseen
    | ShuffleLeftAlone
    | FetchingStopped
    | ReducersGrouped
    | ReducerDivided
    | PartitionsStarted
    | GroupsResized
    | ReplicaMade
    | ReplicaDropped
    | ReleaseBarrier
    | SetTimer
)

# Handled at the desk, where the user's threads wait; the cluster performs all others.
ForDesk = (
    DeliverResult | CountAccumulators | FinishJob | TellMemory | TellCollections | WriteCheckpoints
)
# Only recorded in the story: what was decided, and by which numbers.
ForStory = (
    ReducersPlaced
    | SizesForeseen
    | ShuffleLeftAlone
    | FetchingStopped
    | ReducersGrouped
    | ReducerDivided
    | PartitionsStarted
    | GroupsResized
    | ReplicaMade
    | ReplicaDropped
    | NodeDismissed
)
