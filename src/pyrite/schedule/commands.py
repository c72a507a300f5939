"""What should happen: the scheduler's only answer."""

from __future__ import annotations

from typing import NamedTuple

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
from pyrite.schedule.timer import Timer


class Snapshot(NamedTuple):
    """All map outputs of a shuffle at one epoch: what a reduce task is launched with."""

    shuffle: ShuffleId
    epoch: int
    refs: tuple[BlockRef, ...]


class Prefetched(NamedTuple):
    """The segments in the memory of the task's own node that hold parts of a shuffle which were
    fetched ahead."""

    shuffle: ShuffleId
    segments: tuple[str, ...]


class Divided(NamedTuple):
    """That a task does a piece of a heavy reducer's work: computes the RDD at a place in the
    program from some maps' outputs of a shuffle. Or, where it names no maps, the whole: merges
    that RDD from the blocks that pieces have made."""

    place: int
    shuffle: ShuffleId
    maps: tuple[int, int] | None
    blocks: tuple[BlockRef, ...] = ()


class LaunchTask(NamedTuple):
    attempt: AttemptId
    executor: ExecutorId
    stage: StageId
    # Computed one after another; most tasks have one.
    partitions: tuple[int, ...]
    number: int
    job: JobId
    inputs: tuple[Snapshot, ...] = ()
    blocks: tuple[tuple[Partition, BlockRef], ...] = ()
    prefetched: tuple[Prefetched, ...] = ()
    # Where it does a piece of a heavy reducer's work, or the whole after its pieces.
    divided: Divided | None = None

    @property
    def completes(self) -> tuple[int, ...]:
        """The partitions that are done when it is; none where it does a piece of one."""
        is_piece = self.divided is not None and self.divided.maps is not None
        return () if is_piece else self.partitions


class CancelTask(NamedTuple):
    attempt: AttemptId
    executor: ExecutorId


class KillExecutor(NamedTuple):
    """The executor does not react; end its process."""

    executor: ExecutorId
    reason: str


class StartExecutor(NamedTuple):
    """Replace an executor that was lost, on its node."""

    lost: ExecutorId
    node: NodeId


class DeliverResult(NamedTuple):
    """A partition of a job has its result; accumulators count exactly here."""

    job: JobId
    partition: int
    result: bytes | BlockRef | None


class CountAccumulators(NamedTuple):
    job: JobId
    updates: bytes


class FinishJob(NamedTuple):
    job: JobId
    error: Exception | None = None


class GrantSpace(NamedTuple):
    """The answer to SpaceWanted: on which node the segment may lie; None where no pool has room."""

    writer: ExecutorId
    segment: str
    place: NodeId | None


class MoveSegment(NamedTuple):
    """Copy a segment from a node's memory to another's, or to a disk, under a new name; the old one
    stays."""

    move: int
    node: NodeId
    segment: str
    target: NodeId
    new_segment: str
    bytes: int
    # Where the copy shall lie.
    medium: Medium


class FetchParts(NamedTuple):
    """Have a node fetch the same parts of several map outputs that lie on one node, by their
    maps and places, into a prefetched segment: a new segment of its own of at most so many
    bytes."""

    fetch: int
    node: NodeId
    segment: str
    bytes: int
    source: NodeId
    parts: tuple[int, ...]
    maps: tuple[int, ...]
    refs: tuple[BlockRef, ...]
    # Where the prefetched segment shall lie.
    medium: Medium


class ReleaseNode(NamedTuple):
    """Nothing lies on this node any more that anybody needs: it may go."""

    node: NodeId


class TellMemory(NamedTuple):
    """The answer to MemoryAsked."""

    question: int
    report: MemoryReport


class DropSegments(NamedTuple):
    """No block in these segments of a node is needed any more."""

    node: NodeId
    segments: tuple[str, ...]


class ClearExecutor(NamedTuple):
    """A lost executor's files can go, but for the segments that the ledger knows."""

    executor: ExecutorId
    node: NodeId
    known: tuple[str, ...]


class DropRdd(NamedTuple):
    """Executors forget the live rows of this RDD."""

    rdd: RddId


class DropShuffle(NamedTuple):
    """Executors forget the snapshot of this shuffle."""

    shuffle: ShuffleId


class DropBroadcast(NamedTuple):
    """Executors forget their decoded copy."""

    broadcast: BroadcastId


class ForgetStage(NamedTuple):
    """No task of this stage runs any more; executors need not remember its functions."""

    stage: StageId


class ReducersPlaced(NamedTuple):
    """Tells the story how well a stage's reducers are placed: bytes of the node with the most and
    of all on average, by executor, and bytes that have to cross the network; by which shuffles,
    how their sizes are known, and how many reducers were placed elsewhere before."""

    stage: StageId
    heaviest_bytes: float
    mean_bytes: float
    network_bytes: float
    shuffles: tuple[ShuffleId, ...] = ()
    how: tuple[str, ...] = ()
    moved: int = 0


class ReducerDivided(NamedTuple):
    """Tells the story that a reducer's work is done in pieces: how many bytes it reads, how many
    each executor would if all were spread evenly, and how many pieces there are."""

    stage: StageId
    partition: int
    bytes: int
    even_bytes: float
    pieces: int


class SizesForeseen(NamedTuple):
    """Tells the story how true it was what was foreseen of a shuffle's parts by so many of its
    maps; errors as parts of the truth (place/predict.py)."""

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
    """Tells the story that a stage's reducers read too little to be placed, or fetched for."""

    stage: StageId
    read_bytes: int
    small_bytes: int


class ReducersGrouped(NamedTuple):
    """Tells the story that tiny reducers of a stage are computed as one task from now on: what all
    of them read, and how that is known; how many waited, how many of them are the first such task
    and what these read, and how long one has taken so far."""

    stage: StageId
    how: str
    total_bytes: float
    waiting: int
    together: int
    together_bytes: float
    task_s: float


class ReleaseBarrier(NamedTuple):
    """All tasks of the barrier have arrived; each hears what the others said."""

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
    | TellMemory
    | DropSegments
    | ClearExecutor
    | DropRdd
    | DropShuffle
    | DropBroadcast
    | ForgetStage
    | ReducersPlaced
    | SizesForeseen
    | ShuffleLeftAlone
    | ReducersGrouped
    | ReducerDivided
    | ReleaseBarrier
    | SetTimer
)

# Those that the user's threads wait for; the cluster performs all others.
ForDesk = DeliverResult | CountAccumulators | FinishJob | TellMemory
# Those that nobody performs: they tell what was decided, and by which numbers.
ForStory = ReducersPlaced | SizesForeseen | ShuffleLeftAlone | ReducersGrouped | ReducerDivided
